"""The variants that a call can require: kernel selection as in runtime/graph, for all devices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from codegen.select.filters import Filter
from codegen.select.selection import dispatched
from spec_model.device_properties import DEVICE_PROPERTIES
from spec_model.expr.evaluation import evaluate
from spec_model.expr.types import EvalError, Expr, TensorType, Value, names_of
from spec_model.op import Op
from spec_model.spec import Kernel, Variant
from spec_model.vocabulary import Capability, Storage

# Limits of images that every Vulkan device supports: the minimum of maxImageDimension3D and
# maxImageArrayLayers, and maxResourceSize. For layered images this is conservative.
_SURE_EXTENT = 256
_SURE_BYTES = 1 << 30
_TEXTURE_RANK = 4

# The kinds of devices: all combinations of the properties with few values. The other properties
# vary among the devices of a kind.
_LISTED = {name: each.samples for name, each in DEVICE_PROPERTIES.items() if each.listed}
_DEVICES: list[dict[str, Value]] = [
    dict(zip(_LISTED, facts, strict=True)) for facts in product(*_LISTED.values())
]
_EVERY = frozenset(range(len(_DEVICES)))


@dataclass(frozen=True, slots=True)
class Fit:
    """A variant that computes the call on devices that support its textures."""

    variant: Variant
    textures: Mapping[str, Sequence[TensorType]]  # operands in textures
    # Indices in _DEVICES of the kinds of devices …
    may_prefer: frozenset[int]  # … of which some prefer it
    prefer: frozenset[int]  # … of which all prefer it
    may_complete: frozenset[int]  # … of which some complete its loops
    complete: frozenset[int]  # … of which all complete its loops

    @property
    def possible(self) -> bool:
        """Whether some device supports the textures."""
        return all(
            len(t.shape) <= _TEXTURE_RANK and prod(t.shape) > 0
            for tensors in self.textures.values()
            for t in tensors
        )

    @property
    def certain(self) -> bool:
        """Whether every device supports it."""
        fits = all(_sure_texture(t) for tensors in self.textures.values() for t in tensors)
        everywhere = self.complete == _EVERY
        return fits and everywhere and not _needs(self.variant) and self.variant.kernel.portable

    def precludes(self, later: Fit) -> bool:
        """Whether every device that supports `later`, which has a lower rank, selects this one.

        Features implied by dtypes count for both modules, although a module may not use them.
        """
        mine, other = self.variant, later.variant
        return (
            mine.kernel is not other.kernel
            and mine.kernel.portable
            and _needs(mine) <= _needs(other)
            and self.textures.keys() <= later.textures.keys()
            and _own_storages(mine) == _own_storages(other)
        )


def _needs(variant: Variant) -> set[Capability]:
    """The capabilities of the variant and of the packing of its operands."""
    packs = (operand.pack for operand in variant.kernel.operands if operand.pack is not None)
    return set(variant.needs).union(*(pack.needs for pack in packs))


def _sure_texture(tensor: TensorType) -> bool:
    n, c, h, w = (1,) * (_TEXTURE_RANK - len(tensor.shape)) + tensor.shape
    depth = n * -(-c // 4)
    return max(w, h, depth) <= _SURE_EXTENT and w * h * depth * 16 <= _SURE_BYTES


def _own_storages(variant: Variant) -> dict[str, object]:
    """The storages of further axes, which the call's tensors determine."""
    return {
        name: value
        for name, value in variant.values.items()
        if isinstance(value, Storage) and name != "storage"
    }


def fits(op: Op, args: Mapping[str, object]) -> list[Fit]:
    """The variants that can compute the call, in order of preference. Fails if it is invalid."""
    values = op.values(args)
    found = [
        Fit(
            variant,
            _textures(variant, values),
            *preferring,
            *_completing(variant, values),
        )
        for kernel in op.kernels
        if _may_hold(kernel.when, values)
        for preferring in [_preferring(kernel, values)]
        for variant in dispatched(op, op.variants_of(kernel))
        if _matches(variant, values)
    ]
    return [fit for fit in found if fit.possible]


