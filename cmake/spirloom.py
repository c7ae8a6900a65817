#!/usr/bin/python3
"""The command `spirloom` of an installed package; uses share/spirloom."""

import sys
from pathlib import Path

SHARE = Path(__file__).resolve().parents[1] / "share" / "spirloom"
sys.path[:0] = [str(SHARE), str(SHARE / "frontend")]
sys.dont_write_bytecode = True  # the installation may be read-only

from spirloom.__main__ import main  # noqa: E402

sys.exit(main())
