"""Compares every node of a model on a device with an oracle, and finds the first wrong one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from spec_model.stored_float import encoded, float_format
from spirloom.debug.device_values import Chunk, DeviceOptions, Values, chunks_of
from spirloom.debug.metrics import Measured, default_tolerance, measure, wide
from spirloom.debug.oracles import (
    Evaluate,
    Oracle,
    onnxruntime_values,
    torch_values,
    transformers_values,
)
from spirloom.errors import ImportFailure
from spirloom.ir import ArgValue, Array, DType, Graph, Node, Tensor
from spirloom.op_library import OpError, OpLibrary
from spirloom.terminal import Report, silent

if TYPE_CHECKING:
    from spirloom.runtime import Runtime


@dataclass(frozen=True, slots=True)
class Row:
    """One tensor that a node computes. `measured` None: nothing to compare it with, see `note`."""

    index: int  # of the node
    node: Node
    tensor: Tensor
    kernels: tuple[str, ...]  # variants; empty for a view
    source: str  # the line of the source model, if known
    is_output: bool
    measured: Measured | None
    note: str = ""

    @property
    def is_wrong(self) -> bool:
        """Whether the error exceeds the tolerance."""
        return self.measured is not None and self.measured.wrong


@dataclass(frozen=True, slots=True)
class Cause:
    """The first kernel, of those between the last correct value and the first wrong one, whose
    result differs from the reference of its operator for the operands on the device. `node` None:
    all agree, so that the import or a pass is wrong.
    """

    node: Node | None
    kernels: tuple[str, ...] = ()
    measured: Measured | None = None
    unchecked: tuple[Node, ...] = ()  # nodes whose reference is not implemented


@dataclass(frozen=True, slots=True)
class ModelComparison:
    """The tensors in the order of execution."""

    oracle: Oracle
    rows: Sequence[Row]
    unmatched: Sequence[str]  # values of the source model that no tensor has
    cause: Cause | None  # of the first wrong row

    @property
    def first_wrong(self) -> Row | None:
        """The first tensor above its tolerance."""
        return next((row for row in self.rows if row.is_wrong), None)


class Comparer:
    """Runs a graph of fixed sizes, with given inputs, and compares its tensors with an oracle.

    `tolerance`: the allowed relative error. None: by dtype, see metrics.py.
    """

    def __init__(
        self,
        graph: Graph,
        inputs: Mapping[str, Array],
        library: OpLibrary,
        options: DeviceOptions,
        tolerance: float | None = None,
        report: Report = silent,
    ) -> None:
        self.graph = graph
        self.inputs = inputs
        self._library = library
        self._options = options
        self._tolerance = tolerance
        self._report = report

    def compare(self, oracle: Oracle, source: Path, layers: bool = True) -> ModelComparison:
        """Compares all tensors, or only the outputs. `source` is the model that `graph` was
        imported from. Raises ImportFailure if the oracle does not read its format.
        """
        unmatched: list[str] = []
        with self._options.runtime() as runtime:
            match oracle:
                case Oracle.REFERENCE:
                    rows = self._with_references(runtime, layers)
                case Oracle.CPU_KERNELS:
                    rows = self._with_portable_kernels(runtime, layers)
                case _:
                    rows, unmatched = self._with_source(runtime, oracle, source, layers)
            first = next((row for row in rows if row.is_wrong), None)
            cause = None
            if first is not None and not oracle.is_exact:
                cause = self._cause(runtime, rows, first)
        return ModelComparison(oracle, rows, unmatched, cause)

    def values_of(self, nodes: Sequence[Node]) -> Values:
        """The values that some nodes, in graph order, read and write on the device."""
        values: Values = {}
        with self._options.runtime() as runtime:
            for chunk in chunks_of(runtime, self.graph, self.inputs, self._options, nodes):
                values |= chunk.values
        return values

    def expected(self, node: Node, values: Values) -> list[Array]:
        """The results of the operator's reference for operands of the device, rounded to the
        dtypes of the results. Raises OpError if there is none.
        """
        # Trailing absent tensors may be omitted.
        names = self._library.arg_names(node.op)[: len(node.args)]
        args = {n: _values_of(arg, values) for n, arg in zip(names, node.args, strict=True)}
        found = self._library.compute(node.op, args)
        return [_rounded(y, t.dtype) for y, t in zip(found, node.outputs, strict=True)]

    def source_value(self, oracle: Oracle, source: Path, tensor: Tensor) -> Array | None:
        """The value of the source model with the name and shape of a tensor, in its dtype."""
        names, evaluate = source_values(oracle, source, self.inputs)
        if tensor.name not in names:
            return None
        found = _in_shape(evaluate({tensor.name}).get(tensor.name), tensor)
        return None if found is None else _rounded(found, tensor.dtype)

    def _nodes(self, layers: bool) -> list[Node] | None:
        if layers:
            return None
        outputs = set(self.graph.outputs)
        return [n for n in self.graph.nodes if not outputs.isdisjoint(n.outputs)]

    def _chunks(self, runtime: Runtime, layers: bool, operands: bool = False) -> Iterator[Chunk]:
        nodes = self._nodes(layers)
        total, done = len(nodes if nodes is not None else self.graph.nodes), 0
        self._report(f"running {total} nodes")
        every = chunks_of(runtime, self.graph, self.inputs, self._options, nodes, operands)
        for chunk in every:
            yield chunk
            done += len(chunk.nodes)
            self._report(f"compared {done} of {total} nodes")

    def _with_references(self, runtime: Runtime, layers: bool) -> list[Row]:
        rows: list[Row] = []
        for chunk in self._chunks(runtime, layers, operands=True):
            for node in chunk.nodes:
                try:
                    found: list[Array] | None = self.expected(node, chunk.values)
                    note = ""
                except OpError as error:
                    found, note = None, str(error)
                for i, tensor in enumerate(node.outputs):
                    expected = None if found is None else found[i]
                    rows.append(
                        self._row(chunk, node, tensor, expected, False, note, self._tolerance)
                    )
        return rows

    def _with_portable_kernels(self, runtime: Runtime, layers: bool) -> list[Row]:
        ops = {node.op for node in self.graph.nodes}
        kernels = tuple(dict.fromkeys(self._library.kernel_names(op)[-1] for op in sorted(ops)))
        device = _cpu_device()
        portable = replace(self._options, device=device, kernels=kernels, overrides=())
        rows: list[Row] = []
        with portable.runtime() as cpu:
            for chunk in self._chunks(runtime, layers):
                nodes = list(chunk.nodes)
                twins = chunks_of(cpu, self.graph, self.inputs, portable, nodes, operands=False)
                values = {t: v for twin in twins for t, v in twin.values.items()}
                for node in nodes:
                    rows += [
                        self._row(chunk, node, t, values[t], True, "", self._tolerance)
                        for t in node.outputs
                    ]
        return rows

    def _with_source(
        self, runtime: Runtime, oracle: Oracle, source: Path, layers: bool
    ) -> tuple[list[Row], list[str]]:
        names, evaluate = source_values(oracle, source, self.inputs)
        known = set(names)
        found: set[str] = set()
        rows: list[Row] = []
        for chunk in self._chunks(runtime, layers):
            made = [(node, tensor) for node in chunk.nodes for tensor in node.outputs]
            expected = evaluate({t.name for _, t in made if t.name in known})
            for node, tensor in made:
                value = _in_shape(expected.get(tensor.name), tensor)
                note = "" if value is not None else _why_unmatched(expected, tensor)
                rows.append(self._row(chunk, node, tensor, value, True, note, self._tolerance))
                found |= {tensor.name} if value is not None else set()
        rows = _without_other_forms(rows)
        return rows, [name for name in names if name not in found]

    def _row(
        self,
        chunk: Chunk,
        node: Node,
        tensor: Tensor,
        expected: Array | None,
        accumulated: bool,
        note: str = "",
        tolerance: float | None = None,
    ) -> Row:
        measured = None
        if expected is not None:
            if tolerance is None:
                tolerance = self._default_tolerance(node, tensor.dtype, accumulated)
            found = chunk.values[tensor]
            measured = measure(found, expected, tolerance, accumulated)
            is_moved = accumulated and tensor not in self.graph.outputs
            if measured.wrong and is_moved and _same_elements(found, expected):
                measured, note = None, "the elements of the source value in another order"
        return Row(
            self.graph.nodes.index(node),
            node,
            tensor,
            chunk.kernels_of(node),
            self.graph.source_of(node),
            tensor in self.graph.outputs,
            measured,
            note,
        )

    def _default_tolerance(self, node: Node, dtype: DType, accumulated: bool) -> float:
        if accumulated and dtype is DType.F32 and self._rounds:
            dtype = DType.F16  # a result of rounded operands
        own = self._library.tolerance(node.op, dtype) if self._library.has(node.op) else 0.0
        return max(default_tolerance(dtype, accumulated), own)

    @property
    def _rounds(self) -> bool:
        narrow = (DType.F16, DType.BF16, DType.I8)
        return any(tensor.dtype in narrow for tensor in self.graph.tensors())

    def _cause(self, runtime: Runtime, rows: Sequence[Row], first: Row) -> Cause:
        nodes = self.suspects(rows, first)
        unchecked = []
        for chunk in chunks_of(runtime, self.graph, self.inputs, self._options, nodes):
            for node in chunk.nodes:
                try:
                    expected = self.expected(node, chunk.values)
                except OpError:
                    unchecked.append(node)
                    continue
                for value, tensor in zip(expected, node.outputs, strict=True):
                    row = self._row(chunk, node, tensor, value, False)
                    if row.is_wrong:
                        return Cause(node, row.kernels, row.measured, tuple(unchecked))
        return Cause(None, unchecked=tuple(unchecked))

    def suspects(self, rows: Sequence[Row], first: Row) -> list[Node]:
        """The node of the first wrong row, and the nodes before it up to correct values."""
        correct = {row.tensor for row in rows if row.measured is not None and not row.is_wrong}
        producers = self.graph.producers()
        found: set[Node] = set()
        pending = [first.node]
        while pending:
            node = pending.pop()
            if node in found:
                continue
            found.add(node)
            pending += [producers[t] for t in node.inputs() if t in producers and t not in correct]
        return [node for node in self.graph.nodes if node in found]


def source_values(
    oracle: Oracle, source: Path, inputs: Mapping[str, Array]
) -> tuple[list[str], Evaluate]:
    """The names of the source model's values, and their evaluation. Raises ImportFailure if the
    oracle does not read the format.
    """
    from spirloom.torch.archive import is_archive

    is_torch = source.is_file() and is_archive(source)
    if oracle is Oracle.TORCH and is_torch:
        return torch_values(source, inputs)
    if oracle is Oracle.TORCH and source.is_dir():
        return transformers_values(source, inputs)
    if oracle is Oracle.ONNXRUNTIME and source.suffix == ".onnx":
        return onnxruntime_values(source, inputs)
    torch = "archives of torch.export.save (.pt2) and Hugging Face directories"
    formats = {Oracle.TORCH: torch, Oracle.ONNXRUNTIME: ".onnx"}
    raise ImportFailure(
        f"--with {oracle} is for {formats[oracle]}, not for {source}. --with reference and --with "
        "cpu-kernels are for all formats."
    )


def default_oracle(source: Path) -> Oracle:
    """The implementation of the source model's framework; otherwise the references."""
    from spirloom.torch.archive import is_archive

    if source.suffix == ".onnx":
        return Oracle.ONNXRUNTIME
    return Oracle.TORCH if source.is_file() and is_archive(source) else Oracle.REFERENCE


