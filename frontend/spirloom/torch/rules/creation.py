"""Import rules of operators that create constant tensors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from spirloom.data_sizes import SIZE_OF_DATA
from spirloom.errors import Unsupported
from spirloom.ir import Array
from spirloom.number_expr import SymFloat
from spirloom.sizes import SymInt, refuse_symbolic, upper_shape
from spirloom.torch.context import CallContext
from spirloom.torch.rules.registry import imports
from spirloom.torch.values import Item


@imports("aten.zeros", "aten.zeros_like", "aten.new_zeros", "aten.empty.memory_format",
         "aten.empty_like", "aten.new_empty", "aten.empty_permuted", "aten.new_empty_strided",
         "aten.empty_strided", "aten.zero")  # fmt: skip
def zeros(ctx: CallContext) -> Item:
    """Zeros, also for uninitialized tensors."""
    return ctx.filled(0)


@imports("aten.ones", "aten.ones_like", "aten.new_ones")
def ones(ctx: CallContext) -> Item:
    """Ones."""
    return ctx.filled(1)


@imports("aten.full", "aten.full_like", "aten.new_full", "aten.fill.Scalar", "aten.fill.Tensor")
def full(ctx: CallContext) -> Item:
    """One value for all elements."""
    name = "fill_value" if ctx.has("fill_value") else "value"
    found = ctx.args.get(name)
    if isinstance(found, np.ndarray) and found.size == 1:
        found = found.reshape(-1)[0].item()
    if isinstance(found, SymInt | SymFloat) or not isinstance(found, int | float):
        value = ctx.cast(ctx.value(name), ctx.out_dtype())
        return ctx.inner("aten.expand", value, ctx.shape())
    return ctx.filled(found)


@imports("aten.scalar_tensor")
def scalar_tensor(ctx: CallContext) -> Item:
    """A tensor of rank 0."""
    value = ctx.args.get("s", 0)
    if isinstance(value, SymInt | SymFloat):
        return ctx.cast(ctx.value("s"), ctx.out_dtype())
    return ctx.filled(ctx.number("s", 0))


@imports("aten.arange", "aten.arange.start", "aten.arange.start_step")
def arange(ctx: CallContext) -> Item:
    """Equally spaced values by start and step."""
    (count,) = ctx.shape(rank=1)
    start, step = ctx.number("start", 0), ctx.number("step", 1)
    if isinstance(start, SymInt) or isinstance(step, SymInt):
        raise Unsupported("its first values depend on a symbolic size")
    if ctx.out_dtype().kind in "iu":
        start, step = int(start), int(step)  # integer arithmetic, as in torch
    (most,) = upper_shape((count,))
    ctx.build.budget.check((most,), 8)
    values = (start + np.arange(most) * step).astype(ctx.out_dtype())
    end = start + most * step
    return ctx.generated(
        values, (count,), "aten.arange.start_step", start=start, end=end, step=step
    )


def _cosines(*coefficients: float) -> Callable[[Array], Array]:
    """The sum of coefficients times cosines of the phase and its multiples, with alternating
    signs."""

    def window(phase: Array) -> Array:
        waves = (a * (-1) ** i * np.cos(i * phase) for i, a in enumerate(coefficients))
        found: Array = np.asarray(sum(waves))
        return found

    return window


def _triangle(phase: Array) -> Array:
    found: Array = 1 - np.abs(phase / np.pi - 1)
    return found


_WINDOWS: dict[str, Callable[[Array], Array]] = {
    "hann": _cosines(0.5, 0.5),
    "hamming": _cosines(0.54, 0.46),
    "blackman": _cosines(0.42, 0.5, 0.08),
    "bartlett": _triangle,
}


_OF_HAMMING = tuple(f"aten.hamming_window.periodic_alpha{form}" for form in ("", "_beta"))


@imports(*(f"aten.{name}_window{form}" for name in _WINDOWS for form in ("", ".periodic")),
         *_OF_HAMMING)  # fmt: skip
def window(ctx: CallContext) -> Item:
    """A window of spectral analysis, by default periodic."""
    (count,) = ctx.shape(rank=1)
    refuse_symbolic(count)
    ctx.build.budget.check((count,), 8)
    function = _WINDOWS[ctx.target.removeprefix("aten.").partition("_window")[0]]
    if ctx.has("alpha"):
        function = _cosines(ctx.number("alpha", 0.54), ctx.number("beta", 0.46))
    if count == 1:
        return np.ones(1, ctx.out_dtype())
    steps = count if ctx.flag("periodic", True) else count - 1
    return function(np.arange(count) * (2 * np.pi / max(steps, 1))).astype(ctx.out_dtype())


@imports("aten.linspace")
def linspace(ctx: CallContext) -> Item:
    """Equally spaced values between two bounds."""
    (count,) = ctx.shape(rank=1)
    refuse_symbolic(count)
    ctx.build.budget.check((count,), 8)
    start, end = ctx.number("start", 0), ctx.number("end", 0)
    values = np.linspace(start, end, count).astype(ctx.out_dtype())
    return ctx.generated(values, (count,), "aten.linspace", start=start, end=end, steps=count)


@imports("aten.eye", "aten.eye.m")
def eye(ctx: CallContext) -> Item:
    """The identity matrix."""
    rows, columns = ctx.shape(rank=2)
    most_rows, most_columns = upper_shape((rows, columns))
    ctx.build.budget.check((most_rows, most_columns), 8)
    values = np.eye(most_rows, most_columns, dtype=ctx.out_dtype())
    return ctx.generated(values, (rows, columns), "aten.eye.m", n=rows, m=columns)


@imports("aten.rand", "aten.randn", "aten.rand_like", "aten.randn_like", "aten.bernoulli.p",
         "aten.bernoulli", "aten.randint.low", "aten.randint", "aten.randperm", "aten.multinomial",
         "aten.normal_functional", "aten.native_dropout", "aten.uniform",
         "aten.randint_like.low_dtype")  # fmt: skip
def random(ctx: CallContext) -> Item:
    """Not supported: random operators."""
    raise Unsupported(
        "it generates random values, which are not reproducible across implementations"
    )


@imports("aten._unique", "aten._unique2", "aten.unique_dim", "aten.unique_consecutive",
         "aten.nonzero_numpy", "aten.repeat_interleave.Tensor",
         "torchvision.nms")  # fmt: skip
def data_dependent(ctx: CallContext) -> Item:
    """Not supported: the size of the result depends on the data."""
    raise Unsupported(SIZE_OF_DATA)
