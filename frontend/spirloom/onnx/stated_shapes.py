"""Compares computed shapes with those that the model states."""

from __future__ import annotations

from collections.abc import Sequence

from onnx import ModelProto, ValueInfoProto

from spirloom.errors import Unsupported
from spirloom.ir import Tensor
from spirloom.onnx.shape_inference import ModelInference
from spirloom.sizes import SymInt


class StatedShapes:
    """The shapes of outputs and `value_info`. Unknown and symbolic dimensions fit any size."""

    def __init__(
        self, model: ModelProto, inputs: Sequence[Tensor], inference: ModelInference
    ) -> None:
        self._inference = inference
        stated = {info.name: _sizes(info) for info in model.graph.input}
        # Shapes in the model are those of its own input sizes.
        resized = any(_contradicts(stated.get(t.name), _fixed(t.shape)) for t in inputs)
        infos = () if resized else (*model.graph.value_info, *model.graph.output)
        self._stated = {info.name: _sizes(info) for info in infos}

    def check(self, name: str, shape: Sequence[int | None]) -> None:
        """Raises Unsupported if a shape contradicts the model.

        Shapes in a model that was edited can be obsolete: a shape that ONNX's shape inference
        confirms is accepted.
        """
        shape = _fixed(shape)
        stated = self._stated.get(name)
        if stated is None or not _contradicts(stated, shape):
            return
        if None in stated and len(stated) != len(shape):
            return  # open dimensions are described by hand, in published models with wrong ranks
        inferred = self._inference.shape_of(name)
        if _contradicts(inferred, shape) or not _contradicts(inferred, stated):
            sizes = ", ".join("?" if size is None else str(size) for size in stated)
            raise Unsupported(
                f"its output '{name}' has the shape {list(shape)}; the model states [{sizes}]. "
                "If that is obsolete, import with --ignore-stated-shapes"
            )


# None: unknown.
Sizes = Sequence[int | None] | None


def _sizes(info: ValueInfoProto) -> Sizes:
    """The sizes of a value. Exporters write 0 for unknown ones, too."""
    kind = info.type.tensor_type
    if not info.type.HasField("tensor_type") or not kind.HasField("shape"):
        return None
    return [int(dim.dim_value) if dim.dim_value > 0 else None for dim in kind.shape.dim]


def _fixed(shape: Sequence[int | None]) -> Sequence[int | None]:
    """A shape with symbolic sizes as unknown ones."""
    return [None if isinstance(size, SymInt) else size for size in shape]


def _contradicts(a: Sizes, b: Sizes) -> bool:
    """Whether known ranks or sizes differ."""
    if a is None or b is None:
        return False
    known = zip(a, b, strict=False)
    return len(a) != len(b) or any(x != y for x, y in known if x is not None and y is not None)
