"""A shader pack of some operators, kernels or variants."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from codegen.generate import generate
from codegen.output import Request
from codegen.select.filters import find
from spec_model import Library
from spec_model.vocabulary import Storage
from tools.vendors.families import ROOT, VendorError

_BUILD = ROOT / "build" / "release"


def ids_of(library: Library, names: Sequence[str]) -> dict[str, list[str]]:
    """By operator, the ids of the buffer variants that `names` match: operators, kernels, variants
    or patterns of these. Raises VendorError for a name that matches none.
    """
    ids: dict[str, dict[str, None]] = {}
    for name in names:
        found = [
            (op.name, variant.id)
            for op, variants in find(library, name)
            for variant in variants
            if variant.storage is Storage.BUFFER
        ]
        if not found:
            raise VendorError(f"No operator, kernel or variant with a buffer is named '{name}'.")
        for op, variant_id in found:
            ids.setdefault(op, {})[variant_id] = None
    return {op: list(each) for op, each in ids.items()}


def pack_of(library: Library, names: Sequence[str], directory: Path) -> Path:
    """The pack of the variants that `names` match, in the directory. Raises VendorError."""
    return _pack(ids_of(library, names), directory)


def pack_of_variants(library: Library, ids: Collection[str], directory: Path) -> Path:
    """The pack of the variants with these ids, in the directory. Raises VendorError."""
    by_op: dict[str, list[str]] = {}
    for variant in library.variants:
        if variant.id in ids:
            by_op.setdefault(variant.op, []).append(variant.id)
    return _pack(by_op, directory)


def _pack(ids: Mapping[str, Sequence[str]], directory: Path) -> Path:
    selection = directory / "selection.json"
    selected = {"version": 1, "ops": ids}
    selection.write_text(json.dumps(selected), encoding="utf-8")
    generate(
        Request(
            spec_dirs=(ROOT / "op_specs",),
            template_dirs=(ROOT / "templates" / "glsl",),
            out=directory / "generated",
            library="vendors",
            overrides=False,
            depfile=None,
            root=ROOT,
            selection=selection,
        )
    )
    pack = directory / "vendors.slpack"
    command: list[str | Path] = [_BUILD / "bin" / "spirloom-shaderc", "--quiet"]
    command += ["--manifest", directory / "generated" / "manifest.json", "--output", pack]
    command += ["--cache-dir", _BUILD / "shader-cache"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise VendorError(done.stderr.strip())
    return pack
