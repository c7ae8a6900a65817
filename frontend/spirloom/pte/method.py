"""A method of a program as a program of PyTorch: instructions in order, each value by its name.

Memory that is planned tells views: they are no instructions, but a tensor that lies where another
was written shows its bytes in other sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from codegen.flatbuffer import MalformedBuffer
from spirloom.errors import ImportFailure, Unsupported
from spirloom.pte.calls import Draft, RefusedCall, arguments
from spirloom.pte.delegate import DelegateReader
from spirloom.pte.element_types import array_of, of_program
from spirloom.pte.file import ProgramFile
from spirloom.pte.flatbuffer import NOTHING, Member, Row
from spirloom.pte.kernels import kernels
from spirloom.pte.state import reason_against
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

VULKAN = "VulkanBackend"
_EXTERNAL = 1
_NO_NUMBERS = frozenset({"layout", "device", "memory_format", "pin_memory", "dim_order"})


def method_of(file: ProgramFile, name: str | None) -> Row:
    """A method by its name; without one `forward`, or the only one. Raises ImportFailure."""
    methods: dict[str, Row] = {method["name"]: method for method in file.program["methods"]}
    if name is None:
        with_calls = [n for n, method in methods.items() if instructions(method)]
        name = with_calls[0] if len(with_calls) == 1 else "forward"
    if name not in methods:
        known = ", ".join(methods) or "none"
        raise ImportFailure(f"{file.path} has no method '{name}', only: {known}. Give --method.")
    return methods[name]


def instructions(method: Row) -> list[Row]:
    """Those of all chains of a method; there is one."""
    return [row for chain in method["chains"] for row in chain["instructions"]]


def constant_names(values: Sequence[Member]) -> list[str]:
    """The tensors among the values of a method that are constants."""
    return [
        _title(index, row)
        for index, (kind, row) in enumerate(values)
        if kind == "Tensor" and _place(row) is None and (row["data"] or _is_external(row))
    ]


def state_names(values: Sequence[Member]) -> list[str]:
    """The tensors among the values of a method that are buffers which runs change."""
    return [
        _title(index, row)
        for index, (kind, row) in enumerate(values)
        if kind == "Tensor" and _place(row) is not None and row["data"]
    ]


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

    def read(self) -> Program:
        for place, index in enumerate(self._method["inputs"]):
            self._take_input(place, index)
        for number, row in enumerate(instructions(self._method)):
            self._take(number, row["action"])
        outputs = tuple(self._given(index) for index in self._method["outputs"])
        draft = self._draft
        return Program(
            str(self._file.path), tuple(draft.inputs), outputs, tuple(draft.calls), draft.metas,
            weights=draft.weights,
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
                self._take_kernel(number, row)
            case "DelegateCall":
                self._take_delegate(number, row)
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
        place = _place(target) if kind == "Tensor" else None
        if place is not None:
            self._written[place] = source.name

    def _take_kernel(self, number: int, row: Row) -> None:
        operators = self._method["operators"]
        if not 0 <= row["operator"] < len(operators):
            raise MalformedBuffer(f"instruction {number} calls operator {row['operator']}")
        operator = operators[row["operator"]]
        name = operator["name"] + (f".{operator['overload']}" if operator["overload"] else "")
        module = f"kernel {number}"
        kernel = kernels().get(name)
        args = row["args"]
        if kernel is None:
            self._refuse(name, args[-1:], module, "there is no operator for this kernel")
            return
        count = len(kernel.names)
        if len(args) <= count:
            raise MalformedBuffer(f"{name} has {len(args)} arguments and results, too few")
        written = args[count:-1] if len(args) > count + 1 else args[count:]
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

    def _take_delegate(self, number: int, row: Row) -> None:
        delegates = self._method["delegates"]
        if not 0 <= row["delegate"] < len(delegates):
            raise MalformedBuffer(f"instruction {number} calls delegate {row['delegate']}")
        delegate = delegates[row["delegate"]]
        if delegate["id"] != VULKAN:
            reason = f"a delegate of {delegate['id']}, whose networks are its own; export with "
            reason += "ExecuTorch's VulkanPartitioner, or with none"
            self._refuse(delegate["id"], row["args"], f"delegate {row['delegate']}", reason)
            return
        data = self._file.delegate_data(delegate["processed"])
        name = f"delegate {row['delegate']}"
        reader = DelegateReader(data, self._file.named, f"{name}.{number}", self._draft)
        inputs, outputs = reader.borders
        if len(inputs) + len(outputs) != len(row["args"]):
            raise MalformedBuffer(f"{name} has {len(row['args'])} arguments and results")
        given = [self._given(index) for index in row["args"][: len(inputs)]]
        for index, made in zip(row["args"][len(inputs) :], reader.translate(given), strict=True):
            result = self._define(index)
            self._convert(made, result, name)

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
                raise Unsupported(reason_against(_title(index, row)))
            self._draft.metas[name] = self._meta(row)
            place = _place(row)
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
        place, name = _place(row), self._names.get(index, "")
        if place is None and (name or row["data"] or _is_external(row)):
            return name or self._constant(index, row)
        shown = self._written.get(place, "") if place is not None else ""
        if not shown and row["data"]:
            raise Unsupported(reason_against(_title(index, row)))
        if not shown:
            raise MalformedBuffer(f"value {index} is read before anything writes it")
        return name if name == shown else self._view(index, row, shown)

    def _view(self, index: int, row: Row, shown: str) -> str:
        """A tensor that lies where another does."""
        meta, source = self._meta(row), self._draft.metas[shown]
        if meta.dtype != source.dtype or prod(_ints(meta)) != prod(_ints(source)):
            raise Unsupported(f"value {index} lies where {shown} does, and is no view of it")
        name = f"value {index} of {shown}"
        if name not in self._draft.metas:
            self._draft.metas[name] = meta
            args = [Argument("self", Ref(shown), False), Argument("size", _ints(meta), False)]
            self._draft.add(Call, "aten.view", args, [name], f"view {index}")
        return name

    def _constant(self, index: int, row: Row) -> str:
        name = f"constant {index}"
        if name not in self._draft.metas:
            title = _title(index, row)
            meta = self._meta(row)
            shape = _ints(meta)
            if _is_external(row):
                data = self._file.named(row["extra"]["name"])
                if data is None:
                    raise Unsupported(
                        f"{title} lies in another file (.ptd); export with the constants inside"
                    )
            else:
                data = self._file.constant(row["data"])
            order = list(row["dim_order"]) or list(range(len(shape)))
            if sorted(order) != list(range(len(shape))):
                raise MalformedBuffer(f"{title} has the order of dims {order}")
            stored = array_of(data, meta.dtype, tuple(shape[d] for d in order), title)
            array = stored.transpose([order.index(d) for d in range(len(order))])
            self._draft.add_weight(name, array, meta.dtype)
        self._names[index] = name
        return name

    def _meta(self, row: Row) -> Meta:
        sizes = row["sizes"]
        if min(sizes, default=0) < 0:
            raise MalformedBuffer(f"a tensor has the sizes {list(sizes)}")
        return Meta(of_program(row["type"]), tuple(sizes), ())


def _title(index: int, row: Row) -> str:
    """A tensor for people."""
    extra = row["extra"]
    return f"'{extra['name']}'" if extra is not None and extra["name"] else f"value {index}"


def _ints(meta: Meta) -> tuple[int, ...]:
    return tuple(size for size in meta.shape if isinstance(size, int))


def _place(row: Row) -> tuple[int, int] | None:
    """Where in the program's memory a tensor lies."""
    at = row["allocation"]
    return None if at is None else (at["memory"], at["high"] << 32 | at["low"])


def _is_external(row: Row) -> bool:
    return row["extra"] is not None and row["extra"]["place"] == _EXTERNAL
