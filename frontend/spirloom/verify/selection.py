"""The variants to verify: those of a library that a device, or a model on it, can get."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from codegen.shader_pack import InvalidInputError, module_digests
from spec_model import Library
from spec_model.spec import Variant
from spirloom.errors import ImportFailure, reading
from spirloom.ir import Graph, Storage

COPY = "spirloom.copy"


def digests_of(packs: Sequence[Path]) -> dict[str, int]:
    """The digests of the variants' modules. Later packs override earlier ones."""
    found: dict[str, int] = {}
    for pack in packs:
        try:
            with reading(pack):
                found |= module_digests(pack.read_bytes(), f"'{pack}'")
        except InvalidInputError as error:
            raise ImportFailure(str(error)) from error
    return found


def select(
    library: Library,
    digests: Mapping[str, int],
    patterns: Sequence[str] = (),
    graph: Graph | None = None,
    storage: str = "auto",
) -> dict[str, list[Variant]]:
    """The variants of a library by operator. `patterns`: only those whose id, kernel or operator
    matches one. `graph`: only those that its operators can get in its dtypes and storages.
    """
    ops = None if graph is None else _with_packing(library, {node.op for node in graph.nodes})
    found: dict[str, list[Variant]] = {}
    for op in library.ops.values():
        if ops is not None and op.name not in ops:
            continue
        for variant in op.variants:
            if variant.id not in digests:
                continue  # only for tests, or not selected
            names = (variant.id, variant.kernel.name, op.name, op.short_name)
            if patterns and not any(fnmatchcase(n, p) for n in names for p in patterns):
                continue
            if graph is not None and not _serves(variant, graph, storage):
                continue
            found.setdefault(op.name, []).append(variant)
    if patterns and not found:
        where = "the library" if graph is None else "the model's operators"
        raise ImportFailure(f"No kernel of {where} matches {' or '.join(patterns)}.")
    return found


def _with_packing(library: Library, ops: set[str]) -> set[str]:
    """The operators, with those that pack their operands or copy tensors to textures."""
    found = {COPY}
    pending = list(ops)
    while pending:
        name = pending.pop()
        if name in found or name not in library.ops:
            continue
        found.add(name)
        for kernel in library.ops[name].kernels:
            pending += [o.pack.op for o in kernel.operands if o.pack is not None]
    return found


def _serves(variant: Variant, graph: Graph, storage: str) -> bool:
    """Whether a graph has tensors of the variant's dtype and storage. Packing kernels and copies
    may have others.
    """
    tensors = list(graph.tensors())
    storages = {tensor.storage or Storage.BUFFER for tensor in tensors}
    if storage != "auto":
        storages.add(Storage(storage))
    return variant.storage in storages and variant.dtype in {tensor.dtype for tensor in tensors}
