"""`python3 -m codegen`."""

import gc
import sys

from codegen.cli import main

if __name__ == "__main__":
    gc.disable()  # a short run with little garbage: collecting takes a tenth of it
    sys.exit(main())
