"""Makes the project's virtual environment, .venv, whole or not at all.

It lies over the Python that runs this script and sees that Python's packages, so that nothing is
downloaded. Into it go a .pth file naming the repository and its front end, the Python bindings of
the FlatBuffers schemas as the package `spirloom_schema`, and the launcher `bin/spirloom`.
"""

import argparse
import sys
import tempfile
import venv
from pathlib import Path

from make_bindings import generate_schema_bindings

LAUNCHER = """#!{venv}/bin/python3
import sys

from spirloom.cli import main

sys.exit(main())
"""


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, required=True, help="the repository")
    parser.add_argument("--venv", type=Path, required=True, help="the folder to make")
    parser.add_argument("--flatc", type=Path, required=True, help="the FlatBuffers compiler")
    parser.add_argument("schemas", type=Path, nargs="*", help=".fbs files to make bindings of")
    return parser.parse_args()


def fill(folder: Path, final: Path, arguments: argparse.Namespace) -> None:
    """Makes the environment in `folder`, to be moved to `final`."""
    venv.EnvBuilder(system_site_packages=True, symlinks=True, with_pip=False).create(folder)
    for script in [folder / "pyvenv.cfg", *(folder / "bin").glob("[aA]ctivate*")]:
        text = script.read_text(encoding="utf-8").replace(str(folder), str(final))
        script.write_text(text.replace(f"({folder.name})", f"({final.name})"), encoding="utf-8")
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    site = folder / "lib" / version / "site-packages"
    paths = f"{arguments.root}\n{arguments.root / 'frontend'}\n"
    (site / "spirloom.pth").write_text(paths, encoding="utf-8")
    generate_schema_bindings(arguments.flatc, arguments.schemas, site)
    launcher = folder / "bin" / "spirloom"
    launcher.write_text(LAUNCHER.format(venv=final), encoding="utf-8")
    launcher.chmod(0o755)


def main() -> int:
    arguments = parse_arguments()
    final: Path = arguments.venv
    with tempfile.TemporaryDirectory(prefix=".venv-", dir=final.parent) as scratch:
        made = Path(scratch) / final.name
        fill(made, final, arguments)
        if final.exists():
            final.rename(Path(scratch) / "previous")
        made.rename(final)
    return 0


if __name__ == "__main__":
    sys.exit(main())
