"""The network of a Vulkan delegate as calls of the program that it is part of."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence

from codegen.flatbuffer import MalformedBuffer
from spirloom.errors import Unsupported
from spirloom.ir import Array
from spirloom.pte.delegate_binding import changed_places
from spirloom.pte.file import array_of, of_delegate
from spirloom.pte.flatbuffer import NOTHING, Member, Row, load, read
from spirloom.pte.kernel_calls import DelegateCall, Draft, RefusedCall, arguments, by_target
from spirloom.torch.program import Argument, Call, Given, Meta, Plain, Ref, Result

GRAPH = "integrations/executorch/blob/vk_graph.fbs"
VERSION = "0"
NamedData = Callable[[str], memoryview | None]
# Four zero bytes, what it is, its own length; offset and size of the graph, and of constants.
_HEADER = struct.Struct("<4s4sHIIIQ")
_MAGIC = b"VH00"
_PREPACK = "et_vk.prepack.default"
# What is computed with sizes has names without a namespace.
_OF_SIZES = {"sym_size.int": "aten.sym_size.int"} | {
    name: f"operator.{name}"
    for name in ("add", "sub", "mul", "floordiv", "lt", "gt", "le", "ge", "eq")
}
_CHECKS = frozenset({"_assert_scalar", "sym_constrain_range_for_size"})


class DelegateReader:
    """Reads one blob. Its values are added to a draft under names that begin with `prefix`."""

    def __init__(self, blob: memoryview, named: NamedData, prefix: str, draft: Draft) -> None:
        graph, self._constants = split(blob)
        self._graph = read(graph, load(GRAPH))
        if self._graph["version"] != VERSION:
            raise Unsupported(
                f"{prefix} has version '{self._graph['version']}' of its format, not '{VERSION}': "
                "export it with ExecuTorch 1.5"
            )
        self._named = named
        self._prefix = prefix
        self._draft = draft
        self._values: list[Member | None] = [row["value"] for row in self._graph["values"]]
        self._names: dict[int, str] = {}
        self._first = dict(self._states())  # of buffers that runs change, the constants
        self._updated: dict[int, str] = {}  # their names as states

    @property
    def borders(self) -> tuple[Sequence[int], Sequence[int]]:
        """The values that it takes, and those that it gives."""
        return self._graph["inputs"], self._graph["outputs"]

    @property
    def calls(self) -> list[Row]:
        """What it calls, in order."""
        return list(self._graph["calls"])

    @property
    def states(self) -> int:
        """How many buffers it has that runs change."""
        return len(self._first)

    def constants(self) -> tuple[int, int]:
        """How many there are, and their bytes: as they are stored."""
        return len(self._graph["constants"]), sum(
            len(self._data(number)) for number in range(len(self._graph["constants"]))
        )

    def translate(self, given: Sequence[Given]) -> list[Given]:
        """Adds all calls; the results by their names in the draft."""
        for index, outer in zip(self._graph["inputs"], given, strict=True):
            self._take_input(index, outer)
        for row in self._graph["calls"]:
            self._take_call(row)
        results: list[Given] = [self._plain(index) for index in self._graph["outputs"]]
        for index, name in self._updated.items():
            self._draft.updates[name] = Ref(self._names[index])
        return results

    def _states(self) -> Iterator[tuple[int, int]]:
        """Buffers that runs change: constants, or such prepacked, which calls write."""
        packed: dict[int, int] = {}
        for row in self._graph["calls"]:
            *ids, written = row["args"] or [-1]
            if row["name"] == _PREPACK and ids and self._is_constant(ids[0]):
                packed[written] = ids[0]
                continue
            kind, value = self._value(written)
            changed = _changed(row["name"], ids)
            for index in [*changed, *(value["items"] if kind == "Values" else [written])]:
                if index in packed or self._is_constant(index):
                    yield index, packed.get(index, index)

    def _is_constant(self, index: int) -> bool:
        kind, row = self._value(index)
        return kind == "Tensor" and bool(row["constant"] >= 0)

    def _take_input(self, index: int, outer: Given) -> None:
        kind, _ = self._value(index)
        if kind == "Tensor":
            args = [Argument("self", outer, False)]
            self._draft.add(Call, "aten._to_copy", args, [self._define(index)],
                            f"{self._prefix}/input {index}")  # fmt: skip
        elif isinstance(outer, Ref):
            self._names[index] = outer.name
        else:
            raise Unsupported(f"{self._prefix} takes a number that only a run tells")

    def _take_call(self, row: Row) -> None:
        name, args = row["name"].removesuffix(".default"), row["args"]
        if not args:
            raise MalformedBuffer(f"a call of '{name}' has no result")
        module = f"{self._prefix}/{row['node_id']}"
        *ids, written = args
        if name in _CHECKS:
            return
        if row["name"] == _PREPACK and written in self._first:
            self._state(written)
            return
        try:
            given = [self._given(index) for index in ids]
            results = [*self._changes(name, ids), *self._results(written)]
        except Unsupported as error:
            self._draft.add(
                RefusedCall, name, (), self._results(written), module, reason=str(error)
            )
            return
        target = _OF_SIZES.get(name, name)
        bound = arguments(given, by_target().get(target))
        self._draft.add(DelegateCall, target, bound, results, module)

    def _value(self, index: int) -> Member:
        if not 0 <= index < len(self._values):
            raise MalformedBuffer(
                f"value {index} of {self._prefix} is used, and there are {len(self._values)}"
            )
        return self._values[index] or NOTHING

    def _changes(self, name: str, ids: Sequence[int]) -> list[str]:
        """What the call leaves of the buffers that it changes. Raises Unsupported."""
        changed = _changed(name, ids)
        for index in changed:
            if index not in self._first:
                raise Unsupported(
                    f"it changes value {index} of {self._prefix}, which is no buffer of the "
                    "delegate; make it a buffer of the module"
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
        if name in self._draft.metas and index not in self._first:
            raise MalformedBuffer(f"value {index} of {self._prefix} is written twice")
        while name in self._draft.metas:
            name += " again"
        self._names[index] = name
        if kind == "Tensor":
            self._draft.metas[name] = self._meta(row)
        return name

    def _meta(self, row: Row) -> Meta:
        return Meta(of_delegate(row["type"]), tuple(row["sizes"]), ())

    def _given(self, index: int) -> Given:
        kind, row = self._value(index)
        match kind:
            case "Ints" | "Doubles" | "Bools":
                return tuple(row["items"])
            case "Values":
                return tuple(self._plain(item) for item in row["items"])
        return self._plain(index)

    def _plain(self, index: int) -> Plain:
        kind, row = self._value(index)
        if index in self._names:
            return Ref(self._names[index])
        match kind:
            case "Tensor":
                return Ref(self._constant(index, row))
            case "SymInt":
                raise MalformedBuffer(f"value {index} of {self._prefix} is read before written")
            case "Bool":
                return bool(row["value"])
            case "Null" | "Int" | "Double" | "Text":
                value: Plain = row.get("value")
                return value
        raise MalformedBuffer(f"value {index} of {self._prefix} is a list in a list")

    def _constant(self, index: int, row: Row) -> str:
        title = f"value {index} of {self._prefix}"
        if row["constant"] < 0:
            raise MalformedBuffer(f"{title} is read before anything writes it")
        if index in self._first:
            return self._state(index)
        name = self._names[index] = f"{self._prefix}/constant {index}"
        self._draft.add_weight(name, self._array(row, title), of_delegate(row["type"]))
        return name

    def _state(self, index: int) -> str:
        """What an earlier run has left of a buffer."""
        name = self._names[index] = self._updated[index] = f"{self._prefix}/state {index}"
        _, row = self._value(self._first[index])
        self._draft.add_state(name, self._array(row, name), of_delegate(row["type"]))
        return name

    def _array(self, row: Row, title: str) -> Array:
        data = self._data(row["constant"])
        return array_of(data, of_delegate(row["type"]), tuple(row["sizes"]), title)

    def _data(self, number: int) -> memoryview:
        constants = self._graph["constants"]
        if number >= len(constants):
            raise MalformedBuffer(f"constant {number} of {self._prefix} is none")
        row = constants[number]
        if row["key"]:
            data = self._named(row["key"])
            if data is None:
                raise Unsupported(
                    f"data named '{row['key']}' lies in another file (.ptd); export with the "
                    "constants inside"
                )
            return data
        end = row["offset"] + row["size"]
        if end > len(self._constants):
            raise MalformedBuffer(f"constant {number} of {self._prefix} ends at {end}")
        return self._constants[row["offset"] : end]


def _changed(name: str, ids: Sequence[int]) -> list[int]:
    """The values that a call changes, of those that it is given."""
    return [ids[place] for place in changed_places(name.removesuffix(".default"))
            if place < len(ids)]  # fmt: skip


def check_count(module: str, given: int, inputs: int, outputs: int) -> None:
    """Raises Unsupported, MalformedBuffer if a call gives a delegate other values than it has."""
    if inputs < given < inputs + outputs:
        raise Unsupported(
            f"{module} has {outputs} results and {given - inputs} are taken: if its module changes "
            "buffers, export with VulkanPartitioner({'alias_buffer_mutations': True})"
        )
    if given != inputs + outputs:
        raise MalformedBuffer(f"{module} has {given} arguments and results")


def split(blob: memoryview) -> tuple[memoryview, memoryview]:
    """The graph of a delegate's data, and the bytes of constants. Raises MalformedBuffer."""
    if len(blob) < _HEADER.size:
        raise MalformedBuffer(f"a delegate has {len(blob)} bytes, too few for its header")
    _, magic, _, graph_at, graph_size, bytes_at, bytes_size = _HEADER.unpack_from(blob)
    if magic != _MAGIC:
        raise MalformedBuffer("a delegate is no blob of ExecuTorch's Vulkan backend")
    if max(graph_at + graph_size, bytes_at + bytes_size) > len(blob):
        raise MalformedBuffer(f"the parts of a delegate exceed its {len(blob)} bytes")
    return blob[graph_at : graph_at + graph_size], blob[bytes_at : bytes_at + bytes_size]
