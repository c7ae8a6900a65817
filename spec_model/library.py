"""A library: the ops of several spec directories, with and without test-only kernels."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

from spec_model.op import Op
from spec_model.spec import Kernel, Variant
from spec_model.templates import Templates
from spec_model.yaml_reader import SourceFile


@dataclass(frozen=True, slots=True)
class Library:
    """Every op of several spec directories, and the files that were read."""

    ops: Mapping[str, Op]  # by op name, sorted
    variants: tuple[Variant, ...]  # sorted by key
    specs: tuple[SourceFile, ...]
    templates: Templates

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """All kernels in order of their index."""
        kernels = (kernel for op in self.ops.values() for kernel in op.kernels)
        return tuple(sorted(kernels, key=lambda kernel: kernel.index))


def without_test_kernels(library: Library) -> Library:
    """The library without test-only kernels. Kernel indices and variant keys do not change."""
    ops = {
        name: _without_test_kernels(op) if _has_test_kernels(op) else op
        for name, op in library.ops.items()
    }
    return _with_ops(library, ops)


def ops_with_test_kernels(library: Library) -> Library:
    """The operators with test-only kernels, with all their kernels."""
    ops = {name: op for name, op in library.ops.items() if _has_test_kernels(op)}
    return _with_ops(library, ops)


def _has_test_kernels(op: Op) -> bool:
    return any(kernel.test_only for kernel in op.kernels)


def _without_test_kernels(op: Op) -> Op:
    kernels = tuple(kernel for kernel in op.kernels if not kernel.test_only)
    variants = tuple(variant for variant in op.variants if not variant.kernel.test_only)
    return dataclasses.replace(op, kernels=kernels, variants=variants)


def _with_ops(library: Library, ops: dict[str, Op]) -> Library:
    kept = {variant.id for op in ops.values() for variant in op.variants}
    variants = tuple(variant for variant in library.variants if variant.id in kept)
    return dataclasses.replace(library, ops=ops, variants=variants)
