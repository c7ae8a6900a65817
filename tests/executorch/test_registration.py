"""Another library that registers the same names with ExecuTorch."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from spirloom.executorch.native import library_path

# A copy of the library registers its backends first. Like any later one, the library itself then
# loads, but its backends are not used.
SCRIPT = """
import ctypes, sys
from executorch.runtime import Runtime
other = ctypes.CDLL(sys.argv[1])
print(other.spirloom_executorch_is_registered(b"VulkanBackend"))
import spirloom.executorch
"""


def test_the_first_library_keeps_the_name(tmp_path: Path) -> None:
    other = shutil.copy(library_path(), tmp_path / "other.so")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(other)], capture_output=True, text=True, check=False
    )
    assert done.stdout == "1\n", done.stderr
    assert "Another backend is registered as VulkanBackend" in done.stderr