def _values_of(arg: ArgValue, values: Mapping[Tensor, Array]) -> object:
    if isinstance(arg, Tensor):
        found = values.get(arg)
        return arg.data if found is None else found
    if isinstance(arg, tuple):
        return tuple(_values_of(a, values) if isinstance(a, Tensor) else a for a in arg)
    return arg


def _rounded(values: Array, dtype: DType) -> Array:
    if float_format(dtype) is not None:
        return encoded(values, dtype)
    with np.errstate(all="ignore"):
        return np.asarray(values).astype(dtype.numpy)


def _in_shape(expected: Array | None, tensor: Tensor) -> Array | None:
    """The value of the source model, if a tensor has its shape."""
    return expected if expected is not None and expected.shape == tensor.shape else None


def _why_unmatched(expected: Mapping[str, Array], tensor: Tensor) -> str:
    if tensor.name not in expected:
        return "no value of this name in the source model"
    return f"the source value has the shape {list(expected[tensor.name].shape)}"


def _same_elements(found: Array, expected: Array) -> bool:
    """Whether two arrays have the same elements, up to rounding, in another order: a pass moved a
    permutation.
    """
    x, y = np.sort(wide(found).ravel()), np.sort(wide(expected).ravel())
    scale = float(np.abs(y[np.isfinite(y)]).max(initial=0.0))
    return bool(scale) and np.allclose(x, y, rtol=1e-3, atol=1e-3 * scale, equal_nan=True)


def _without_other_forms(rows: Sequence[Row]) -> list[Row]:
    """Passes give one name to all forms of a value, such as a permuted one. If several tensors have
    the name and shape of one value of the source model, and one of them is correct, the others are
    not judged, except for outputs.
    """
    correct = {row.tensor.name for row in rows if row.measured is not None and not row.is_wrong}
    return [
        replace(row, measured=None, note="another form of a compared value")
        if row.is_wrong and not row.is_output and row.tensor.name in correct
        else row
        for row in rows
    ]


def _cpu_device() -> str:
    from spirloom.runtime import devices

    for i, device in enumerate(devices()):
        if device.type == "cpu" and device.usable:
            return device.uuid or str(i)
    raise ImportFailure(
        "--with cpu-kernels requires a Vulkan device on the CPU, such as Mesa's llvmpipe "
        "(apt-get install mesa-vulkan-drivers)."
    )
