"""Kernels that only tests need (`for_tests`): libraries come without them, tests have their own."""

from __future__ import annotations

import dataclasses

from codegen.loader import Library
from codegen.op import Op


def without_test_kernels(library: Library) -> Library:
    """What is shipped. Kernels keep their numbers, and variants their keys."""
    ops = {name: _shipped(op) if _is_tested_apart(op) else op for name, op in library.ops.items()}
    return _with_ops(library, ops)


def ops_with_test_kernels(library: Library) -> Library:
    """The operators that have kernels for tests, whole; in the place of those that are shipped."""
    ops = {name: op for name, op in library.ops.items() if _is_tested_apart(op)}
    return _with_ops(library, ops)


def _is_tested_apart(op: Op) -> bool:
    return any(kernel.for_tests for kernel in op.kernels)


def _shipped(op: Op) -> Op:
    kernels = tuple(kernel for kernel in op.kernels if not kernel.for_tests)
    variants = tuple(variant for variant in op.variants if not variant.kernel.for_tests)
    return dataclasses.replace(op, kernels=kernels, variants=variants)


def _with_ops(library: Library, ops: dict[str, Op]) -> Library:
    kept = {variant.id for op in ops.values() for variant in op.variants}
    variants = tuple(variant for variant in library.variants if variant.id in kept)
    return dataclasses.replace(library, ops=ops, variants=variants)
