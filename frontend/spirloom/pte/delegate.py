"""Inlines the graph of a Vulkan delegate into its program."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence

from spec_model.flatbuffer import NOTHING, MalformedBuffer, Member, Row, read
from spec_model.flatbuffer_schema import load
from spirloom.errors import Unsupported
from spirloom.ir import Array
from spirloom.pte.delegate_binding import mutated_args
from spirloom.pte.file import delegate_dtype
from spirloom.pte.kernel_calls import (
    DelegateCall,
    ProgramDraft,
    UnsupportedCall,
    arguments,
    by_target,
)
from spirloom.torch.program import Argument, ArgValue, Call, PlainValue, Ref, Result, TensorMeta
from spirloom.torch.values import array_of

GRAPH = "integrations/executorch/blob/vk_graph.fbs"
VERSION = "0"
NamedData = Callable[[str], memoryview | None]
# Four zero bytes, magic, header size; offset and size of the graph and of the constants.
_HEADER = struct.Struct("<4s4sHIIIQ")
_MAGIC = b"VH00"
_PREPACK = "et_vk.prepack.default"
# Operators on symbolic ints have names without a namespace.
_SYM_INT_TARGETS = {"sym_size.int": "aten.sym_size.int"} | {
    name: f"operator.{name}"
    for name in ("add", "sub", "mul", "floordiv", "lt", "gt", "le", "ge", "eq")
}
_ASSERTIONS = frozenset({"_assert_scalar", "sym_constrain_range_for_size"})


class DelegateReader:
    """Reads one blob. Adds its values to a draft; `prefix` is the prefix of their names."""

    def __init__(
        self, blob: memoryview, named: NamedData, prefix: str, draft: ProgramDraft
    ) -> None:
        graph, self._constants = split(blob)
        self._graph = read(graph, load(GRAPH))
        if self._graph["version"] != VERSION:
            raise Unsupported(
                f"{prefix} has format version '{self._graph['version']}'; expected '{VERSION}'. "
                "Export the program with ExecuTorch 1.5"
            )
        self._named = named
        self._prefix = prefix
        self._draft = draft
        self._values: list[Member | None] = [row["value"] for row in self._graph["values"]]
        self._names: dict[int, str] = {}
        self._initial = dict(self._states())  # mutable buffer → initial constant
        self._updated: dict[int, str] = {}  # mutable buffer → name of the state

    @property
    def io_values(self) -> tuple[Sequence[int], Sequence[int]]:
        """The indices of the input values and of the output values."""
        return self._graph["inputs"], self._graph["outputs"]

    @property
    def input_metas(self) -> list[TensorMeta]:
        """The types of the inputs. Raises Unsupported for an input that is not a tensor."""
        values = [self._value(index) for index in self._graph["inputs"]]
        if any(kind != "Tensor" for kind, _ in values):
            raise Unsupported(f"{self._prefix} has a dynamic int input")
        return [self._meta(row) for _, row in values]

    @property
    def calls(self) -> list[Row]:
        """The calls, in order."""
        return list(self._graph["calls"])

    @property
    def states(self) -> int:
        """The number of mutable buffers."""
        return len(self._initial)

    def constants(self) -> tuple[int, int]:
        """The number of constants and their stored size in bytes."""
        count = len(self._graph["constants"])
        return count, sum(len(self._data(index)) for index in range(count))

    def translate(self, values: Sequence[ArgValue]) -> list[ArgValue]:
        """Adds all calls to the draft; returns references to the results."""
        for index, outer in zip(self._graph["inputs"], values, strict=True):
            self._add_input(index, outer)
        for row in self._graph["calls"]:
            self._add_call(row)
        results: list[ArgValue] = [self._scalar_or_ref(index) for index in self._graph["outputs"]]
        for index, name in self._updated.items():
            self._draft.updates[name] = Ref(self._names[index])
        return results

    def _states(self) -> Iterator[tuple[int, int]]:
        """Yields the mutable buffers with their initial constants: constants, or prepacked
        constants, that calls write."""
        packed: dict[int, int] = {}
        for row in self._graph["calls"]:
            *ids, written = row["args"] or [-1]
            if row["name"] == _PREPACK and ids and self._is_constant(ids[0]):
                packed[written] = ids[0]
                continue
            kind, value = self._value(written)
            changed = _mutated_values(row["name"], ids)
            for index in [*changed, *(value["items"] if kind == "Values" else [written])]:
                if index in packed or self._is_constant(index):
                    yield index, packed.get(index, index)

    def _is_constant(self, index: int) -> bool:
        kind, row = self._value(index)
        return kind == "Tensor" and bool(row["constant"] >= 0)

    def _add_input(self, index: int, outer: ArgValue) -> None:
        kind, _ = self._value(index)
        if kind == "Tensor":
            args = [Argument("self", outer, False)]
            self._draft.add(Call, "aten._to_copy", args, [self._define(index)],
                            f"{self._prefix}/input {index}")  # fmt: skip
        elif isinstance(outer, Ref):
            self._names[index] = outer.name
        else:
            raise Unsupported(f"{self._prefix} has a dynamic int input")

    def _add_call(self, row: Row) -> None:
        name, args = row["name"].removesuffix(".default"), row["args"]
        if not args:
            raise MalformedBuffer(f"a call of '{name}' has no result")
        module = f"{self._prefix}/{row['node_id']}"
        *ids, written = args
        if name in _ASSERTIONS:
            return
        if row["name"] == _PREPACK and written in self._initial:
            self._state(written)
            return
        try:
            values = [self._argument_value(index) for index in ids]
            results = [*self._define_mutated(name, ids), *self._results(written)]
        except Unsupported as error:
            self._draft.add(
                UnsupportedCall, name, (), self._results(written), module, reason=str(error)
            )
            return
        target = _SYM_INT_TARGETS.get(name, name)
        bound = arguments(values, by_target().get(target))
        self._draft.add(DelegateCall, target, bound, results, module)

    def _value(self, index: int) -> Member:
        if not 0 <= index < len(self._values):
            raise MalformedBuffer(
                f"value index {index} of {self._prefix} is out of range of {len(self._values)}"
            )
        return self._values[index] or NOTHING

    def _define_mutated(self, name: str, ids: Sequence[int]) -> list[str]:
        """Defines the new values of the buffers that the call mutates. Raises Unsupported."""
        changed = _mutated_values(name, ids)
        for index in changed:
            if index not in self._initial:
                raise Unsupported(
                    f"it mutates value {index} of {self._prefix}, which is not a buffer of the "
                    "delegate; register it as a buffer of the module"
                )
        return [self._define(index) for index in changed]

    def _results(self, index: int) -> list[Result]:
        kind, row = self._value(index)
        if kind == "Values":
            return [tuple(self._define(item) for item in row["items"])]
        return [self._define(index)]

    def _define(self, index: int) -> str:
        kind, row = self._value(index)
        name = f"{self._prefix}/value {index}"
        if name in self._draft.metas and index not in self._initial:
            raise MalformedBuffer(f"value {index} of {self._prefix} is defined twice")
        while name in self._draft.metas:
            name += " again"
        self._names[index] = name
        if kind == "Tensor":
            self._draft.metas[name] = self._meta(row)
        return name

    def _meta(self, row: Row) -> TensorMeta:
        return TensorMeta(delegate_dtype(row["type"]), tuple(row["sizes"]), ())

    def _argument_value(self, index: int) -> ArgValue:
        kind, row = self._value(index)
        match kind:
            case "Ints" | "Doubles" | "Bools":
                return tuple(row["items"])
            case "Values":
                return tuple(self._scalar_or_ref(item) for item in row["items"])
        return self._scalar_or_ref(index)

    def _scalar_or_ref(self, index: int) -> PlainValue:
        kind, row = self._value(index)
        if index in self._names:
            return Ref(self._names[index])
        match kind:
            case "Tensor":
                return Ref(self._constant(index, row))
            case "SymInt":
                raise MalformedBuffer(
                    f"value {index} of {self._prefix} is read before it is defined"
                )
            case "Bool":
                return bool(row["value"])
            case "Null" | "Int" | "Double" | "Text":
                value: PlainValue = row.get("value")
                return value
        raise MalformedBuffer(f"value {index} of {self._prefix} is a nested list")

    def _constant(self, index: int, row: Row) -> str:
        label = f"value {index} of {self._prefix}"
        if row["constant"] < 0:
            raise MalformedBuffer(f"{label} is read before it is defined")
        if index in self._initial:
            return self._state(index)
        name = self._names[index] = f"{self._prefix}/constant {index}"
        self._draft.add_weight(name, self._array(row, label), delegate_dtype(row["type"]))
        return name

    def _state(self, index: int) -> str:
        """The name of a mutable buffer's value before a run."""
        name = self._names[index] = self._updated[index] = f"{self._prefix}/state {index}"
        _, row = self._value(self._initial[index])
        self._draft.add_state(name, self._array(row, name), delegate_dtype(row["type"]))
        return name

    def _array(self, row: Row, label: str) -> Array:
        data = self._data(row["constant"])
        return array_of(data, delegate_dtype(row["type"]), tuple(row["sizes"]), label)

    def _data(self, index: int) -> memoryview:
        constants = self._graph["constants"]
        if index >= len(constants):
            raise MalformedBuffer(
                f"constant index {index} of {self._prefix} is out of range of {len(constants)}"
            )
        row = constants[index]
        if row["key"]:
            data = self._named(row["key"])
            if data is None:
                raise Unsupported(
                    f"the data '{row['key']}' is in another file (.ptd); export the program with "
                    "embedded constants"
                )
            return data
        end = row["offset"] + row["size"]
        if end > len(self._constants):
            raise MalformedBuffer(
                f"constant {index} of {self._prefix} ends at byte {end} of {len(self._constants)}"
            )
        return self._constants[row["offset"] : end]


