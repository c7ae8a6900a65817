"""A library's registry. The reader is runtime/ops/registry_reader.cpp; its order is this one's.

Numbers are varints, texts and formulas counted bytes; an absent formula is an empty one, and a list
stands behind its length.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from codegen.axes import dtype_expression
from codegen.expr.types import Expr, Kind, Literal
from codegen.loader import Library
from codegen.op import Op
from codegen.registry.formulas import Formulas, many
from codegen.registry.kernel import kernel_bytes
from codegen.spec import Arg, ArgType, Check, Kernel, Let, Output, dtype_source
from codegen.varint import text, varint

# The numbers of ops::ArgType.
_ARG_TYPES = {
    ArgType.TENSOR: 0,
    ArgType.TENSORS: 1,
    ArgType.INT: 2,
    ArgType.FLOAT: 3,
    ArgType.NUMBER: 3,
    ArgType.BOOL: 4,
    ArgType.INTS: 5,
    ArgType.STR: 6,
}
_LET, _CHECK = 0, 1


def registry_bytes(library: Library, name: str, *, overrides: bool) -> bytes:
    """The registry of a library of this name. `overrides`: its ops replace others of their name."""
    ops_bytes = many(op_bytes(op) for op in library.ops.values())
    return text(name) + varint(overrides) + ops_bytes


def op_bytes(op: Op) -> bytes:
    """One op."""
    formulas = Formulas.of(op)
    lets = [step for step in op.steps if isinstance(step, Let)]
    return b"".join(
        [
            text(op.name),
            text(op.short_name),
            varint(0 if op.view_of is None else op.view_of + 1),
            many(_arg(arg) for arg in op.args),
            *(formulas.code(_dtype(op, arg)) for arg in op.args),
            many(formulas.code(let.value) for let in lets),
            many(_step(step, formulas) for step in op.steps),
            many(
                _output(output, updated, formulas)
                for output, updated in zip(op.outputs, op.updates, strict=True)
            ),
            formulas.code(op.view_at),
            many(kernel_bytes(kernel, formulas) for kernel in _kernels(op)),
        ]
    )


def _kernels(op: Op) -> Iterator[Kernel]:
    """All kernels, as they tell what a selection lacks; how to call one is said of kept ones."""
    kept = {variant.kernel.name for variant in op.variants}
    for kernel in op.kernels:
        if kernel.name in kept:
            yield kernel
        else:
            yield dataclasses.replace(kernel, operands=(), push=(), constants=())


def _arg(arg: Arg) -> bytes:
    length = 0 if arg.length is None else arg.length + 1
    numbers = (_ARG_TYPES[arg.type], arg.optional, length)
    return text(arg.name) + b"".join(map(varint, numbers))


def _dtype(op: Op, arg: Arg) -> Expr | None:
    """What a tensor's dtype must be: a constant or that of the first. None: any."""
    if not arg.type.is_tensor or arg.any_dtype:
        return None
    if arg.dtype is not None:
        return Literal(Kind.DTYPE, arg.dtype)
    source = dtype_source(op.args)
    if source is None or (arg is source and arg.type is ArgType.TENSOR):
        return None
    return dtype_expression(source)


def _step(step: Let | Check, formulas: Formulas) -> bytes:
    """The next let, or a check with the text of its message and the ints it compares."""
    if isinstance(step, Let):
        return varint(_LET)
    left, right = step.sides or (None, None)
    parts = map(formulas.code, (step.condition, left, right))
    return varint(_CHECK) + text(step.text) + b"".join(parts)


def _output(output: Output, updated: int | None, formulas: Formulas) -> bytes:
    types = formulas.code(output.shape) + formulas.code(output.dtype)
    return types + varint(0 if updated is None else updated + 1)
