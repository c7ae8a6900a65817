"""Which calls of a program the device can compute: the importer is asked, call by call.

The results of a call that cannot be imported become inputs, and the import goes on behind it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from spirloom.errors import ImportFailure, Unsupported
from spirloom.interval import Interval
from spirloom.ir import Graph, Node, Tensor, is_possible
from spirloom.ops import OpLibrary
from spirloom.partition import work_of
from spirloom.terminal import in_bytes
from spirloom.torch.importer import Importer
from spirloom.torch.narrowing import input_facts
from spirloom.torch.options import Options
from spirloom.torch.program import BadSize, Call, Input, Kind, Meta, Program, Ref, names_of
from spirloom.torch.rules.registry import NoOperator, Unknown
from spirloom.torch.values import Item, numpy_type, our_type


@dataclass(frozen=True, slots=True)
class Survey:
    """What is known of each call, by its place, and of values, by their names.

    `reasons` are why the device cannot compute calls, `work` is what they do, `known` has what is
    the same in every run, `bounds` those of numbers. `graph` is of all calls that can be imported.
    """

    reasons: tuple[str, ...]
    work: tuple[tuple[float, float], ...]
    known: Mapping[str, Item]
    bounds: Mapping[str, Interval]
    tensors: Mapping[str, Tensor]
    graph: Graph


@dataclass(frozen=True, slots=True)
class Limits:
    """What a device can hold: the bytes of one buffer, and the device's name."""

    buffer: int
    device: str


def survey(
    program: Program,
    library: OpLibrary,
    options: Options,
    sizes: Mapping[str, int],
    limits: Limits | None = None,
) -> Survey:
    """At these sizes of the program's symbols."""
    return _Surveyor(program, library, options, sizes, limits).survey()


class _Surveyor(Importer):
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
        self._why: dict[str, str] = {}  # of missing values, what is wrong with them
        self._reasons: list[str] = []
        self._work: list[tuple[float, float]] = []

    def survey(self) -> Survey:
        self._take_inputs()
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

    def _take_inputs(self) -> None:
        """What no graph can take is missing."""
        for given in self._program.inputs:
            mutated = given.target in self._program.mutated
            if given.kind is Kind.WEIGHT and not mutated:
                self._take_weight(given)
            elif given.kind is Kind.OTHER:
                self._lose(given.name, f"is a {given.target}")
            elif given.name not in self._program.metas:
                self._take_number(given)
            else:
                self._open(given.name)

    def _take_weight(self, given: Input) -> None:
        try:
            self._values[given.name] = self._program.weights[given.target]
        except (Unsupported, ImportFailure) as error:
            self._lose(given.name, f"cannot be read: {error}")

    def _take_number(self, given: Input) -> None:
        try:
            self._values[given.name] = self._resolved(given.fixed)
        except BadSize:
            self._lose(given.name, "is a number that only a run tells")

    def _open(self, name: str) -> None:
        """Makes a value an input, if there can be such a one."""
        try:
            meta = self._program.metas.get(name)
            if meta is None:
                raise Unsupported("is a number that only a run tells")
            self._add_input(name, meta)
            self._missing.discard(name)
        except Unsupported as error:
            self._lose(name, str(error))

    def _add_input(self, name: str, meta: Meta) -> None:
        """Raises Unsupported with what the value is."""
        try:
            dtype = numpy_type(meta.dtype)
            shape = tuple(self._size(size) for size in meta.shape)
        except Unsupported:
            raise Unsupported(f"is {meta.dtype}") from None
        except BadSize:
            raise Unsupported("has a size that depends on the data") from None
        if dtype == np.float64 and not self._options.float64_as_float32:
            raise Unsupported("is float64, which the device would round to float32")
        if not is_possible(shape):
            raise Unsupported(f"has rank {len(shape)}")
        tensor = Tensor(name, our_type(meta.dtype), shape)
        self._check_limit(tensor, "takes")
        self._narrowing.declare(tensor, input_facts(dtype, self._options.ranges.get(name)))
        self._graph.inputs.append(tensor)
        self._values[name] = tensor

    def _lose(self, name: str, why: str) -> None:
        self._missing.add(name)
        self._why[name] = why

    def _keep(self, call: Call, results: Mapping[str, Item], nodes: Sequence[Node]) -> None:
        for tensor in (tensor for node in nodes for tensor in node.outputs):
            self._check_limit(tensor, f"its result {tensor} takes")
        super()._keep(call, results, nodes)
        self._reasons.append("")
        self._work.append(work_of(nodes, self._library))

    def _check_limit(self, tensor: Tensor, takes: str) -> None:
        limit = self._limits
        if limit is not None and tensor.size > limit.buffer:
            raise Unsupported(
                f"{takes} {in_bytes(tensor.size)}, and a buffer of {limit.device} holds "
                f"{in_bytes(limit.buffer)}"
            )

    def _fail(self, call: Call, problem: Exception) -> None:
        reason = str(problem)
        if isinstance(problem, NoOperator):
            reason = "there is no operator for it"
        elif isinstance(problem, Unknown):
            name = str(problem)
            reason = f"it reads '{name}', which {self._why.get(name, 'is no tensor')}"
        self._reasons.append(reason)
        self._work.append(self._moved(call))
        for name in names_of(call):
            self._open(name)

    def _moved(self, call: Call) -> tuple[float, float]:
        """The work of a call that stays: what it reads and writes, as far as sizes are known."""
        metas = [self._program.metas.get(name) for name in (*reads_of(call), *names_of(call))]
        return 0.0, float(sum(nbytes_of(meta, self._sizes) for meta in metas))


def nbytes_of(meta: Meta | None, sizes: Mapping[str, int]) -> int:
    """What a value takes in the host; 0 where nothing tells."""
    if meta is None:
        return 0
    widths = {"bool": 1, "bfloat16": 2, "complex64": 8, "complex128": 16, "complex32": 4}
    try:
        width = widths.get(meta.dtype) or numpy_type(meta.dtype).itemsize
        return width * prod(s if isinstance(s, int) else s.value(sizes) for s in meta.shape)
    except (Unsupported, BadSize):
        return 0


def reads_of(call: Call) -> list[str]:
    """The names of the values that a call reads."""
    items: list[Any] = []
    for argument in call.arguments:
        value = argument.value
        items += value if isinstance(value, tuple) else (value,)
    return [item.name for item in items if isinstance(item, Ref)]
