"""Shader sizes by operator, dtype and storage, from the module list of spirloom-ops."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.size_table import Table
from spec_model.vocabulary import DType, Storage

DTYPES = {dtype.code: dtype for dtype in DType}
STORAGES = {storage.code: storage for storage in Storage}


@dataclass(frozen=True, slots=True)
class Variant:
    """A variant and the index of its module; variants with equal indices share the module."""

    op: str
    dtype: DType
    storage: Storage
    module: int
    compressed: int  # bytes
    bytes: int


def load_variants(spirloom_ops: Path, pack: Path) -> list[Variant]:
    """The variants of a compressed library file; its manifest is in the same directory."""
    command: list[str | Path] = [spirloom_ops, "--json", "--library", pack]
    listing = subprocess.run(command, capture_output=True, check=True).stdout
    manifest = pack.with_name("manifest.json")
    keys = {v["id"]: v["key"] for v in json.loads(manifest.read_bytes())["variants"]}
    return list(_variants(json.loads(listing), keys))


def _variants(listing: Any, keys: dict[str, int]) -> Iterator[Variant]:
    for op in listing["ops"]:
        for variant in (v for kernel in op["kernels"] for v in kernel["variants"]):
            key = keys[variant["id"]]
            dtype, storage = DTYPES[key & 15], STORAGES[key >> 4 & 15]
            sizes = variant["stored_bytes"], variant["bytes"]
            yield Variant(op["op"], dtype, storage, variant["module"], *sizes)


def tables(variants: list[Variant]) -> list[Table]:
    return [
        _table("Shaders by dtype and storage", "dtype, storage", variants,
               lambda v: f"{v.dtype} {v.storage}"),
        _table("Shaders by operator", "operator", variants, lambda v: v.op),
    ]  # fmt: skip


def _table(
    title: str, what: str, variants: list[Variant], group: Callable[[Variant], str]
) -> Table:
    groups: dict[str, list[Variant]] = {}
    for variant in variants:
        groups.setdefault(group(variant), []).append(variant)
    rows = {name: _count(members) for name, members in sorted(groups.items())}
    rows["all"] = _count(variants)
    return Table(title, (what, "variants", "modules", "compressed", "bytes"), rows)


def _count(variants: list[Variant]) -> tuple[int, ...]:
    """The number of variants and modules, and the modules' bytes compressed and uncompressed."""
    modules = {v.module: v for v in variants}.values()
    sizes = sum(m.compressed for m in modules), sum(m.bytes for m in modules)
    return len(variants), len(modules), *sizes
