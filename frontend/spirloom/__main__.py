"""`python -m spirloom`: the command `spirloom`."""

import sys

from spirloom.cli import main

sys.exit(main())
