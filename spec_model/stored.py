"""Loaded operators stored in a file: reading it requires neither PyYAML nor the specs.

`python3 -m spec_model.stored --spec-dir DIR --template-dir DIR --out FILE` writes it. It is a
pickle in an installed package, and as trusted as the modules of the package.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from spec_model.library import without_test_kernels
from spec_model.load.loader import load_library
from spec_model.op import Op
from spec_model.pickled import dumps, loads
from spec_model.reference import Reference
from spec_model.templates import Directory


def store(ops: Mapping[str, Op], path: Path) -> None:
    """Writes the operators without tests, and references with paths relative to the specs."""
    path.write_bytes(dumps({name: _without_paths(op) for name, op in ops.items()}))


def _without_paths(op: Op) -> Op:
    root = op.reference.directory.path
    files = tuple(file.relative_to(root) for file in op.reference.files)
    return replace(op, tests=(), reference=_moved(op.reference, Directory(Path(), ""), files))


def load(path: Path, specs: Path) -> dict[str, Op]:
    """The operators of the file, by name, without tests. Their references run the modules of
    `specs`, a copy of the directory of specs that they were stored from."""
    ops: dict[str, Op] = loads(path.read_bytes())
    directory = Directory(specs, specs.name)
    for name, op in ops.items():
        files = tuple(specs / file for file in op.reference.files)
        ops[name] = replace(op, reference=_moved(op.reference, directory, files))
    return ops


def _moved(reference: Reference, directory: Directory, files: tuple[Path, ...]) -> Reference:
    return replace(reference, directory=directory, files=files, _compiled=[])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spec-dir", type=Path, required=True)
    parser.add_argument("--template-dir", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    # The bytes of a pickle depend on which equal objects are one: others if they come from a cache.
    library = load_library([arguments.spec_dir], [arguments.template_dir], use_cache=False)
    store(without_test_kernels(library).ops, arguments.out)


if __name__ == "__main__":
    main()
