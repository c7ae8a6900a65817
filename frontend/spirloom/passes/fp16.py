"""Converts a graph to float16. Inputs, outputs and states keep their dtypes."""

from __future__ import annotations

import logging
from collections.abc import Collection

import numpy as np

from spirloom.errors import ImportFailure
from spirloom.ir import ArgValue, Array, DType, Graph, Node, Tensor, constant
from spirloom.layers.quantization import DEQUANTIZE
from spirloom.mapped_file import release_pages
from spirloom.op_library import OpError, OpLibrary
from spirloom.passes.float32_regions import float32_regions, matches
from spirloom.passes.fp16_rules import SATURATED, Reason, clamped_number
from spirloom.passes.rewrite import COPY
from spirloom.terminal import shown

LOGGER = logging.getLogger("spirloom")
_MAX_NAMES = 3
CLAMP = "aten.clamp"
NO_KERNEL = "there is no fp16 kernel"


def to_fp16(graph: Graph, library: OpLibrary, keep: Collection[str] = ()) -> None:
    """Stores float32 tensors as float16, except in the regions of float32_regions(). An operator
    without a float16 kernel stays float32.

    `graph.float32` receives the nodes that stay float32, with reasons. `keep`: name patterns of
    nodes that stay float32.
    """
    _Fp16Converter(graph, library, keep).run()


def float32_patterns(keep: Collection[str], fp16: bool) -> tuple[str, ...]:
    """The patterns of a `keep_float32` option. Raises ImportFailure."""
    if isinstance(keep, str):
        raise ImportFailure(f"keep_float32 must be a list of patterns, not the text '{keep}'.")
    if keep and not fp16:
        raise ImportFailure("keep_float32 requires fp16=True.")
    return tuple(keep)


def float32_lines(graph: Graph, keep: Collection[str] = ()) -> list[str]:
    """Describes the nodes that stayed float32: a line per reason, with the first names. Also lists
    the patterns of `keep` that match no node.
    """
    lines = []
    by_reason: dict[str, list[str]] = {}
    for name, reason in graph.float32.items():
        by_reason.setdefault(reason, []).append(name)
    if by_reason:
        lines.append(f"float32: {len(graph.float32)} of {len(graph.nodes)} nodes")
    for reason, names in by_reason.items():
        more = ", …" if len(names) > _MAX_NAMES else ""
        first = ", ".join(map(shown, names[:_MAX_NAMES]))
        lines.append(f"  {len(names)}: {reason}: {first}{more}")
    kept = [name for name, reason in graph.float32.items() if reason == Reason.OPTION]
    unused = (glob for glob in keep if not any(matches(name, [glob]) for name in kept))
    return [*lines, *(f"--keep-float32 {glob}: no node has such a name" for glob in unused)]


def log_float32(graph: Graph, keep: Collection[str]) -> None:
    """Logs float32_lines() at level INFO."""
    for line in float32_lines(graph, keep):
        LOGGER.info("%s", line)


