"""Import rules of complex64 values, which are pairs of float32 values: rotary embeddings by
torch.polar() and torch.view_as_complex()."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from spirloom.builder import Value
from spirloom.errors import Unsupported
from spirloom.ir import Array
from spirloom.registration import registers
from spirloom.torch.context import CallContext
from spirloom.torch.rules.registry import ImportRule, Results, imports
from spirloom.torch.values import COMPLEX, Item, is_value


@dataclass(frozen=True, slots=True, eq=False)
class Complex:
    """A complex64 value: `pairs` has a last dimension of the real and the imaginary part."""

    pairs: Value


def complex_constant(array: Array) -> Item:
    """A constant of the program: complex64 as Complex, others unchanged."""
    if array.dtype != np.complex64:
        return array
    contiguous = np.ascontiguousarray(array).reshape(array.shape)
    return Complex(contiguous[..., None].view(np.float32))


def is_complex(items: Item) -> bool:
    """Whether an argument, or an element of a list, is complex."""
    if isinstance(items, tuple):
        return any(isinstance(item, Complex) for item in items)
    return isinstance(items, Complex)


_RULES: dict[str, ImportRule] = {}
of_complex = registers(_RULES)  # operators with a complex argument, which reals may have too


def complex_call(ctx: CallContext, emitted: Callable[[CallContext], Item]) -> Item:
    """A call with complex arguments or a complex result, whose shapes have the dimension of pairs.
    `emitted` imports calls without."""
    if ctx.target in _RULES:
        return _RULES[ctx.target](ctx)
    if ctx.target in _REARRANGING:
        found = emitted(_of_pairs(ctx))
        return Complex(found[0] if isinstance(found, Results) else found)
    if ctx.target in _ACCEPTING:
        return emitted(ctx)
    raise Unsupported(f"there is no operator for its element type {COMPLEX}")


# Operators that rearrange elements, by the dimensions of their argument.
_REARRANGING = frozenset((
    "aten.expand", "aten.permute", "aten.select.int", "aten.slice.Tensor", "aten.transpose.int",
    "aten.index_select",
))  # fmt: skip
# Operators whose rules accept or return complex values.
_ACCEPTING = ("aten.complex", "aten.polar", "aten.view_as_complex", "aten.view_as_real",
              "aten._assert_tensor_metadata")  # fmt: skip


def _of_pairs(ctx: CallContext) -> CallContext:
    """The call on the pairs, with dimensions counted from the first one."""
    pairs = pairs_of(ctx, "self")
    rank = len(pairs.shape) - 1
    args: dict[str, Any] = {**ctx.args, "self": pairs}
    for name in ("dim", "dim0", "dim1"):
        if isinstance(args.get(name), int):
            args[name] %= max(rank, 1)
    if "dims" in args:
        args["dims"] = (*(dim % rank for dim in args["dims"]), rank)
    if "size" in args:
        args["size"] = (*args["size"], 2)
    return CallContext(ctx.call, ctx.target, args, ctx.dtypes, ctx.shapes, ctx.applier)


@imports("aten.polar")
def polar(ctx: CallContext) -> Item:
    """Complex values of a magnitude and an angle."""
    magnitude, angle = ctx.value("abs"), ctx.value("angle")
    parts = (ctx.inner(f"aten.{name}", angle) for name in ("cos", "sin"))
    return _joined(ctx, *(ctx.inner("aten.mul.Tensor", magnitude, part) for part in parts))


@imports("aten.complex")
def of_parts(ctx: CallContext) -> Item:
    """Complex values of real and imaginary parts of one shape."""
    return _joined(ctx, ctx.value("real"), ctx.value("imag"))


@imports("aten.view_as_complex")
def view_as_complex(ctx: CallContext) -> Item:
    """Pairs as complex values."""
    return Complex(ctx.value("self"))


@imports("aten.view_as_real")
def view_as_real(ctx: CallContext) -> Item:
    """The pairs of complex values."""
    return pairs_of(ctx, "self")


@of_complex("aten.real", "aten.imag")
def part(ctx: CallContext) -> Item:
    """The real or imaginary part."""
    return _parts(ctx, pairs_of(ctx, "self"))[ctx.target == "aten.imag"]


@of_complex("aten.abs")
def magnitude(ctx: CallContext) -> Item:
    """The magnitude, also where its square overflows or underflows."""
    return ctx.inner("aten.hypot", *_parts(ctx, pairs_of(ctx, "self")))


@of_complex("aten.angle")
def angle(ctx: CallContext) -> Item:
    """The angle in radians."""
    real, imaginary = _parts(ctx, pairs_of(ctx, "self"))
    return ctx.inner("aten.atan2", imaginary, real)


@of_complex("aten.conj", "aten._conj", "aten._conj_physical")
def conjugate(ctx: CallContext) -> Item:
    """The complex conjugate."""
    signs = np.array([1, -1], np.float32)
    return Complex(ctx.inner("aten.mul.Tensor", pairs_of(ctx, "self"), signs))


@of_complex("aten.mul.Tensor")
def product(ctx: CallContext) -> Item:
    """A product of complex values, or of one and a real value."""
    a, b = ctx.args["self"], ctx.args["other"]
    if not (isinstance(a, Complex) and isinstance(b, Complex)):
        value, factor = (a, b) if isinstance(a, Complex) else (b, a)
        if isinstance(factor, int | float):
            factor = np.asarray(factor, np.float32)
        if not is_value(factor):
            raise Unsupported("complex values are multiplied by tensors and real numbers only")
        factor = ctx.view(factor, (*factor.shape, 1))
        return Complex(ctx.inner("aten.mul.Tensor", value.pairs, factor))
    (ar, ai), (br, bi) = _parts(ctx, a.pairs), _parts(ctx, b.pairs)

    def times(x: Value, y: Value) -> Value:
        return ctx.inner("aten.mul.Tensor", x, y)

    real = ctx.inner("aten.sub.Tensor", times(ar, br), times(ai, bi))
    return _joined(ctx, real, ctx.inner("aten.add.Tensor", times(ar, bi), times(ai, br)))


@of_complex("aten.add.Tensor", "aten.sub.Tensor")
def total(ctx: CallContext) -> Item:
    """A sum or difference of complex values."""
    if ctx.number("alpha", 1) != 1:
        raise Unsupported("complex sums with alpha are not supported")
    return Complex(ctx.inner(ctx.target, pairs_of(ctx, "self"), pairs_of(ctx, "other")))


@of_complex("aten.view", "aten.reshape", "aten._unsafe_view", "aten.unsqueeze", "aten.squeeze",
             "aten.squeeze.dim", "aten.flatten.using_ints", "aten.unflatten.int")  # fmt: skip
def reshaped(ctx: CallContext) -> Item:
    """The same values in another shape."""
    return Complex(ctx.view(pairs_of(ctx, "self"), ctx.shape()))


@of_complex("aten.clone", "aten.alias", "aten.contiguous", "aten.detach", "aten.lift_fresh_copy",
             "aten.resolve_conj", "aten.to.dtype", "aten.to.device", "aten._to_copy")  # fmt: skip
def identity(ctx: CallContext) -> Item:
    """The argument, unchanged; a real one with an imaginary part of 0."""
    if isinstance(ctx.args["self"], Complex):
        return Complex(pairs_of(ctx, "self"))
    real = ctx.cast(ctx.value("self"), np.dtype(np.float32))
    return _joined(ctx, real, ctx.inner("aten.mul.Tensor", real, 0.0))


def pairs_of(ctx: CallContext, name: str) -> Value:
    """The pairs of a complex argument. Raises Unsupported."""
    found = ctx.args[name]
    if not isinstance(found, Complex):
        raise Unsupported(f"its argument '{name}' is not {COMPLEX}")
    return found.pairs


def _parts(ctx: CallContext, pairs: Value) -> tuple[Value, Value]:
    last = len(pairs.shape) - 1
    real, imaginary = (ctx.inner("aten.select.int", pairs, last, i) for i in range(2))
    return real, imaginary


def _joined(ctx: CallContext, real: Value, imaginary: Value) -> Complex:
    pairs = tuple(ctx.view(x, (*x.shape, 1)) for x in (real, imaginary))
    return Complex(ctx.inner("aten.cat", pairs, len(real.shape)))


@of_complex("aten.constant_pad_nd")
def padded(ctx: CallContext) -> Item:
    """The values, surrounded by zeros."""
    if ctx.number("value", 0) != 0:
        raise Unsupported("complex values are padded with zeros only")
    amounts = (0, 0, *ctx.integers("pad"))
    return Complex(ctx.inner("aten.constant_pad_nd", pairs_of(ctx, "self"), amounts))


@of_complex("aten.mm", "aten.bmm")
def matrix_product(ctx: CallContext) -> Item:
    """A product of complex matrices."""
    (ar, ai), (br, bi) = (_parts(ctx, pairs_of(ctx, name)) for name in ("self", "mat2"))

    def times(x: Value, y: Value) -> Value:
        return ctx.inner(ctx.target, x, y)

    real = ctx.inner("aten.sub.Tensor", times(ar, br), times(ai, bi))
    return _joined(ctx, real, ctx.inner("aten.add.Tensor", times(ar, bi), times(ai, br)))
