"""Determines which calls of a program the device supports, by importing each call.

The results of a call that cannot be imported become inputs, and the import continues.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from spec_model.interval import Interval
from spirloom.errors import ImportFailure, Unsupported
from spirloom.ir import Graph, Node, Tensor, is_possible
from spirloom.op_library import OpLibrary
from spirloom.partition import work_of
from spirloom.sizes import is_symbolic
from spirloom.terminal import in_bytes
from spirloom.torch.importer import Importer
from spirloom.torch.input_ranges import input_facts
from spirloom.torch.options import Options
from spirloom.torch.program import (
    Call,
    Input,
    InvalidSize,
    Kind,
    Program,
    Ref,
    TensorMeta,
    output_names,
)
from spirloom.torch.rules.registry import MissingValue, NoOperator
from spirloom.torch.values import Item, device_type, numpy_type


@dataclass(frozen=True, slots=True)
class Survey:
    """Facts about calls, by index, and about values, by name.

    `reasons`: why the device does not support a call, or "". `work`: FLOPs and bytes, 0 at
    symbolic sizes. `known`: constant values. `bounds`: of integer tensors. `graph`: all calls that
    can be imported.
    """

    reasons: tuple[str, ...]
    work: tuple[tuple[float, float], ...]
    known: Mapping[str, Item]
    bounds: Mapping[str, Interval]
    tensors: Mapping[str, Tensor]
    graph: Graph


@dataclass(frozen=True, slots=True)
class Limits:
    """The maximum bytes of one buffer of a device, and the device's name."""

    buffer: int
    device: str


def survey(
    program: Program,
    library: OpLibrary,
    options: Options,
    sizes: Mapping[str, int],
    limits: Limits | None = None,
) -> Survey:
    """Surveys a program for these values of its symbols."""
    return _Surveyor(program, library, options, sizes, limits).survey()


