"""Makes what a wheel installs of Python: the packages `spirloom` and `spirloom_schema`.

The front end becomes `spirloom`. The generator lies within it as `spirloom._codegen`, because other
projects may have a package of its general name; imports are spelled accordingly. Specs and
templates lie beside that, as in the repository, and ops.pickle, all operators read, so that imports
of models need neither PyYAML nor the time to read them.
"""

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

from make_bindings import generate_schema_bindings

ROOT = Path(__file__).resolve().parent.parent
DATA = (
    ("op_specs", "*.yaml"),
    ("op_specs", "*.py"),
    ("templates", "*.j2"),
    ("templates", "*.yaml"),
    # Of the files that `spirloom.pte` reads.
    ("schema/executorch", "*.fbs"),
    ("integrations/executorch/blob", "*.fbs"),
)
_IMPORT = re.compile(r"^(\s*)(from|import) codegen\b", re.MULTILINE)


def copy_package(source: Path, target: Path) -> None:
    """Copies the modules of a package, with the generator's name as it is there."""
    for path in sorted(source.rglob("kernels.txt")):
        copy_to(target / path.relative_to(source), path)
    for path in sorted(source.rglob("*.py")):
        copy = target / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text(encoding="utf-8")
        copy.write_text(_IMPORT.sub(r"\1\2 spirloom._codegen", text), encoding="utf-8")


def copy_data(folder: str, pattern: str, target: Path) -> None:
    """Copies the files that match, as they are."""
    for path in sorted((ROOT / folder).rglob(pattern)):
        copy_to(target / path.relative_to(ROOT), path)


def copy_to(copy: Path, path: Path) -> None:
    """Copies a file as it is."""
    copy.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, copy)


def store_operators(out: Path) -> None:
    """Reads the specs with the copied generator, whose classes the file then names."""
    package = out / "spirloom"
    command = [sys.executable, "-B", "-m", "spirloom._codegen.stored"]
    command += ["--spec-dir", str(package / "op_specs")]
    command += ["--template-dir", str(package / "templates/glsl")]
    subprocess.run([*command, "--out", str(package / "ops.pickle")], cwd=out, check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flatc", type=Path, required=True, help="the FlatBuffers compiler")
    parser.add_argument("--out", type=Path, required=True, help="the folder of the packages")
    parser.add_argument("schemas", type=Path, nargs="+", help=".fbs files")
    arguments = parser.parse_args()
    out = arguments.out.resolve()
    shutil.rmtree(out, ignore_errors=True)
    package = out / "spirloom"
    copy_package(ROOT / "frontend/spirloom", package)
    copy_package(ROOT / "codegen", package / "_codegen")
    for folder, pattern in DATA:
        copy_data(folder, pattern, package)
    (package / "py.typed").touch()
    generate_schema_bindings(arguments.flatc, arguments.schemas, out)
    store_operators(out)


if __name__ == "__main__":
    main()
