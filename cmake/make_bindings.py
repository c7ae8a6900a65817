"""Generates the Python bindings of the FlatBuffers schemas, the package `spirloom_schema`."""

import argparse
import re
import subprocess
import tempfile
from pathlib import Path


def generate_schema_bindings(flatc: Path, schemas: list[Path], site: Path) -> None:
    """Writes the package spirloom_schema. The namespace is renamed to a top-level package, because
    `spirloom.schema` would be a part of the Python package `spirloom`."""
    with tempfile.TemporaryDirectory() as directory:
        copies = [Path(directory) / schema.name for schema in schemas]
        for schema, copy in zip(schemas, copies, strict=True):
            text = schema.read_text(encoding="utf-8")
            copy.write_text(
                re.sub(
                    r"^namespace spirloom\.schema;", "namespace spirloom_schema;", text, flags=re.M
                ),
                encoding="utf-8",
            )
        subprocess.run([flatc, "--python", "--gen-object-api", "-o", site, *copies], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--flatc", type=Path, required=True, help="path of the FlatBuffers compiler"
    )
    parser.add_argument("--out", type=Path, required=True, help="output directory")
    parser.add_argument("schemas", type=Path, nargs="+", help=".fbs files")
    arguments = parser.parse_args()
    generate_schema_bindings(arguments.flatc, arguments.schemas, arguments.out)


if __name__ == "__main__":
    main()
