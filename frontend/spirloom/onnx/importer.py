"""Turns an ONNX model into a graph: walks the nodes once, with every shape known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, ValueInfoProto, numpy_helper

from spirloom import __version__
from spirloom.builder import Builder
from spirloom.errors import ImportFailure, NodeProblem, NodesUnsupported
from spirloom.ir import Array, Graph, Tensor
from spirloom.onnx import fold_more, ops, reader
from spirloom.onnx.context import Lifter, NodeContext
from spirloom.onnx.dtypes import narrowed
from spirloom.onnx.fold import FOLDERS
from spirloom.onnx.guess import Guesses
from spirloom.onnx.inputs import Shapes, fix_inputs, read_inputs
from spirloom.onnx.table import CONVERTERS, Unsupported, Value
from spirloom.ops import OpError, OpLibrary

# These modules fill the tables when they are imported.
assert ops and fold_more

NO_CONVERTER = "there is no converter for it"


def import_model(
    path: Path, library: OpLibrary, shapes: Shapes, fixed: Mapping[str, Array] | None = None
) -> Graph:
    """The graph of an ONNX file, as written, before any pass. Raises ImportFailure.

    Inputs in `fixed` become constants of that value.
    """
    model = reader.read_model(path)
    fix_inputs(model, fixed or {})
    return _Importer(path, model, library, shapes).run()


def supported_ops() -> list[str]:
    """The ONNX operators that can be imported; some only where their inputs are constant."""
    only_folded = sorted(set(FOLDERS) - set(CONVERTERS))
    return sorted(
        [*CONVERTERS, "If (of a constant)", *(f"{op} (of constants)" for op in only_folded)]
    )


class _Unknown(Exception):
    """A value that an unsupported node would have made is needed."""


class _Importer:
    def __init__(self, path: Path, model: ModelProto, library: OpLibrary, shapes: Shapes) -> None:
        self._path = path
        self._model = model
        self._opset = reader.opset_version(model)
        self._graph = Graph(producer=f"spirloom {__version__} from ONNX opset {self._opset}")
        self._graph.inputs = read_inputs(model.graph, path, shapes)
        self._builder = Builder(library, self._graph)
        self._lifter = Lifter()
        self._guesses = Guesses(model, self._graph.inputs)
        self._initializers = {t.name: t for t in model.graph.initializer}
        # None stands for a value that an unsupported node would have made.
        self._values: dict[str, Value | None] = {t.name: t for t in self._graph.inputs}
        self._problems: list[tuple[NodeProto, str]] = []
        self._used = frozenset(_used_names(model.graph))
        self._count = 0

    def run(self) -> Graph:
        if self._model.graph.sparse_initializer:
            raise ImportFailure(f"{self._path} holds sparse initializers, which are not supported.")
        self._import_nodes(self._model.graph.node)
        if self._problems:
            raise self._unsupported()
        self._graph.outputs = [self._output(info) for info in self._model.graph.output]
        return self._graph

    def _import_nodes(self, nodes: Iterable[NodeProto]) -> None:
        for node in nodes:
            self._builder.name = node.name or f"{node.op_type}_{self._count}"
            self._count += 1
            self._import_node(node)

    def _import_node(self, node: NodeProto) -> None:
        first = len(self._graph.nodes)
        problem = ""
        try:
            if node.domain not in reader.DEFAULT_DOMAINS:
                raise Unsupported(f"the operator domain '{node.domain}' is unknown")
            results = self._results(node, [self._value(name) for name in node.input])
        except (Unsupported, OpError) as error:
            problem = str(error)
        except MemoryError:
            problem = "it needs more memory than there is"
        except _Unknown:
            known = node.op_type in CONVERTERS or node.op_type in FOLDERS
            problem = "" if known else NO_CONVERTER
        else:
            made = {t for n in self._graph.nodes[first:] for t in n.outputs}
            for name, value in zip(node.output, results, strict=False):
                self._values[name] = value
                if isinstance(value, Tensor) and value in made:
                    value.name = name
            return
        if problem:
            self._problems.append((node, problem))
        del self._graph.nodes[first:]
        self._values.update({name: None for name in node.output if name})

    def _results(self, node: NodeProto, inputs: list[Value | None]) -> list[Value]:
        ctx = NodeContext(node, inputs, self._opset, self._builder, self._lifter, self._used)
        if node.op_type == "If":
            return self._branch(ctx)
        arrays = [i for i in inputs if i is not None and not isinstance(i, Tensor)]
        if node.op_type in FOLDERS and not any(isinstance(i, Tensor) for i in inputs):
            return _fold(ctx, arrays)
        if node.op_type not in CONVERTERS:
            raise Unsupported(NO_CONVERTER)
        result = CONVERTERS[node.op_type](ctx)
        return [result] if isinstance(result, Tensor | np.ndarray) else list(result)

    def _branch(self, ctx: NodeContext) -> list[Value]:
        """The results of an If whose condition is known: its branch becomes part of the graph."""
        condition = ctx.constant(0)
        taken = condition is not None and bool(condition.all())
        branch = ctx.attribute("then_branch" if taken else "else_branch")
        if branch.type != AttributeProto.GRAPH:
            raise Unsupported("its branch is no graph")
        self._initializers.update({t.name: t for t in branch.g.initializer})
        self._import_nodes(branch.g.node)
        values = [self._value(info.name) for info in branch.g.output]
        return [value for value in values if value is not None]

    def _value(self, name: str) -> Value | None:
        """The value of a name; initializers are unpacked when first used."""
        if not name:
            return None
        if name not in self._values:
            if name not in self._initializers:
                raise Unsupported(f"nothing makes its input '{name}'")
            try:
                array = np.asarray(numpy_helper.to_array(self._initializers[name]))
            except (ValueError, TypeError, KeyError) as error:
                raise Unsupported(f"the initializer '{name}' is damaged: {error}") from error
            array.flags.writeable = False
            self._values[name] = array
        if self._values[name] is None:
            self._values[name] = self._guesses.get(name)
        value = self._values[name]
        if value is None:
            raise _Unknown
        return value

    def _unsupported(self) -> NodesUnsupported:
        problems = tuple(_problem(node, reason) for node, reason in self._problems)
        first = f"{self._path}: {len(problems)} of {self._count} nodes cannot be imported:"
        return NodesUnsupported("\n  ".join([first, *map(str, problems)]), problems)

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
            tensor = self._builder.emit("aten._to_copy", x=tensor, dtype=str(tensor.dtype))
            tensor.name = info.name
        return tensor


def _problem(node: NodeProto, reason: str) -> NodeProblem:
    domain = "" if node.domain in reader.DEFAULT_DOMAINS else f"{node.domain}."
    name = node.name or f"the one that makes '{next(iter(node.output), '')}'"
    return NodeProblem(f"{domain}{node.op_type}", name, reason)


def _used_names(graph: GraphProto) -> Iterator[str]:
    """What nodes read, in subgraphs too, and what graphs give."""
    yield from (info.name for info in graph.output)
    for node in graph.node:
        yield from (name for name in node.input if name)
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                yield from _used_names(attribute.g)


def _fold(ctx: NodeContext, arrays: list[Array]) -> list[Value]:
    try:
        with np.errstate(all="ignore"):
            result = FOLDERS[ctx.op_type](ctx, arrays)
    except (ValueError, IndexError, TypeError, OverflowError, MemoryError) as error:
        raise Unsupported(f"its constant inputs do not fit: {error}") from error
    if isinstance(result, np.ndarray | np.generic):
        return [np.asarray(result)]
    return [np.asarray(r) for r in result]
