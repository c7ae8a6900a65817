"""A method of a program as a program of PyTorch: instructions in order, each value by its name.

Memory that is planned tells views: they are no instructions, but a tensor that lies where another
was written shows its bytes in other sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from codegen.flatbuffer import MalformedBuffer
from spirloom.errors import ImportFailure, Unsupported
from spirloom.pte.delegate import DelegateReader, check_count
from spirloom.pte.file import ProgramFile, of_program
from spirloom.pte.flatbuffer import NOTHING, Member, Row
from spirloom.pte.kernel_calls import Draft, Kernel, RefusedCall, arguments, kernels
from spirloom.pte.method import (
    VULKAN,
    constant,
    first_value,
    instructions,
    ints,
    is_external,
    place_of,
    title_of,
)
from spirloom.torch.program import (
    Argument,
    Call,
    Given,
    Input,
    Kind,
    Meta,
    Plain,
    Program,
    Ref,
    TypeName,
    Word,
)

_NO_NUMBERS = frozenset({"layout", "device", "memory_format", "pin_memory", "dim_order"})


def program_of(file: ProgramFile, method: Row) -> Program:
    """The method as a program. Raises ImportFailure."""
    try:
        return _Reader(file, method).read()
    except MalformedBuffer as error:
        raise ImportFailure(f"{file.path} is damaged: {error}.") from None
    except Unsupported as error:
        raise ImportFailure(f"{file.path} cannot be imported: {error}.") from None


class _Reader:
    def __init__(self, file: ProgramFile, method: Row) -> None:
        self._file = file
        self._method = method
        self._values: list[Member | None] = [row["value"] for row in method["values"]]
        self._draft = Draft()
        self._names: dict[int, str] = {}  # of values, what they are now
        self._written: dict[tuple[int, int], str] = {}  # by place in memory, what was last there
        self._counts: dict[int, int] = {}
        self._states: dict[int, str] = {}  # by value, what the run finds

    def read(self) -> Program:
        for place, index in enumerate(self._method["inputs"]):
            self._take_input(place, index)
        for number, row in enumerate(instructions(self._method)):
            self._take(number, row["action"])
        outputs = tuple(self._given(index) for index in self._method["outputs"])
        self._end_states()
        draft = self._draft
        return Program(
            str(self._file.path), tuple(draft.inputs), outputs, tuple(draft.calls), draft.metas,
            weights=draft.weights, mutated=tuple(draft.updates), updates=draft.updates,
        )  # fmt: skip

    def _take_input(self, place: int, index: int) -> None:
        name = f"input{place}"
        kind, row = self._value(index)
        if kind != "Tensor":
            # Programs are exported for one value of a number.
            self._draft.inputs.append(Input(name, Kind.USER, fixed=row.get("value")))
            return
        self._draft.inputs.append(Input(name, Kind.USER))
        self._define(index, name)

    def _value(self, index: int) -> Member:
        if not 0 <= index < len(self._values):
            raise MalformedBuffer(f"value {index} is used, and there are {len(self._values)}")
        return self._values[index] or NOTHING

    def _take(self, number: int, action: Member | None) -> None:
        kind, row = action or NOTHING
        match kind:
            case "KernelCall":
                self._take_kernel(f"kernel {number}", row)
            case "DelegateCall":
                self._take_delegate(f"delegate {row['delegate']}.{number}", row)
            case "MoveCall":
                self._take_move(row)
            case "FreeCall":
                pass
            case "JumpFalse":
                self._refuse("JumpFalse", (), f"instruction {number}", "it branches on a value")
            case _:
                raise MalformedBuffer(f"instruction {number} is none")

    def _take_move(self, row: Row) -> None:
        source = self._given(row["source"])
        if not isinstance(source, Ref):
            raise Unsupported(f"a number is moved into value {row['target']}")
        self._names[row["target"]] = source.name
        kind, target = self._value(row["target"])
        place = place_of(target) if kind == "Tensor" else None
        if place is not None:
            self._written[place] = source.name

    def _take_kernel(self, module: str, row: Row) -> None:
        operators = self._method["operators"]
        if not 0 <= row["operator"] < len(operators):
            raise MalformedBuffer(f"{module} calls operator {row['operator']}")
        operator = operators[row["operator"]]
        name = operator["name"] + (f".{operator['overload']}" if operator["overload"] else "")
        kernel = kernels().get(name)
        try:
            if kernel is None:
                raise Unsupported("there is no operator for this kernel")
            self._call_kernel(name, module, kernel, row["args"])
        except Unsupported as error:
            self._refuse(name, row["args"][-1:], module, str(error))

    def _call_kernel(self, name: str, module: str, kernel: Kernel, args: Sequence[int]) -> None:
        count = len(kernel.names)
        if len(args) <= count:
            raise MalformedBuffer(f"{name} has {len(args)} arguments and results, too few")
        written = args[count:-1] if len(args) > count + 1 else args[count:]
        inputs = [i for i, index in enumerate(self._method["inputs"]) if index in written]
        if inputs:
            raise Unsupported(f"it writes input {inputs[0]} in place; make that a buffer")
        given = [self._argument(n, a) for n, a in zip(kernel.names, args, strict=False)]
        bound = arguments(given, kernel)
        results = [self._results(index) for index in written]
        self._draft.add(Call, kernel.target, bound, results, module)

    def _argument(self, name: str, index: int) -> Given:
        """An argument; some are numbers that stand for something else."""
        if name in _NO_NUMBERS:
            return Word(name)
        kind, row = self._value(index)
        if name == "dtype" and kind == "Int":
            return TypeName(of_program(row["value"]))
        return self._given(index)

    def _take_delegate(self, module: str, row: Row) -> None:
        delegates = self._method["delegates"]
        if not 0 <= row["delegate"] < len(delegates):
            raise MalformedBuffer(f"{module} is none of {len(delegates)}")
        delegate = delegates[row["delegate"]]
        try:
            if delegate["id"] != VULKAN:
                raise Unsupported(
                    "a delegate of another backend, whose network is its own; export with "
                    "ExecuTorch's VulkanPartitioner, or with none"
                )
            self._call_delegate(module, delegate, row["args"])
        except Unsupported as error:
            new = [i for i in row["args"] if i not in self._names and not self._is_constant(i)]
            self._refuse(delegate["id"], new, module, str(error))

    def _call_delegate(self, module: str, delegate: Row, args: Sequence[int]) -> None:
        data = self._file.delegate_data(delegate["processed"])
        reader = DelegateReader(data, self._file.named, module, self._draft)
        inputs, outputs = reader.borders
        check_count(module, len(args), len(inputs), len(outputs))
        given = [self._given(index) for index in args[: len(inputs)]]
        for index, made in zip(args[len(inputs) :], reader.translate(given), strict=True):
            self._convert(made, self._define(index), module)

    def _is_constant(self, index: int) -> bool:
        kind, row = self._value(index)
        return kind == "Tensor" and place_of(row) is None and bool(row["data"])

    def _convert(self, made: Given, result: str, name: str) -> None:
        """Gives what a delegate computes the type that the program has of it."""
        args = [Argument("self", made, False)]
        self._draft.add(Call, "aten._to_copy", args, [result], f"{name}/result")

    def _refuse(self, target: str, written: Sequence[int], module: str, reason: str) -> None:
        results = [self._results(i) for i in written if self._value(i)[0] in ("Tensor", "Tensors")]
        self._draft.add(RefusedCall, target, (), results, module, reason=reason)

    def _results(self, index: int) -> str | tuple[str, ...]:
        kind, row = self._value(index)
        if kind in ("Tensors", "OptionalTensors"):
            return tuple(self._define(item) for item in row["items"])
        return self._define(index)

    def _define(self, index: int, name: str = "") -> str:
        """The name of a value from here on."""
        kind, row = self._value(index)
        count = self._counts[index] = self._counts.get(index, 0) + 1
        name = name or f"value {index}" + (f".{count}" if count > 1 else "")
        self._names[index] = name
        if kind == "Tensor":
            if row["data"]:
                self._state(index, row)
            self._draft.metas[name] = self._meta(row)
            place = place_of(row)
            # Of no elements it may lie where another does.
            if place is not None and 0 not in row["sizes"]:
                self._written[place] = name
        return name

    def _given(self, index: int) -> Given:
        """A value as an argument."""
        kind, row = self._value(index)
        match kind:
            case "Ints":
                return tuple(self._plain(item) for item in row["items"])
            case "Doubles" | "Bools":
                return tuple(row["items"])
            case "Tensors":
                return tuple(self._plain(item) for item in row["items"])
            case "OptionalTensors":
                return tuple(None if i == -1 else self._plain(i) for i in row["items"])
        return self._plain(index)

    def _plain(self, index: int) -> Plain:
        kind, row = self._value(index)
        if kind == "Tensor":
            return Ref(self._tensor(index, row))
        if index in self._names:
            return Ref(self._names[index])
        if kind not in ("Null", "Int", "Bool", "Double", "Text"):
            raise MalformedBuffer(f"value {index} is a list in a list")
        return row.get("value")

    def _tensor(self, index: int, row: Row) -> str:
        """The name of a tensor: one that is computed, a constant, or a view of one."""
        place, name = place_of(row), self._names.get(index, "")
        if place is None and (name or row["data"] or is_external(row)):
            return name or self._constant(index, row)
        if place is None:
            raise MalformedBuffer(f"value {index} is read before anything writes it")
        if name and 0 in row["sizes"]:
            return name
        shown = self._written.get(place, "")
        if not shown:
            return self._state(index, row)
        return name if name == shown else self._view(index, row, shown)

    def _state(self, index: int, row: Row) -> str:
        """The name of a buffer that runs change: of what an earlier run has left."""
        if index in self._states:
            return self._states[index]
        own: str = row["extra"]["name"] if row["extra"] is not None else ""
        name = own if own and own not in self._draft.metas else f"state {index}"
        meta = self._meta(row)
        value = first_value(self._file, row, meta, title_of(index, row))
        self._draft.add_state(name, value, meta.dtype)
        self._states[index] = self._names[index] = name
        place = place_of(row)
        if place is not None:
            self._written[place] = name
        return name

    def _end_states(self) -> None:
        """What lies where a state does is what the next run finds."""
        for index, name in self._states.items():
            _, row = self._value(index)
            update = self._tensor(index, row)
            if update == name and not row["data"]:
                raise Unsupported(f"{title_of(index, row)} is read, and nothing ever writes it")
            self._draft.updates[name] = Ref(update)

    def _view(self, index: int, row: Row, shown: str) -> str:
        """A tensor that lies where another does."""
        meta, source = self._meta(row), self._draft.metas[shown]
        same = meta.dtype == source.dtype and prod(ints(meta)) == prod(ints(source))
        if not same or list(row["dim_order"]) != sorted(row["dim_order"]):
            raise Unsupported(f"value {index} lies where {shown} does, and is no view of it")
        name = f"value {index} of {shown}"
        if name not in self._draft.metas:
            self._draft.metas[name] = meta
            args = [Argument("self", Ref(shown), False), Argument("size", ints(meta), False)]
            self._draft.add(Call, "aten.view", args, [name], f"view {index}")
        return name

    def _constant(self, index: int, row: Row) -> str:
        name = f"constant {index}"
        if name not in self._draft.metas:
            meta = self._meta(row)
            array = constant(self._file, row, meta, title_of(index, row))
            self._draft.add_weight(name, array, meta.dtype)
        self._names[index] = name
        return name

    def _meta(self, row: Row) -> Meta:
        sizes = row["sizes"]
        if min(sizes, default=0) < 0:
            raise MalformedBuffer(f"a tensor has the sizes {list(sizes)}")
        return Meta(of_program(row["type"]), tuple(sizes), ())
