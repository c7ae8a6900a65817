"""Converts an ONNX model to a graph in one pass over the nodes, with all shapes known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto

from spec_model.symbolic import note
from spirloom import __version__
from spirloom.builder import DEFAULT_EXTRA, Budget, Builder
from spirloom.data_sizes import DataSizes
from spirloom.errors import ImportFailure, NodeProblem, NodesUnsupported, Unsupported
from spirloom.ir import Array, DType, Graph, IntInput, Tensor
from spirloom.narrowing import Narrowing
from spirloom.onnx import reader, registry, size_folding, values
from spirloom.onnx.constant_folding import register_evaluators
from spirloom.onnx.constant_folding.registry import EVALUATORS, NotFolded, fold
from spirloom.onnx.constant_inputs import set_constant_inputs, single_values
from spirloom.onnx.context import NodeContext
from spirloom.onnx.control_flow import CONTROL
from spirloom.onnx.dtypes import numpy_type, to_float32
from spirloom.onnx.external_data import external_bytes
from spirloom.onnx.functions import Functions, own_copy, used_names
from spirloom.onnx.inputs import Shapes, int_inputs, read_inputs
from spirloom.onnx.narrowing import follow
from spirloom.onnx.open_dims import name_open_dims
from spirloom.onnx.ops import register_converters
from spirloom.onnx.opset_upgrade import check_arity, modern_inputs
from spirloom.onnx.registry import CONVERTERS, Converter, converter_name, converter_of
from spirloom.onnx.size_arrays import Known, KnownLifter, LeadingPart, SizeArray, size_array
from spirloom.onnx.stated_shapes import StatedShapes
from spirloom.onnx.unread_attributes import refuse_unread
from spirloom.onnx.values import UnknownValue, ValueOrList, Values
from spirloom.op_library import OpError, OpLibrary
from spirloom.sizes import SymInt
from spirloom.terminal import Report, silent
from spirloom.value_bounds import ValueRange, narrowed

register_converters()
register_evaluators()

Results = Sequence[ValueOrList | None]

# Limits for hostile models, whose functions may call each other.
MAX_DEPTH = 32
MAX_NODES = 1 << 20


def import_model(
    path: Path,
    library: OpLibrary,
    shapes: Shapes,
    fixed: Mapping[str, Array] | None = None,
    float64_as_float32: bool = False,
    constants_limit: int = DEFAULT_EXTRA,
    report: Report = silent,
) -> Graph:
    """The graph of an ONNX file before any pass. Raises ImportFailure.

    fixed               values of inputs that become constants
    float64_as_float32  accept rounding. Otherwise float64 is an error, except where float32 is
                        exact
    constants_limit     bytes for constants computed at import, in addition to TIMES_THE_MODEL
                        times the size of the model
    report              receives the progress
    """
    model, shapes = read(path, shapes, fixed, float64_as_float32)
    return Importer(path, model, library, shapes, constants_limit, report).run()


def read(
    path: Path,
    shapes: Shapes,
    fixed: Mapping[str, Array] | None = None,
    float64_as_float32: bool = False,
) -> tuple[ModelProto, Shapes]:
    """An ONNX file, checked, with the options for inputs and float64, and the options that remain.
    Raises ImportFailure.
    """
    model = reader.read_model(path)
    name_open_dims(model.graph)
    single, shapes = single_values(model.graph, shapes)
    set_constant_inputs(model, {**single, **(fixed or {})})
    if float64_as_float32:
        to_float32(model)
    return model, shapes


def supported_ops(library: OpLibrary) -> list[str]:
    """The supported ONNX operators, with restrictions in parentheses."""
    converted = {*CONVERTERS, *library.onnx}
    folded = (f"{op} (constant inputs)" for op in set(EVALUATORS) - converted)
    return sorted([*converted, *folded, *(f"{op} (constant conditions)" for op in CONTROL)])


class Importer:
    """One import of a model. `path` is for messages."""

    # Whether sizes may depend on the data: outputs then have their maximum size.
    has_data_sizes = True

    def __init__(
        self,
        path: Path,
        model: ModelProto,
        library: OpLibrary,
        shapes: Shapes,
        constants_limit: int = DEFAULT_EXTRA,
        report: Report = silent,
    ) -> None:
        self._report = report
        self._path = path
        self._model = model
        self._opset = reader.opset_version(model)
        self._graph = Graph(producer=f"spirloom {__version__} from ONNX opset {self._opset}")
        inputs = self._read_inputs(shapes)
        self._graph.inputs = [tensor for tensor, _ in inputs]
        self._budget = Budget(model.ByteSize() + external_bytes(model), constants_limit)
        self._builder = Builder(library, self._graph, self._budget)
        self._narrowing = Narrowing(
            library, assume_int32=shapes.assume_int32, makers=self._builder.makers
        )
        for tensor, values_of_input in inputs:
            self._narrowing.declare(tensor, values_of_input)
        self._lifter = KnownLifter()
        self._data_sizes = DataSizes(library)
        self._values = Values(model, self._graph.inputs, self._budget)
        self._declare_ints(shapes)
        self._stated: StatedShapes | None = None
        if not shapes.ignore_stated:
            self._stated = StatedShapes(model, self._graph.inputs, self._values.inference)
        self.problems: list[tuple[NodeProto, str]] = []
        self._functions = Functions(model, self._opset)
        self._used = used_names(model.graph.node) | {info.name for info in model.graph.output}
        self._count = 0
        self._depth = 0

    def run(self) -> Graph:
        """The graph before any pass. Raises ImportFailure and lists nodes in `problems`."""
        self._declare_bfloat16()
        self._import_nodes(self._model.graph.node)
        if self.problems:
            raise self._unsupported()
        self._graph.outputs = [self._output(info) for info in self._model.graph.output]
        names = [output.name for output in self._graph.outputs]
        self._data_sizes.add_outputs(self._graph, {name: self._values[name] for name in names})
        return self._graph

    def _declare_bfloat16(self) -> None:
        """Inputs of BFLOAT16 have this type; nodes read their values in float32."""
        types = {info.name: info.type.tensor_type.elem_type for info in self._model.graph.input}
        for i, tensor in enumerate(self._graph.inputs):
            if types.get(tensor.name) == TensorProto.BFLOAT16:
                outer = Tensor(tensor.name, DType.BF16, tensor.shape)
                self._graph.inputs[i] = outer
                self._builder.name = tensor.name
                self._values[tensor.name] = self._builder.cast(outer, DType.F32)
        weights = self._model.graph.initializer
        self._graph.bfloat16 = any(w.data_type == TensorProto.BFLOAT16 for w in weights)

    def _declare_ints(self, shapes: Shapes) -> None:
        """Integer inputs are known except for their symbol."""
        types = {info.name: info.type.tensor_type for info in self._model.graph.input}
        for name, position in int_inputs(self._model.graph, shapes).items():
            kind, value = types[name], shapes.dims[name]
            dtype = numpy_type(kind.elem_type)
            self._values[name] = size_array([value], [1] * len(kind.shape.dim), dtype)
            if isinstance(value, SymInt):
                symbol = str(value)
                self._graph.int_inputs.append(IntInput(name, symbol, position))

    def _read_inputs(self, shapes: Shapes) -> list[tuple[Tensor, ValueRange]]:
        return read_inputs(self._model.graph, self._path, shapes)

    def _import_nodes(self, nodes: Iterable[NodeProto]) -> None:
        for node in nodes:
            self._builder.name = node.name or f"{node.op_type}_{self._count}"
            note(f"node '{self._builder.name}' ({node.op_type})")
            self._count += 1
            self._report(f"node {self._count} of {max(self._count, len(self._model.graph.node))}")
            if self._count > MAX_NODES:
                raise ImportFailure(
                    f"{self._path} has more than {MAX_NODES} nodes after inlining and unrolling."
                )
            self._import_node(node)

    def _import_node(self, node: NodeProto) -> None:
        first = len(self._graph.nodes)
        problem = ""
        try:
            results = self._results(node, self._values.of(node.input))
            self._hold(results)
            self._check_shapes(node, results)
        except (Unsupported, OpError) as error:
            problem = str(error)
        except MemoryError:
            problem = "it requires more memory than is available"
        except UnknownValue:
            problem = "" if self._has_converter(node) else registry.reason(node)
        else:
            made = {t for n in self._graph.nodes[first:] for t in n.outputs}
            for name, value in zip(node.output, results, strict=False):
                self._values[name] = value
                if isinstance(value, Tensor) and value in made:
                    value.name = name
            return
        if problem:
            self.problems.append((node, problem))
        del self._graph.nodes[first:]
        for name in filter(None, node.output):
            self._values[name] = None

    def _check_shapes(self, node: NodeProto, results: Iterable[ValueOrList | None]) -> None:
        for name, value in zip(node.output, results, strict=False):
            if self._stated is None or value is None or isinstance(value, tuple):
                continue
            if self._data_sizes.of(value) is None:  # else the model states the size of one run
                self._stated.check(name, value.shape)

    def _hold(self, results: Iterable[ValueOrList | None]) -> None:
        for result in results:
            if isinstance(result, tuple):
                self._hold(result)
            elif isinstance(result, np.ndarray):
                self._budget.hold(result)

    def _has_converter(self, node: NodeProto) -> bool:
        name = converter_name(node)
        known = self._converter(node) is not None or name in EVALUATORS or name in CONTROL
        has_spec = self._builder.library.has(f"{node.domain}.{node.op_type}")
        return known or has_spec or self._functions.defines(node)

    def _results(self, node: NodeProto, given: list[ValueOrList | None]) -> Results:
        if not node.output:
            raise Unsupported("it has no outputs")
        ours = node.domain in reader.DEFAULT_DOMAINS
        if ours:
            check_arity(node, self._opset)
        if ours and values.handles(node.op_type, given):
            tensors = [None if isinstance(value, tuple) else value for value in given]
            ctx = self._context(node, tensors)
            self._data_sizes.refuse(ctx.named_inputs())
            return self._read_completely(ctx, [values.result(ctx, given)])
        inputs = values.only_values(given)
        if not ours:
            return self._foreign(node, inputs)
        inputs = modern_inputs(node, self._opset, inputs, self._builder)
        ctx = self._context(node, inputs)
        if node.op_type in CONTROL:
            self._data_sizes.refuse(ctx.named_inputs())
            return self._read_completely(ctx, CONTROL[node.op_type](ctx, self._run))
        if any(isinstance(i, SizeArray | LeadingPart) for i in inputs):
            first = len(self._graph.nodes)
            found = size_folding.fold(ctx, inputs)
            if found is not None:
                return self._read_completely(ctx, self._followed(ctx, found, first))
            return self._converted_or_called(ctx)
        arrays = [i for i in inputs if isinstance(i, np.ndarray)]
        if node.op_type in EVALUATORS and not any(isinstance(i, Tensor) for i in inputs):
            try:
                return self._read_completely(ctx, fold(ctx, arrays))
            except NotFolded:
                return self._converted(ctx)
        return self._converted_or_called(ctx)

    def _converted_or_called(self, ctx: NodeContext) -> Results:
        if self._converter(ctx.node) is None:
            return self._call(ctx.node, ctx.inputs)
        return self._converted(ctx)

    def _converter(self, node: NodeProto) -> Converter | None:
        return converter_of(converter_name(node), self._builder.library)

    def _converted(self, ctx: NodeContext) -> Results:
        converter = self._converter(ctx.node)
        assert converter is not None
        first = len(self._graph.nodes)
        result = converter(ctx)
        if isinstance(result, Tensor | np.ndarray | SizeArray | LeadingPart):
            result = [result]
        results = list(result)
        self._read_completely(ctx, results)
        followed = self._followed(ctx, results, first)
        calls = self._graph.nodes[first:]  # with those that give results another type
        self._data_sizes.follow(ctx.named_inputs(), followed, calls)
        return [*followed]

    def _followed(self, ctx: NodeContext, results: Sequence[Known], first: int) -> list[Known]:
        """The results, whose value ranges follow from the calls after the `first` ones."""
        return follow(self._narrowing, ctx, results, self._graph.nodes[first:])

    def _read_completely(self, ctx: NodeContext, results: Results) -> Results:
        """The results. Raises Unsupported if an attribute with an effect was not read."""
        refuse_unread(ctx.node, self._opset, ctx.read)
        return results

    def _foreign(self, node: NodeProto, inputs: Sequence[Known | None]) -> Results:
        """The results of an operator of another domain: a function of the model, otherwise an
        operator spec of this name, otherwise a converter.
        """
        op = f"{node.domain}.{node.op_type}"
        has_spec = self._builder.library.has(op)
        if self._functions.defines(node) or not (has_spec or self._converter(node)):
            return self._call(node, inputs)
        ctx = self._context(node, inputs)
        if not has_spec:
            return self._converted(ctx)
        self._data_sizes.refuse(ctx.named_inputs())
        names = self._builder.library.arg_names(op)
        if len(inputs) > len(names):
            raise Unsupported(f"it has {len(inputs)} inputs; {op} accepts {', '.join(names)}")
        given = {name: ctx.optional_tensor(i) for i, name in enumerate(names[: len(inputs)])}
        return [*self._builder.emit_all(op, **given, **ctx.plain_attributes())]

    def _context(self, node: NodeProto, inputs: Sequence[Known | None]) -> NodeContext:
        sizes = self._data_sizes if self.has_data_sizes else None
        return NodeContext(
            node, inputs, self._opset, self._builder, self._lifter, self._used, sizes
        )

    def _call(self, node: NodeProto, inputs: Sequence[Known | None]) -> list[ValueOrList | None]:
        """The results of a function, which is inlined."""
        body = self._functions.body(node, inputs)
        if body is None:
            constant = converter_name(node) in EVALUATORS
            raise Unsupported("its inputs must be constants" if constant else registry.reason(node))
        if self._depth == MAX_DEPTH:
            raise Unsupported(f"its function calls are nested more than {MAX_DEPTH} deep")
        self._used |= used_names(body.nodes) | set(body.outputs)
        caller = self._opset
        self._opset, self._depth = body.opset, self._depth + 1
        self._import_nodes(body.nodes)
        self._opset, self._depth = caller, self._depth - 1
        return self._values.of(body.outputs)

    def _run(self, graph: GraphProto, prefix: str, inputs: Sequence[Known]) -> list[Known]:
        """The results of a subgraph, which is inlined."""
        body = own_copy(graph, prefix)
        if len(body.input) != len(inputs):
            raise Unsupported(f"its subgraph has {len(body.input)} inputs; expected {len(inputs)}")
        self._values.declare(body.initializer)
        for info, value in zip(body.input, inputs, strict=True):
            self._values[info.name] = value
        self._used |= used_names(body.node) | {info.name for info in body.output}
        self._import_nodes(body.node)
        results = values.only_values(self._values.of(info.name for info in body.output))
        return [value for value in results if value is not None]

    def _unsupported(self) -> NodesUnsupported:
        problems = tuple(_problem(node, reason) for node, reason in self.problems)
        first = f"{self._path}: {len(problems)} of {self._count} nodes cannot be imported:"
        return NodesUnsupported(first, problems, _ON_THE_HOST)

    def _output(self, info: ValueInfoProto) -> Tensor:
        """The tensor of an output: computed by a node, not shared, with the name of the output."""
        try:
            value = self._values[info.name]
            if value is None:
                raise Unsupported("it has no name")
            if isinstance(value, tuple):
                raise Unsupported("it is a sequence; only tensors are supported")
            tensor = self._output_tensor(value, info.name)
        except (Unsupported, OpError, UnknownValue) as error:
            raise ImportFailure(f"Output '{info.name}' cannot be imported: {error}.") from error
        is_bfloat16 = info.type.tensor_type.elem_type == TensorProto.BFLOAT16
        shared = tensor.data is not None or tensor in self._graph.inputs
        if shared or is_bfloat16 or tensor.name != info.name:
            self._builder.name = info.name
            dtype = DType.BF16 if is_bfloat16 else tensor.dtype
            tensor = self._builder.emit("aten._to_copy", x=tensor, dtype=str(dtype))
            tensor.name = info.name
        return tensor

    def _output_tensor(self, value: Known, name: str) -> Tensor:
        if isinstance(value, SizeArray | LeadingPart):
            self._builder.name = name
            return self._lifter.lift(self._builder, value, name)
        return value if isinstance(value, Tensor) else self._builder.constant(narrowed(value))


_ON_THE_HOST = (
    "spirloom.onnx.load (Python) runs such nodes on the host and the others on the device; "
    "spirloom partition reports which."
)


def _problem(node: NodeProto, reason: str) -> NodeProblem:
    domain = "" if node.domain in reader.DEFAULT_DOMAINS else f"{node.domain}."
    name = node.name or f"the producer of '{next(iter(node.output), '')}'"
    return NodeProblem(f"{domain}{node.op_type}", name, reason)
