"""The names of dynamic sizes: torch.export keeps the bounds of a Dim, not its name."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from spirloom.torch.int_inputs import renamed
from spirloom.torch.program import InvalidSize, Kind, Program, SizeExpr


def named_by_dims(
    program: Program, module: Any, args: Sequence[Any], kwargs: Any, dynamic_shapes: Any
) -> Program:
    """The program of a module, exported with these arguments, with the names of torch.export.Dim
    instead of those of torch's symbols, such as s77."""
    if not dynamic_shapes or not callable(getattr(module, "forward", None)):
        return program
    if not isinstance(dynamic_shapes, Mapping | list | tuple):  # such as ShapesCollection
        return program
    kwargs = kwargs or {}
    bound = inspect.signature(module.forward).bind(*args, **kwargs).arguments
    if not isinstance(dynamic_shapes, Mapping):
        dynamic_shapes = dict(zip(bound, dynamic_shapes, strict=False))
    # The inputs of a program are in the order of the call, not of the signature.
    order = [name for name in bound if name not in kwargs] + [n for n in kwargs if n in bound]
    specs = [spec for n in order for spec in _specs(bound[n], dynamic_shapes.get(n))]
    inputs = [given for given in program.inputs if given.kind is not Kind.WEIGHT]
    if len(specs) != len(inputs):  # containers that only torch knows
        return program
    names: dict[str, str] = {}
    for given, spec in zip(inputs, specs, strict=True):
        meta = program.metas.get(given.name)
        if given.kind is not Kind.USER or meta is None:
            continue
        for axis, dim in _axes(spec):
            symbol = _symbol(meta.shape[axis])
            root = getattr(dim, "root", dim)  # of a derived Dim
            name = getattr(root, "__name__", "")
            is_new = name.isidentifier() and name not in {*program.symbols, *names.values()}
            if symbol is not None and symbol not in names and is_new:
                names[symbol] = name
    return renamed(program, names)


def _specs(value: Any, spec: Any) -> Iterator[Any]:
    """The part of `spec` of each tensor and other value in nested containers."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _specs(item, spec.get(key) if isinstance(spec, Mapping) else None)
    elif isinstance(value, list | tuple):
        parts = spec if isinstance(spec, list | tuple) and len(spec) == len(value) else None
        for i, item in enumerate(value):
            yield from _specs(item, None if parts is None else parts[i])
    else:
        yield spec


def _axes(spec: Any) -> list[tuple[int, Any]]:
    """The dimensions that the spec of a tensor names."""
    if isinstance(spec, Mapping):
        return list(spec.items())
    return list(enumerate(spec)) if isinstance(spec, list | tuple) else []


def _symbol(size: int | SizeExpr) -> str | None:
    """The only symbol of a size."""
    try:
        symbols = size.symbols() if isinstance(size, SizeExpr) else set()
    except InvalidSize:
        return None
    return symbols.pop() if len(symbols) == 1 else None
