"""The ONNX node of a converter: inputs, attributes, and the graph builder."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np
import onnx
from onnx import NodeProto

from spirloom.builder import Builder, Value
from spirloom.data_sizes import DataSize, DataSizes
from spirloom.errors import Unsupported
from spirloom.ir import Array, DType, Tensor
from spirloom.onnx.dtypes import value_of
from spirloom.onnx.size_arrays import Known, KnownLifter, LeadingPart, SizeArray, size_array
from spirloom.sizes import is_symbolic, upper_shape


class NodeContext:
    """An ONNX node with its input values and attributes, and the builder for its conversion."""

    def __init__(
        self,
        node: NodeProto,
        inputs: Sequence[Known | None],
        opset: int,
        builder: Builder,
        lifter: KnownLifter,
        used: AbstractSet[str],
        data_sizes: DataSizes | None = None,
    ) -> None:
        self.node = node
        self.op_type: str = node.op_type
        self.opset = opset
        self.build = builder
        self.inputs = inputs
        self._lifter = lifter
        self._used = used
        self._data_sizes = data_sizes
        self._attributes = {a.name: a for a in node.attribute}
        self.read: set[str] = set()  # names of attributes that were asked for

    def value(self, index: int) -> Value:
        """A required input."""
        value = self.optional(index)
        if value is None:
            raise Unsupported(f"its input {index} is missing")
        return value

    def optional(self, index: int) -> Value | None:
        """An input, or None if it is absent."""
        value = self.known(index)
        return self.lifted(value) if isinstance(value, SizeArray | LeadingPart) else value

    def named_inputs(self) -> list[tuple[str, Known | None]]:
        """The inputs with their names."""
        return list(zip(self.node.input, self.inputs, strict=False))

    def known(self, index: int) -> Known | None:
        """An input, which may depend on sizes, or None if it is absent."""
        return self.inputs[index] if index < len(self.inputs) else None

    def required(self, index: int) -> Known:
        """A required input, which may depend on sizes."""
        value = self.known(index)
        if value is None:
            raise Unsupported(f"its input {index} is missing")
        return value

    def dtype(self, index: int) -> np.dtype[Any]:
        """The element type of a required input."""
        value = self.required(index)
        return value.dtype.numpy if isinstance(value, Tensor) else value.dtype

    def tensor(self, index: int) -> Tensor:
        """A required input as a tensor."""
        return self._lifter.lift(self.build, self.required(index), self.node.input[index])

    def ranked(self, index: int, min_rank: int) -> Tensor:
        """A required input as a tensor of at least this rank."""
        x = self.tensor(index)
        if len(x.shape) < min_rank:
            raise Unsupported(f"its input {index}, {x}, has fewer than {min_rank} dimensions")
        return x

    def lifted(self, value: Known) -> Tensor:
        """A value as a tensor."""
        return self._lifter.lift(self.build, value, f"{self.build.name}.constant")

    def arange(self, count: int, dtype: DType = DType.I32) -> Tensor:
        """The numbers from 0 to below a count, which may be symbolic."""
        numbers = np.arange(upper_shape((count,))[0], dtype=dtype.numpy)
        symbolic = is_symbolic((count,))
        return self.lifted(LeadingPart(numbers, (count,)) if symbolic else numbers)

    def size(self, count: int) -> Tensor:
        """An int32 scalar of a size, which may be symbolic."""
        return self.lifted(size_array([count], [], np.dtype(np.int32)))

    def optional_tensor(self, index: int) -> Tensor | None:
        """An input as a tensor, or None if it is absent."""
        return None if self.known(index) is None else self.tensor(index)

    def plus(self, x: Tensor, index: int) -> Tensor:
        """x plus an input, or x if the input is absent."""
        added = self.optional_tensor(index)
        return x if added is None else self.build.add(x, added)

    def constant(self, index: int) -> Array | None:
        """An input that must be known at import. None if it is absent."""
        value = self.known(index)
        if isinstance(value, SizeArray | LeadingPart):
            raise Unsupported(f"its input '{self.node.input[index]}' depends on sizes")
        if isinstance(value, Tensor):
            raise Unsupported(f"its input '{self.node.input[index]}' must be a constant")
        return value

    def constant_ints(self, index: int) -> list[int] | None:
        """A constant input as a list of ints, which may be symbolic."""
        given = self.known(index)
        if isinstance(given, SizeArray):
            found = [item for item in given.flat() if isinstance(item, int)]
            if len(found) != given.size:
                raise Unsupported(f"its input '{self.node.input[index]}' has no formula: {given}")
            return found
        value = self.constant(index)
        return None if value is None else [int(v) for v in value.reshape(-1)]

    def constant_scalar(self, index: int, default: float) -> float:
        """A constant input of one element."""
        value = self.constant(index)
        if value is not None and value.size != 1:
            raise Unsupported(f"its input {index} has {value.size} elements instead of one")
        return default if value is None else float(value.reshape(-1)[0])

    def integer(self, name: str, default: int) -> int:
        """An int attribute."""
        return int(self._attribute(name, onnx.AttributeProto.INT, default))

    def number(self, name: str, default: float) -> float:
        """A float attribute."""
        return float(self._attribute(name, onnx.AttributeProto.FLOAT, default))

    def text(self, name: str, default: str) -> str:
        """A string attribute."""
        value = self._attribute(name, onnx.AttributeProto.STRING, default.encode())
        return bytes(value).decode(errors="replace")

    def integers(self, name: str) -> list[int] | None:
        """A list-of-int attribute, or None if it is absent."""
        value = self._attribute(name, onnx.AttributeProto.INTS, None)
        return None if value is None else [int(v) for v in value]

    def plain_attributes(self) -> dict[str, object]:
        """All attributes as Python values: bytes as str, lists as tuples."""
        self.read.update(self._attributes)
        found = {n: onnx.helper.get_attribute_value(a) for n, a in self._attributes.items()}
        return {name: _plain(value) for name, value in found.items()}

    def has(self, name: str) -> bool:
        """Whether the node has the attribute."""
        return name in self._attributes

    def floats(self, name: str) -> list[float]:
        """A list-of-float attribute. Empty if it is absent."""
        return [float(v) for v in self._attribute(name, onnx.AttributeProto.FLOATS, [])]

    def texts(self, name: str) -> list[str]:
        """A list-of-string attribute. Empty if it is absent."""
        values = self._attribute(name, onnx.AttributeProto.STRINGS, [])
        return [bytes(value).decode(errors="replace") for value in values]

    def without_effect(self, *names: str) -> None:
        """Marks attributes that other attributes make irrelevant."""
        self.read.update(names)

    def attribute(self, name: str) -> onnx.AttributeProto:
        """A required attribute of any type."""
        self.read.add(name)
        if name not in self._attributes:
            raise Unsupported(f"its attribute '{name}' is missing")
        return self._attributes[name]

    def _attribute(self, name: str, kind: int, default: Any) -> Any:
        self.read.add(name)
        attribute = self._attributes.get(name)
        if attribute is None:
            return default
        if attribute.type != kind:
            raise Unsupported(f"its attribute '{name}' has the wrong type")
        return value_of(attribute)

    def axis(self, axis: int, rank: int) -> int:
        """A non-negative axis. Raises Unsupported if it is out of range."""
        if not -rank <= axis < rank:
            raise Unsupported(f"its axis {axis} is out of range for rank {rank}")
        return axis % rank

    def axes(self, axes: list[int], rank: int) -> list[int]:
        """Sorted non-negative axes. Raises Unsupported for duplicates."""
        result = sorted({self.axis(a, rank) for a in axes})
        if len(result) != len(axes):
            raise Unsupported(f"its axes {axes} have a duplicate")
        return result

    def axes_argument(self, index: int = 1) -> list[int] | None:
        """Axes from an attribute (older opsets) or from a constant input (newer ones)."""
        return self.integers("axes") if self.has("axes") else self.constant_ints(index)

    def check_size(self, shape: Sequence[int], itemsize: int) -> None:
        """Raises OpError if a constant of this shape would exceed the memory budget."""
        self.build.budget.check(shape, itemsize)

    def uses_output(self, index: int) -> bool:
        """Whether the model reads an output."""
        return index < len(self.node.output) and self.node.output[index] in self._used

    def refuse_data_sizes(self, reason: str) -> None:
        """Raises Unsupported if the import cannot have sizes that depend on the data."""
        if self._data_sizes is None:
            raise Unsupported(reason)

    def set_data_size(self, tensor: Tensor, axis: int, count: Tensor) -> None:
        """Marks a result whose first `count` elements along an axis are valid."""
        assert self._data_sizes is not None
        self._data_sizes.set(tensor, DataSize(axis, count))

    def refuse_extra_outputs(self, count: int = 1) -> None:
        """Raises Unsupported if the model reads an output after the first `count`."""
        extra = [n for i, n in enumerate(self.node.output) if i >= count and self.uses_output(i)]
        if extra:
            raise Unsupported(f"its output '{extra[0]}' is not supported")


def _plain(value: Any) -> object:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return tuple(value) if isinstance(value, Sequence) and not isinstance(value, str) else value
