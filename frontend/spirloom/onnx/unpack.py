"""What the tensors and attributes of a model hold; they may be damaged."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import AttributeProto, TensorProto, helper, numpy_helper

from spirloom.ir import Array
from spirloom.onnx.dtypes import numpy_type
from spirloom.onnx.external_data import is_external, mapped
from spirloom.onnx.terms import Unsupported


def array_of(tensor: TensorProto, what: str) -> Array:
    """A tensor's elements in ONNX's own type; Unsupported, naming it as `what`, if there are none.

    ONNX's library says in many ways that type, shape and bytes do not fit each other.
    """
    try:
        if is_external(tensor):
            return mapped(tensor, numpy_type(tensor.data_type))
        return np.asarray(numpy_helper.to_array(tensor))
    except (ValueError, TypeError, KeyError, OverflowError, OSError) as error:
        raise Unsupported(f"{what} is damaged: {error}") from error


def value_of(attribute: AttributeProto) -> Any:
    """An attribute's value; Unsupported if it is of no type that there is."""
    try:
        return helper.get_attribute_value(attribute)
    except ValueError as error:
        raise Unsupported(f"its attribute '{attribute.name}' is of no known type") from error
