"""What a call of an op can need: the kernel choice of runtime/graph, for all devices at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from codegen.expr.evaluate import evaluate
from codegen.expr.types import EvalError, Expr, TensorType, Value
from codegen.op import Op
from codegen.select.filters import Filter
from codegen.select.selection import dispatched
from codegen.signature import DEVICE_FACTS
from codegen.spec import Kernel, Variant
from codegen.vocabulary import Storage

# Of the images that every Vulkan device has: maxImageDimension3D and maxImageArrayLayers, and
# maxResourceSize. Layered images may be wider; this is on the safe side.
_SURE_EXTENT = 256
_SURE_BYTES = 1 << 30
_TEXTURE_RANK = 4

# What `prefer` may learn of a device, in every combination there is.
_DEVICES: list[dict[str, Value]] = [
    dict(zip(DEVICE_FACTS, facts, strict=True)) for facts in product(*DEVICE_FACTS.values())
]


@dataclass(frozen=True, slots=True)
class Fit:
    """A variant that computes the call on devices that can hold its textures."""

    variant: Variant
    textures: Mapping[str, Sequence[TensorType]]  # operands that live in textures
    preferred: frozenset[int]  # the devices, by their place in _DEVICES, whose choice it is

    @property
    def possible(self) -> bool:
        """Whether any device can hold the textures."""
        return all(
            len(t.shape) <= _TEXTURE_RANK and prod(t.shape) > 0
            for tensors in self.textures.values()
            for t in tensors
        )

    @property
    def certain(self) -> bool:
        """Whether every device can run it."""
        fits = all(_sure_texture(t) for tensors in self.textures.values() for t in tensors)
        return fits and not self.variant.needs and self.variant.kernel.portable

    def precludes(self, later: Fit) -> bool:
        """Whether every device that can take `later`, which it ranks lower, takes this one.

        Needs that follow from dtypes count as both modules', although one may do without.
        """
        mine, other = self.variant, later.variant
        return (
            mine.kernel is not other.kernel
            and mine.kernel.portable
            and set(mine.needs) <= set(other.needs)
            and self.textures.keys() <= later.textures.keys()
            and _placed(mine) == _placed(other)
        )


def _sure_texture(tensor: TensorType) -> bool:
    n, c, h, w = (1,) * (_TEXTURE_RANK - len(tensor.shape)) + tensor.shape
    depth = n * -(-c // 4)
    return max(w, h, depth) <= _SURE_EXTENT and w * h * depth * 16 <= _SURE_BYTES


def _placed(variant: Variant) -> dict[str, object]:
    """The storages of axes of their own, which the call's tensors decide."""
    return {
        name: value
        for name, value in variant.values.items()
        if isinstance(value, Storage) and name != "storage"
    }


def fits(op: Op, args: Mapping[str, object]) -> list[Fit]:
    """The variants that can compute the call, in order of preference. Fails if it is not valid."""
    values = op.values(args)
    found = [
        Fit(variant, _textures(variant, values), _preferring(kernel, values))
        for kernel in op.kernels
        if _may_hold(kernel.when, values)
        for variant in dispatched(op, op.variants_of(kernel))
        if _matches(variant, values)
    ]
    return [fit for fit in found if fit.possible]


def needed(found: Sequence[Fit], asked: Storage | None, limit: Filter) -> list[Variant]:
    """Those that some device takes, within the limit; `asked` is where the outputs ask to live.

    Casts at the graph's border are of the dtypes that it has there, whatever the limit says.
    """
    border = Filter(storages=limit.storages)
    allowed = [f for f in found if (border if f.variant.inserted else limit).accepts(f.variant)]
    there = _reachable([f for f in allowed if _puts_into(f.variant, asked)])
    if not any(fit.certain for fit in there):
        storages = dict.fromkeys(f.variant.storage for f in allowed)
        there = [
            fit
            for storage in storages
            for fit in _reachable([f for f in allowed if f.variant.storage is storage])
        ]
    return [fit.variant for fit in there]


def _puts_into(variant: Variant, asked: Storage | None) -> bool:
    """Whether the outputs come to live where they ask to."""
    return set(_placed(variant).values() or [variant.storage]) == {asked}


def _reachable(found: Sequence[Fit]) -> list[Fit]:
    """Those that some device takes of these, all in one storage."""
    taken: set[str] = set()
    for device in range(len(_DEVICES)):
        ranked = sorted(found, key=lambda fit: device not in fit.preferred)
        taken |= {
            fit.variant.id
            for i, fit in enumerate(ranked)
            if not any(better.precludes(fit) for better in ranked[:i])
        }
    return [fit for fit in found if fit.variant.id in taken]


def _preferring(kernel: Kernel, values: Mapping[str, Value]) -> frozenset[int]:
    """The devices that prefer the kernel to those after it."""
    return frozenset(
        i for i, facts in enumerate(_DEVICES) if _may_hold(kernel.prefer, {**values, **facts})
    )


def _may_hold(condition: Expr | None, values: Mapping[str, Value]) -> bool:
    if condition is None:
        return True
    try:
        return bool(evaluate(condition, values))
    except EvalError:
        return True


def _matches(variant: Variant, values: Mapping[str, Value]) -> bool:
    """Whether the axes that do not follow from storages have the call's values."""
    for axis in variant.kernel.axes:
        if axis.of is None or isinstance(axis.values[0], Storage):
            continue
        if evaluate(axis.of, values) != variant.values[axis.name]:
            return False
    return True


def _textures(variant: Variant, values: Mapping[str, Value]) -> dict[str, list[TensorType]]:
    result = {}
    for operand, bound in zip(variant.kernel.operands, variant.tensors, strict=True):
        if bound.storage is Storage.BUFFER or operand.pack is not None:
            continue
        value = values[operand.name]
        tensors = value if isinstance(value, tuple) else (value,)
        result[operand.name] = [t for t in tensors if isinstance(t, TensorType) and t.present]
    return result
