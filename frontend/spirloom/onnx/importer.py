"""Turns an ONNX model into a graph: walks the nodes once, with every shape known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, numpy_helper

from spirloom import __version__
from spirloom.builder import Builder
from spirloom.errors import ImportFailure
from spirloom.ir import Array, DType, Graph, Tensor
from spirloom.onnx import fold_more, ops, reader
from spirloom.onnx.context import Lifter, NodeContext
from spirloom.onnx.fold import FOLDERS
from spirloom.onnx.table import CONVERTERS, Unsupported, Value
from spirloom.onnx.types import dtype_of, narrowed, type_name
from spirloom.ops import OpError, OpLibrary

# Both register what they define in tables.
assert ops and fold_more


@dataclass(frozen=True, slots=True)
class Shapes:
    """What the user says about shapes: sizes of named dimensions, whole shapes of inputs."""

    dims: Mapping[str, int] = field(default_factory=dict)
    inputs: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


def import_model(path: Path, library: OpLibrary, shapes: Shapes) -> Graph:
    """The graph of an ONNX file, as written, before any pass. Raises ImportFailure."""
    model = reader.read_model(path)
    return _Importer(path, model, library, shapes).run()


def supported_ops() -> list[str]:
    """The ONNX operators that can be imported; some only where their inputs are constant."""
    only_folded = sorted(set(FOLDERS) - set(CONVERTERS))
    return sorted(CONVERTERS) + [f"{op} (of constants)" for op in only_folded]


class _Importer:
    def __init__(self, path: Path, model: ModelProto, library: OpLibrary, shapes: Shapes) -> None:
        self._path = path
        self._model = model
        self._opset = reader.opset_version(model)
        self._graph = Graph(producer=f"spirloom {__version__} from ONNX opset {self._opset}")
        self._builder = Builder(library, self._graph)
        self._lifter = Lifter()
        self._shapes = shapes
        self._initializers = {t.name: t for t in model.graph.initializer}
        # None stands for a value that an unsupported node would have made.
        self._values: dict[str, Value | None] = {}
        self._problems: list[tuple[NodeProto, str]] = []
        self._inferred: dict[str, Tensor] | None = None

    def run(self) -> Graph:
        if self._model.graph.sparse_initializer:
            raise ImportFailure(f"{self._path} holds sparse initializers, which are not supported.")
        self._graph.inputs = self._inputs()
        for index, node in enumerate(self._model.graph.node):
            self._builder.name = node.name or f"{node.op_type}_{index}"
            self._import_node(node)
        if self._problems:
            raise ImportFailure(self._unsupported_message())
        self._graph.outputs = [self._output(info) for info in self._model.graph.output]
        return self._graph

    def _inputs(self) -> list[Tensor]:
        infos = [i for i in self._model.graph.input if i.name not in self._initializers]
        unknown = set(self._shapes.inputs) - {i.name for i in infos}
        if unknown:
            raise ImportFailure(
                f"--shape names no input: {', '.join(sorted(unknown))}. "
                f"The inputs are: {', '.join(i.name for i in infos)}."
            )
        self._check_dims(infos)
        for info in infos:
            self._values[info.name] = self._input(info)
        return [t for i in infos if isinstance(t := self._values[i.name], Tensor)]

    def _check_dims(self, infos: list[ValueInfoProto]) -> None:
        """Reports every dimension without a size at once, and sizes for dimensions not there."""
        named: dict[str, None] = {}
        nameless = []
        for info in infos:
            for dim in info.type.tensor_type.shape.dim:
                if dim.dim_param:
                    named[dim.dim_param] = None
                elif not dim.HasField("dim_value") and info.name not in self._shapes.inputs:
                    nameless.append(info.name)
        unknown = [name for name in self._shapes.dims if name not in named]
        if unknown:
            there = ", ".join(named) or "none"
            raise ImportFailure(
                f"--dim names no dimension of an input: {', '.join(unknown)}. There are: {there}."
            )
        given = {
            d.dim_param
            for info in infos
            if info.name in self._shapes.inputs
            for d in info.type.tensor_type.shape.dim
        }
        missing = [n for n in named if n not in self._shapes.dims and n not in given]
        flags = [f"--dim {name}=N" for name in missing]
        flags += [f"--shape {name}=N,…" for name in dict.fromkeys(nameless)]
        if flags:
            raise ImportFailure(
                f"{self._path} leaves input dimensions open. Set them with {' '.join(flags)}."
            )

    def _input(self, info: ValueInfoProto) -> Tensor:
        if not info.type.HasField("tensor_type"):
            raise ImportFailure(f"Input '{info.name}' is no tensor; only tensors are supported.")
        kind = info.type.tensor_type
        if not kind.HasField("shape") and info.name not in self._shapes.inputs:
            raise ImportFailure(f"Input '{info.name}' has no shape. Give --shape {info.name}=N,…")
        dims = kind.shape.dim
        shape = tuple(self._shapes.dims.get(d.dim_param, int(d.dim_value)) for d in dims)
        given = self._shapes.inputs.get(info.name)
        if given is not None:
            if kind.HasField("shape") and len(given) != len(shape):
                raise ImportFailure(
                    f"--shape {info.name} has {len(given)} dimensions; the input has {len(shape)}."
                )
            shape = given
        if any(d < 0 for d in shape) or len(shape) > 8:
            raise ImportFailure(f"Input '{info.name}' has the impossible shape {list(shape)}.")
        return Tensor(info.name, self._input_dtype(info.name, kind.elem_type), shape)

    def _input_dtype(self, name: str, onnx_type: int) -> DType:
        dtype = dtype_of(onnx_type)
        if dtype is not None:
            return dtype
        if onnx_type == TensorProto.INT64 and self._only_indexes(name):
            return DType.I32
        raise ImportFailure(
            f"Input '{name}' has element type {type_name(onnx_type)}, which Spirloom does not "
            "have and cannot narrow safely. Export the model with a float32 or int32 input."
        )

    def _only_indexes(self, name: str) -> bool:
        """Whether a value is used as Gather's indices only: these fit 32 bits."""
        uses = [
            (node.op_type, i)
            for node in self._model.graph.node
            for i, used in enumerate(node.input)
            if used == name
        ]
        return bool(uses) and all(use == ("Gather", 1) for use in uses)

    def _import_node(self, node: NodeProto) -> None:
        first = len(self._graph.nodes)
        try:
            if node.domain not in reader.DEFAULT_DOMAINS:
                raise Unsupported(f"the operator domain '{node.domain}' is unknown")
            inputs = [self._value(name) for name in node.input]
            results = self._results(node, inputs)
        except (Unsupported, OpError) as problem:
            self._problems.append((node, str(problem)))
            del self._graph.nodes[first:]
            self._values.update({name: self._guess(name) for name in node.output if name})
            return
        except _Unknown:
            if node.op_type not in CONVERTERS and node.op_type not in FOLDERS:
                self._problems.append((node, "there is no converter for it"))
            self._values.update({name: self._guess(name) for name in node.output if name})
            return
        made = {t for n in self._graph.nodes[first:] for t in n.outputs}
        for name, value in zip(node.output, results, strict=False):
            self._values[name] = value
            if isinstance(value, Tensor) and value in made:
                value.name = name

    def _results(self, node: NodeProto, inputs: list[Value | None]) -> list[Value]:
        ctx = NodeContext(node, inputs, self._opset, self._builder, self._lifter)
        arrays = [i for i in inputs if i is not None and not isinstance(i, Tensor)]
        folder = FOLDERS.get(node.op_type)
        if folder and len(arrays) == len([i for i in inputs if i is not None]):
            return _as_list(_fold(ctx, arrays))
        converter = CONVERTERS.get(node.op_type)
        if converter is None:
            raise Unsupported("there is no converter for it")
        return _as_list(converter(ctx))

    def _value(self, name: str) -> Value | None:
        """The value of a name; initializers are unpacked when first used."""
        if not name:
            return None
        if name not in self._values:
            if name not in self._initializers:
                raise Unsupported(f"nothing makes its input '{name}'")
            try:
                array = np.asarray(numpy_helper.to_array(self._initializers[name]))
            except (ValueError, TypeError) as error:
                raise Unsupported(f"the initializer '{name}' is damaged: {error}") from error
            array.flags.writeable = False
            self._values[name] = array
        value = self._values[name]
        if value is None:
            raise _Unknown
        return value

    def _guess(self, name: str) -> Tensor | None:
        """A stand-in for what an unsupported node makes, so that later nodes are checked too."""
        if self._inferred is None:
            self._inferred = _infer_shapes(self._model, self._graph.inputs)
        return self._inferred.get(name)

    def _unsupported_message(self) -> str:
        lines = [
            f"{self._path}: {len(self._problems)} of {len(self._model.graph.node)} nodes "
            "cannot be imported:"
        ]
        for node, reason in self._problems:
            domain = "" if node.domain in reader.DEFAULT_DOMAINS else f"{node.domain}."
            name = node.name or f"the one that makes '{next(iter(node.output), '')}'"
            lines.append(f"  {domain}{node.op_type}, {name}: {reason}")
        return "\n".join(lines)

    def _output(self, info: ValueInfoProto) -> Tensor:
        """The tensor of an output: its own, made by a node, and bearing the output's name."""
        try:
            value = self._value(info.name)
            if value is None:
                raise Unsupported("it has no name")
            tensor = value if isinstance(value, Tensor) else self._builder.constant(narrowed(value))
        except (Unsupported, _Unknown) as error:
            raise ImportFailure(f"Output '{info.name}' cannot be imported: {error}.") from error
        shared = tensor.data is not None or tensor in self._graph.inputs
        if shared or tensor.name != info.name:
            self._builder.name = info.name
            op = "aten._to_copy"
            tensor = self._builder.emit(op, x=tensor, dtype=str(tensor.dtype))
            tensor.name = info.name
        return tensor