def needed(found: Sequence[Fit], requested: Storage | None, limit: Filter) -> list[Variant]:
    """The variants that some device selects, within the limit. `requested`: the requested storage.

    The dtypes of casts of the graph's inputs and outputs are not limited.
    """
    boundary = Filter(storages=limit.storages)
    allowed = [
        f for f in found if (boundary if f.variant.auto_inserted else limit).accepts(f.variant)
    ]
    there = _reachable([f for f in allowed if _stores_in(f.variant, requested)])
    if not any(fit.certain for fit in there):
        storages = dict.fromkeys(f.variant.storage for f in allowed)
        there = [
            fit
            for storage in storages
            for fit in _reachable([f for f in allowed if f.variant.storage is storage])
        ]
    return [fit.variant for fit in there]


def _stores_in(variant: Variant, requested: Storage | None) -> bool:
    """Whether the outputs have the requested storage."""
    return set(_own_storages(variant).values() or [variant.storage]) == {requested}


def _reachable(found: Sequence[Fit]) -> list[Fit]:
    """The variants that some device selects, of variants with the same storage."""
    selected: set[str] = set()
    for device in range(len(_DEVICES)):
        sure = [(device not in fit.prefer, i) for i, fit in enumerate(found)]
        selected |= {
            fit.variant.id
            for i, fit in enumerate(found)
            if device in fit.may_complete
            and not any(
                device in better.complete
                and sure[k] < (device not in fit.may_prefer, i)
                and better.precludes(fit)
                for k, better in enumerate(found)
            )
        }
    return [fit for fit in found if fit.variant.id in selected]


def _kinds(
    expression: Expr | None, holds: Callable[[Expr, Mapping[str, Value]], bool]
) -> tuple[frozenset[int], frozenset[int]]:
    """The kinds of devices of which some, and of which all, have `holds`. `holds` is called with
    the expression and the properties of a device.
    """
    if expression is None:
        return _EVERY, _EVERY
    used = names_of(expression) | {"max_loop_iterations"}
    listed = [name for name in _LISTED if name in used]
    varying = [name for name in DEVICE_PROPERTIES if name in used and name not in _LISTED]
    samples = [
        dict(zip(varying, values, strict=True))
        for values in product(*(DEVICE_PROPERTIES[name].samples for name in varying))
    ]
    found: dict[tuple[Value, ...], set[bool]] = {}
    some, every = set(), set()
    for i, device in enumerate(_DEVICES):
        key = tuple(device[name] for name in listed)
        if key not in found:
            found[key] = {holds(expression, {**device, **sample}) for sample in samples}
        if True in found[key]:
            some.add(i)
        if False not in found[key]:
            every.add(i)
    return frozenset(some), frozenset(every)


def _preferring(
    kernel: Kernel, values: Mapping[str, Value]
) -> tuple[frozenset[int], frozenset[int]]:
    """The kinds of devices of which some, and of which all, prefer the kernel to later ones."""
    return _kinds(kernel.prefer, lambda prefer, device: _may_hold(prefer, {**values, **device}))


def _completing(
    variant: Variant, values: Mapping[str, Value]
) -> tuple[frozenset[int], frozenset[int]]:
    """The kinds of devices of which some, and of which all, complete the loops of the variant."""
    dispatch: dict[str, Value] = {**values, "storage": variant.storage}
    return _kinds(
        variant.kernel.loop_iterations,
        lambda iterations, device: _completes(iterations, {**dispatch, **device}),
    )


def _completes(iterations: Expr, values: Mapping[str, Value]) -> bool:
    try:
        found, limit = evaluate(iterations, values), values["max_loop_iterations"]
    except EvalError:
        return True
    assert isinstance(found, int) and isinstance(limit, int)
    return found <= limit


def _may_hold(condition: Expr | None, values: Mapping[str, Value]) -> bool:
    if condition is None:
        return True
    try:
        return bool(evaluate(condition, values))
    except EvalError:
        return True


def _matches(variant: Variant, values: Mapping[str, Value]) -> bool:
    """Whether the axes other than storages have the call's values."""
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
