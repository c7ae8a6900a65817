"""Inputs that become constants at import."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from onnx import GraphProto, ModelProto, ValueInfoProto, numpy_helper

from spirloom.errors import ImportFailure, Unsupported
from spirloom.ir import Array
from spirloom.onnx.dtypes import numpy_type
from spirloom.onnx.inputs import Shapes, own_inputs


def single_values(graph: GraphProto, shapes: Shapes) -> tuple[dict[str, Array], Shapes]:
    """Inputs of one element whose range is a single number, as constants, and the other options."""
    single = {name: r.low for name, r in shapes.ranges.items() if r.low == r.high}
    found = {
        info.name: np.array(single[info.name]).reshape([1] * len(info.type.tensor_type.shape.dim))
        for info in own_inputs(graph)
        if info.name in single
        and info.type.tensor_type.HasField("shape")
        and all(dim.dim_value == 1 for dim in info.type.tensor_type.shape.dim)
    }
    ranges = {name: r for name, r in shapes.ranges.items() if name not in found}
    return found, replace(shapes, ranges=ranges)


def set_constant_inputs(model: ModelProto, fixed: Mapping[str, Array]) -> None:
    """Converts inputs to constants, in place. Raises ImportFailure for unknown or wrong ones."""
    infos = {info.name: info for info in model.graph.input}
    unknown = sorted(set(fixed) - set(infos))
    if unknown:
        raise ImportFailure(
            f"--constant-input names no input: {', '.join(unknown)}. "
            f"The inputs are: {', '.join(infos)}."
        )
    kept = [t for t in model.graph.initializer if t.name not in fixed]
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    for name, value in fixed.items():
        typed = _of_input(infos[name], value)
        model.graph.initializer.append(numpy_helper.from_array(typed, name))


def _of_input(info: ValueInfoProto, value: Array) -> Array:
    """The value in the input's element type and shape."""
    kind = info.type.tensor_type
    try:
        dtype = numpy_type(kind.elem_type)
    except Unsupported as error:
        raise ImportFailure(f"Input '{info.name}' cannot be a constant: {error}.") from error
    with np.errstate(all="ignore"):
        typed = value.astype(dtype)
    rounded = value.dtype.kind == dtype.kind == "f" and np.array_equal(
        np.isfinite(typed), np.isfinite(value)
    )
    if not rounded and not np.array_equal(typed, value, equal_nan=dtype.kind == "f"):
        raise ImportFailure(
            f"--constant-input {info.name} has elements that the input's type, {dtype}, cannot "
            "represent."
        )
    dims = kind.shape.dim
    if value.ndim == 0 and all(d.dim_value == 1 for d in dims):
        typed = value = typed.reshape([1] * len(dims))
    fits = len(dims) == value.ndim and all(
        not d.HasField("dim_value") or d.dim_value == n
        for d, n in zip(dims, value.shape, strict=True)
    )
    if kind.HasField("shape") and not fits:
        stated = [d.dim_value if d.HasField("dim_value") else d.dim_param or "?" for d in dims]
        raise ImportFailure(
            f"--constant-input {info.name} has the shape {list(value.shape)}; the input has "
            f"{stated}."
        )
    return typed