class _Unknown(Exception):
    """A value that an unsupported node would have made is needed."""


def _fold(ctx: NodeContext, arrays: list[Array]) -> Value | list[Value]:
    try:
        with np.errstate(all="ignore"):
            result = FOLDERS[ctx.op_type](ctx, arrays)
    except (ValueError, IndexError, TypeError, OverflowError, MemoryError) as error:
        raise Unsupported(f"its constant inputs do not fit: {error}") from error
    if isinstance(result, (np.ndarray, np.generic)):
        return np.asarray(result)
    return [np.asarray(r) for r in result]


def _as_list(result: object) -> list[Value]:
    if isinstance(result, (Tensor, np.ndarray)):
        return [result]
    assert isinstance(result, (list, tuple))
    return list(result)


def _infer_shapes(model: ModelProto, inputs: list[Tensor]) -> dict[str, Tensor]:
    """What ONNX itself can say about the values of a model; nothing, where it fails."""
    closed = ModelProto()
    closed.CopyFrom(model)
    del closed.graph.value_info[:]
    shapes = {tensor.name: tensor.shape for tensor in inputs}
    for info in closed.graph.input:
        for dim, size in zip(
            info.type.tensor_type.shape.dim, shapes.get(info.name, ()), strict=False
        ):
            dim.dim_value = size
    for info in closed.graph.output:
        info.type.tensor_type.ClearField("shape")
    try:
        inferred = onnx.shape_inference.infer_shapes(closed)
    except Exception:
        return {}
    found = {}
    for info in [*inferred.graph.value_info, *inferred.graph.output]:
        kind = info.type.tensor_type
        dtype = dtype_of(kind.elem_type)
        shape = [d.dim_value for d in kind.shape.dim]
        if dtype is not None and kind.HasField("shape") and all(d > 0 for d in shape):
            found[info.name] = Tensor(info.name, dtype, tuple(shape))
    return found
