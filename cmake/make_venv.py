"""Creates the project's virtual environment .venv atomically.

It uses the Python that runs this script and has access to its packages, so nothing is downloaded.
It contains a .pth file with the paths of the repository and of frontend/, the package
`spirloom_schema` (Python bindings of the FlatBuffers schemas), and the launcher `bin/spirloom`.
"""

import argparse
import shutil
import sys
import tempfile
import venv
from pathlib import Path

from make_bindings import generate_schema_bindings

LAUNCHER = """#!{venv}/bin/python3
import sys

from spirloom.__main__ import main

sys.exit(main())
"""


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, required=True, help="root of the repository")
    parser.add_argument("--venv", type=Path, required=True, help="directory to create")
    parser.add_argument(
        "--flatc", type=Path, required=True, help="path of the FlatBuffers compiler"
    )
    parser.add_argument("schemas", type=Path, nargs="*", help=".fbs files")
    return parser.parse_args()


def fill(directory: Path, final: Path, arguments: argparse.Namespace) -> None:
    """Creates the environment in `directory`, to be moved to `final`."""
    venv.EnvBuilder(system_site_packages=True, symlinks=True, with_pip=False).create(directory)
    for script in [directory / "pyvenv.cfg", *(directory / "bin").glob("[aA]ctivate*")]:
        text = script.read_text(encoding="utf-8").replace(str(directory), str(final))
        script.write_text(text.replace(f"({directory.name})", f"({final.name})"), encoding="utf-8")
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    site = directory / "lib" / version / "site-packages"
    paths = f"{arguments.root}\n{arguments.root / 'frontend'}\n"
    (site / "spirloom.pth").write_text(paths, encoding="utf-8")
    generate_schema_bindings(arguments.flatc, arguments.schemas, site)
    launcher = directory / "bin" / "spirloom"
    launcher.write_text(LAUNCHER.format(venv=final), encoding="utf-8")
    launcher.chmod(0o755)


def main() -> int:
    arguments = parse_arguments()
    final: Path = arguments.venv
    with tempfile.TemporaryDirectory(prefix=".venv-", dir=final.parent) as scratch:
        created = Path(scratch) / final.name
        fill(created, final, arguments)
        if final.exists():
            # Not rename(): in an overlay file system, the two can be of different devices.
            shutil.move(final, Path(scratch) / "previous")
        created.rename(final)
    return 0


if __name__ == "__main__":
    sys.exit(main())