class _Surveyor(Importer):
    has_data_sizes = False  # a host reads values with their own sizes
    complex_values = False  # which cannot be passed between host and device

    def __init__(
        self,
        program: Program,
        library: OpLibrary,
        options: Options,
        sizes: Mapping[str, int],
        limits: Limits | None,
    ) -> None:
        super().__init__(program, library, options, sizes)
        self._limits = limits
        self._missing_reasons: dict[str, str] = {}  # of values that the device does not have
        self._reasons: list[str] = []
        self._work: list[tuple[float, float]] = []
        self._is_open = is_symbolic(tuple(sizes.values()))

    def survey(self) -> Survey:
        self._declare_inputs()
        for call in self._program.calls:
            self._import_call(call)
        values = self._values
        tensors = {name: v for name, v in values.items() if isinstance(v, Tensor)}
        weights = {given.name for given in self._program.inputs if given.kind is Kind.WEIGHT}
        return Survey(
            tuple(self._reasons),
            tuple(self._work),
            {n: v for n, v in values.items() if n not in tensors and n not in weights},
            {name: self._narrowing.bounds_of(tensor) for name, tensor in tensors.items()
             if tensor.dtype.numpy.kind in "iu"},
            tensors,
            self._graph,
        )  # fmt: skip

    def _declare_inputs(self) -> None:
        """Declares the inputs; unsupported ones are missing values."""
        for given in self._program.inputs:
            mutated = given.target in self._program.mutated
            if given.kind is Kind.WEIGHT and not mutated:
                self._declare_weight(given)
            elif given.kind is Kind.OTHER:
                self._mark_missing(given.name, f"is a {given.target}")
            elif given.name not in self._program.metas:
                self._declare_number(given)
            else:
                self._reopen_as_input(given.name)

    def _declare_weight(self, given: Input) -> None:
        try:
            self._values[given.name] = self._program.weights[given.target]
        except (Unsupported, ImportFailure) as error:
            self._mark_missing(given.name, f"cannot be read: {error}")

    def _declare_number(self, given: Input) -> None:
        try:
            self._values[given.name] = self._resolved(given.fixed)
        except InvalidSize:
            self._mark_missing(given.name, "is a number known only at run time")

    def _reopen_as_input(self, name: str) -> None:
        """Makes a value an input, if its type is supported."""
        try:
            meta = self._program.metas.get(name)
            if meta is None:
                raise Unsupported("is a number known only at run time")
            self._add_input(name, meta)
            self._missing.discard(name)
        except Unsupported as error:
            self._mark_missing(name, str(error))

    def _add_input(self, name: str, meta: TensorMeta) -> None:
        """Raises Unsupported with the reason, a predicate of the value."""
        try:
            dtype = numpy_type(meta.dtype)
            shape = tuple(self._size(size) for size in meta.shape)
        except Unsupported:
            raise Unsupported(f"is {meta.dtype}") from None
        except InvalidSize:
            raise Unsupported("has a size that depends on the data") from None
        if dtype == np.float64 and not self._options.float64_as_float32:
            raise Unsupported("is float64, which the device would round to float32")
        if not is_possible(shape):
            raise Unsupported(f"has rank {len(shape)}")
        tensor = Tensor(name, device_type(meta.dtype), shape)
        self._check_limit(tensor, "needs")
        self._narrowing.declare(tensor, input_facts(dtype, self._options.ranges.get(name)))
        self._graph.inputs.append(tensor)
        self._values[name] = tensor

    def _mark_missing(self, name: str, why: str) -> None:
        self._missing.add(name)
        self._missing_reasons[name] = why

    def _record_results(
        self, call: Call, results: Mapping[str, Item], nodes: Sequence[Node]
    ) -> None:
        for tensor in (tensor for node in nodes for tensor in node.outputs):
            self._check_limit(tensor, f"its result {tensor} needs")
        super()._record_results(call, results, nodes)
        self._reasons.append("")
        self._work.append((0.0, 0.0) if self._is_open else work_of(nodes, self._library))

    def _check_limit(self, tensor: Tensor, needs: str) -> None:
        limit = self._limits
        if limit is not None and tensor.size > limit.buffer:
            raise Unsupported(
                f"{needs} {in_bytes(tensor.size)}, which exceeds a buffer of {limit.device}, "
                f"{in_bytes(limit.buffer)}"
            )

    def _record_problem(self, call: Call, problem: Exception) -> None:
        reason = str(problem)
        if isinstance(problem, NoOperator):
            reason = "there is no operator for it"
        elif isinstance(problem, MissingValue):
            name = str(problem)
            why = self._missing_reasons.get(name, "is not a tensor")
            reason = f"it reads '{name}', which {why}"
        self._reasons.append(reason)
        self._work.append(self._host_work(call))
        for name in output_names(call):
            self._reopen_as_input(name)

    def _host_work(self, call: Call) -> tuple[float, float]:
        """The work of a call on the host: the bytes of its values, as far as sizes are known."""
        if self._is_open:
            return 0.0, 0.0
        names = (*input_names(call), *output_names(call))
        metas = [self._program.metas.get(name) for name in names]
        return 0.0, float(sum(nbytes_of(meta, self._sizes) for meta in metas))


def nbytes_of(meta: TensorMeta | None, sizes: Mapping[str, int]) -> int:
    """The bytes of a value on the host; 0 if unknown."""
    if meta is None:
        return 0
    widths = {"bool": 1, "bfloat16": 2, "complex64": 8, "complex128": 16, "complex32": 4}
    try:
        width = widths.get(meta.dtype) or numpy_type(meta.dtype).itemsize
        return width * prod(s if isinstance(s, int) else s.value(sizes) for s in meta.shape)
    except (Unsupported, InvalidSize):
        return 0


def input_names(call: Call) -> list[str]:
    """The names of the values that a call reads."""
    items: list[Any] = []
    for argument in call.arguments:
        value = argument.value
        items += value if isinstance(value, tuple) else (value,)
    return [item.name for item in items if isinstance(item, Ref)]