class _Fp16Converter:
    def __init__(self, graph: Graph, library: OpLibrary, keep: Collection[str]) -> None:
        self._graph = graph
        self._regions = float32_regions(graph, library, keep)
        self._library = library
        self._fp16: dict[Tensor, Tensor] = {}  # float32 tensor → its float16 copy
        self._ready = {t for t in graph.tensors() if t.data is not None} | set(graph.given())
        self._nodes: list[Node] = []

    def run(self) -> None:
        """Rewrites the nodes in order, and converts the results at the end."""
        for node in self._graph.nodes:
            self._convert(node)
        for result in self._graph.results():
            if result not in self._ready:
                self._full(result)
        self._graph.nodes = self._nodes

    def _convert(self, node: Node) -> None:
        reason = self._regions.nodes.get(node)
        if reason is not None:
            self._graph.float32[node.name] = reason
            self._keep(node)
            return
        args = tuple(self._as_fp16(node, arg) for arg in node.args)
        outputs = tuple(self._fp16_output(t) for t in node.outputs)
        changed = any(a is not b for a, b in zip(outputs, node.outputs, strict=True)) or any(
            a is not b for a, b in zip(args, node.args, strict=True)
        )
        if changed and not self._computable(node.op, args, outputs):
            self._graph.float32[node.name] = NO_KERNEL
            self._keep(node)
            return
        if changed:
            names = self._library.arg_names(node.op)
            args = tuple(map(clamped_number, names, args))
        for full, fp16 in zip(node.outputs, outputs, strict=True):
            if fp16 is full:
                self._ready.add(full)
            else:
                self._fp16[full] = fp16
        source = args[0] if args else None
        same = isinstance(source, Tensor) and source.dtype is outputs[0].dtype
        if node.op == COPY and isinstance(source, Tensor) and same and outputs != node.outputs:
            self._fp16[node.outputs[0]] = source
            return
        self._nodes.append(Node(node.op, args, outputs, node.name))

    def _keep(self, node: Node) -> None:
        """Keeps a node in float32, with its inputs converted back."""
        for tensor in node.inputs():
            if tensor not in self._ready:
                self._full(tensor)
        self._ready.update(node.outputs)
        self._nodes.append(node)

    def _as_fp16(self, node: Node, arg: ArgValue) -> ArgValue:
        """An argument converted to float16."""
        if isinstance(arg, Tensor):
            return self._fp16_input(arg)
        if isinstance(arg, tuple) and arg and isinstance(arg[0], Tensor):
            return tuple(self._fp16_input(t) for t in arg if isinstance(t, Tensor))
        if arg == "f32" and node.op in (COPY, DEQUANTIZE):
            return "f16"
        return arg

    def _fp16_input(self, tensor: Tensor) -> Tensor:
        if tensor.dtype is not DType.F32:
            return tensor
        if tensor not in self._fp16:
            if tensor.data is not None:
                self._fp16[tensor] = constant(tensor.name, _rounded(tensor.data))
                release_pages(tensor.data)
            else:
                fp16 = Tensor(f"{tensor.name}.f16", DType.F16, tensor.shape)
                self._copy(self._clamped(tensor), fp16)
                self._fp16[tensor] = fp16
        return self._fp16[tensor]

    def _clamped(self, tensor: Tensor) -> Tensor:
        """The tensor, or a copy clamped to the range of float16 if constants beyond it cause its
        values.
        """
        if tensor not in self._regions.clamped:
            return tensor
        clamped = Tensor(f"{tensor.name}.clamped", tensor.dtype, tensor.shape)
        args = self._library.complete(CLAMP, {"x": tensor, "min": -SATURATED, "max": SATURATED})
        self._nodes.append(Node(CLAMP, args, (clamped,), f"{clamped.name}.clamp"))
        return clamped

    def _fp16_output(self, tensor: Tensor) -> Tensor:
        if tensor.dtype is not DType.F32:
            return tensor
        return Tensor(tensor.name, DType.F16, tensor.shape)

    def _full(self, tensor: Tensor) -> None:
        """Converts a float16 copy back to its float32 tensor."""
        self._copy(self._fp16[tensor], tensor)
        self._ready.add(tensor)

    def _copy(self, source: Tensor, target: Tensor) -> None:
        args = self._library.complete(COPY, {"x": source, "dtype": str(target.dtype)})
        self._nodes.append(Node(COPY, args, (target,), f"{target.name}.convert"))

    def _computable(self, op: str, args: tuple[ArgValue, ...], outputs: tuple[Tensor, ...]) -> bool:
        """Whether a kernel exists for a call with these outputs."""
        try:
            types = self._library.infer(op, args)
        except OpError:
            return False
        return [dtype for _, dtype in types] == [t.dtype for t in outputs]


def _rounded(values: Array) -> Array:
    """Values rounded to float16. Finite values beyond its range saturate."""
    with np.errstate(over="ignore"):
        fp16 = values.astype(np.float16, order="C")
    beyond = np.isinf(fp16)
    if beyond.any():
        beyond &= np.isfinite(values)
        fp16[beyond] = np.copysign(SATURATED, fp16[beyond])
    return fp16