def _mutated_values(name: str, ids: Sequence[int]) -> list[int]:
    """The arguments that a call mutates."""
    return [ids[arg] for arg in mutated_args(name.removesuffix(".default")) if arg < len(ids)]


def check_count(module: str, count: int, inputs: int, outputs: int) -> None:
    """Checks the number of values of a delegate call. Raises Unsupported, MalformedBuffer."""
    if inputs < count < inputs + outputs:
        raise Unsupported(
            f"{module} has {outputs} results; the call uses {count - inputs}. If the module "
            "mutates buffers, export with VulkanPartitioner({'alias_buffer_mutations': True})"
        )
    if count != inputs + outputs:
        raise MalformedBuffer(
            f"{module} has {inputs} inputs and {outputs} outputs; the call passes {count} values"
        )


def split(blob: memoryview) -> tuple[memoryview, memoryview]:
    """Splits a blob into the graph and the constant data. Raises MalformedBuffer."""
    if len(blob) < _HEADER.size:
        raise MalformedBuffer(
            f"a delegate of {len(blob)} bytes is too short for its header of {_HEADER.size}"
        )
    _, magic, _, graph, graph_size, constants, constants_size = _HEADER.unpack_from(blob)
    if magic != _MAGIC:
        raise MalformedBuffer("a delegate is not a blob of ExecuTorch's Vulkan backend")
    if max(graph + graph_size, constants + constants_size) > len(blob):
        raise MalformedBuffer(f"the sections of a delegate exceed its {len(blob)} bytes")
    return blob[graph : graph + graph_size], blob[constants : constants + constants_size]
