"""The command `spirloom`, also as `python -m spirloom`."""

import sys


def main() -> int:
    """Runs the command line. Ctrl-C also ends the import of its modules in one line."""
    try:
        from spirloom.cli import main as run

        return run()
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
