"""Generates the Python packages of the wheel: `spirloom` and `spirloom_schema`.

The importers become `spirloom`. The generator and the spec model become `spirloom._codegen` and
`spirloom._spec_model`, because other projects may have packages of these general names; the copies
import them by their new names. Specs and templates have the paths of the repository. ops.pickle
stores all operators as loaded, so that importing a model requires neither PyYAML nor the specs.
"""

import argparse
import os
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
    # Schemas of the files that `spirloom.pte` reads.
    ("schema", "graph.fbs"),
    ("schema/executorch", "*.fbs"),
    ("integrations/executorch/blob", "*.fbs"),
)
_IMPORT = re.compile(r"^(\s*)(from|import) (codegen|spec_model)\b", re.MULTILINE)


def copy_package(source: Path, target: Path) -> None:
    """Copies the files of a package, and renames imports of codegen and spec_model."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    for path in target.rglob("*.py"):
        rename_imports(path)


def rename_imports(path: Path) -> None:
    """Renames imports of codegen and spec_model in a copied file."""
    text = path.read_text(encoding="utf-8")
    path.write_text(_IMPORT.sub(r"\1\2 spirloom._\3", text), encoding="utf-8")


def copy_data(directory: str, pattern: str, target: Path) -> None:
    """Copies the matching files; only imports of codegen and spec_model change."""
    for path in sorted((ROOT / directory).rglob(pattern)):
        copy = target / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
        if path.suffix == ".py":
            rename_imports(copy)


def store_operators(out: Path) -> None:
    """Stores the operators with the copied modules: the file references their class names. With
    one seed for hashes, which order sets, equal sources make equal bytes.
    """
    package = out / "spirloom"
    command = [sys.executable, "-B", "-m", "spirloom._spec_model.stored"]
    command += ["--spec-dir", str(package / "op_specs")]
    command += ["--template-dir", str(package / "templates/glsl")]
    command += ["--out", str(package / "ops.pickle")]
    environment = os.environ | {"PYTHONHASHSEED": "0"}
    subprocess.run(command, cwd=out, env=environment, check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--flatc", type=Path, required=True, help="path of the FlatBuffers compiler"
    )
    parser.add_argument("--out", type=Path, required=True, help="output directory")
    parser.add_argument("schemas", type=Path, nargs="+", help=".fbs files")
    arguments = parser.parse_args()
    out = arguments.out.resolve()
    shutil.rmtree(out, ignore_errors=True)
    package = out / "spirloom"
    copy_package(ROOT / "frontend/spirloom", package)
    copy_package(ROOT / "codegen", package / "_codegen")
    copy_package(ROOT / "spec_model", package / "_spec_model")
    for directory, pattern in DATA:
        copy_data(directory, pattern, package)
    (package / "py.typed").touch()
    generate_schema_bindings(arguments.flatc, arguments.schemas, out)
    store_operators(out)


if __name__ == "__main__":
    main()
