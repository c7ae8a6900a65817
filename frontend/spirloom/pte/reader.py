"""Converts a method of a program to a PyTorch program: calls in order, with named values.

Views are no instructions: they are found by the memory plan. A tensor at the memory location of
another one is a view of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from spec_model.flatbuffer import NOTHING, MalformedBuffer, Member, Row
from spirloom.errors import ImportFailure, Unsupported
from spirloom.op_library import OpLibrary
from spirloom.pte.delegate import DelegateReader, check_count
from spirloom.pte.file import ProgramFile
from spirloom.pte.graph_delegate import GraphInliner
from spirloom.pte.kernel_calls import Kernel, ProgramDraft, UnsupportedCall, arguments, kernels
from spirloom.pte.method import (
    SPIRLOOM,
    VULKAN,
    constant,
    initial_value,
    instructions,
    ints,
    is_external,
    label_of,
    memory_location,
)
from spirloom.torch.program import (
    Argument,
    ArgValue,
    Call,
    IgnoredValue,
    Input,
    Kind,
    PlainValue,
    Program,
    Ref,
    TensorMeta,
    TypeName,
)
from spirloom.torch.values import scalar_type

_IGNORED_ARGUMENTS = frozenset({"layout", "device", "memory_format", "pin_memory", "dim_order"})


def program_of(file: ProgramFile, method: Row, library: OpLibrary) -> Program:
    """Converts a method. Raises ImportFailure."""
    try:
        return _Reader(file, method, library).read()
    except MalformedBuffer as error:
        raise ImportFailure(f"{file.path} is damaged: {error}.") from None
    except Unsupported as error:
        raise ImportFailure(f"{file.path} cannot be imported: {error}.") from None


class _Reader:
    def __init__(self, file: ProgramFile, method: Row, library: OpLibrary) -> None:
        self._file = file
        self._library = library
        self._method = method
        self._values: list[Member | None] = [row["value"] for row in method["values"]]
        self._draft = ProgramDraft()
        self._names: dict[int, str] = {}  # value → its current name
        self._memory_contents: dict[tuple[int, int], str] = {}  # location → last written value
        self._counts: dict[int, int] = {}
        self._states: dict[int, str] = {}  # value → its state

    def read(self) -> Program:
        for position, index in enumerate(self._method["inputs"]):
            self._add_input(position, index)
        for position, row in enumerate(instructions(self._method)):
            self._add_instruction(position, row["action"])
        outputs = tuple(self._argument_value(index) for index in self._method["outputs"])
        self._end_states()
        draft = self._draft
        return Program(
            str(self._file.path), tuple(draft.inputs), outputs, tuple(draft.calls), draft.metas,
            weights=draft.weights, mutated=tuple(draft.updates), updates=draft.updates,
            ranges=draft.ranges,
        )  # fmt: skip

    def _add_input(self, position: int, index: int) -> None:
        name = f"input{position}"
        kind, row = self._value(index)
        if kind != "Tensor":
            # Programs are exported for one value of a scalar input.
            self._draft.inputs.append(Input(name, Kind.USER, fixed=row.get("value")))
            return
        self._draft.inputs.append(Input(name, Kind.USER))
        self._define(index, name)

    def _value(self, index: int) -> Member:
        if not 0 <= index < len(self._values):
            raise MalformedBuffer(f"value index {index} is out of range of {len(self._values)}")
        return self._values[index] or NOTHING

    def _add_instruction(self, position: int, action: Member | None) -> None:
        kind, row = action or NOTHING
        match kind:
            case "KernelCall":
                self._add_kernel(f"kernel {position}", row)
            case "DelegateCall":
                self._add_delegate(f"delegate {row['delegate']}.{position}", row)
            case "MoveCall":
                self._add_move(row)
            case "FreeCall":
                pass
            case "JumpFalse":
                label = f"instruction {position}"
                self._add_unsupported("JumpFalse", (), label, "data-dependent control flow")
            case _:
                raise MalformedBuffer(f"instruction {position} has an unknown type")

    def _add_move(self, row: Row) -> None:
        source = self._argument_value(row["source"])
        if not isinstance(source, Ref):
            raise Unsupported(f"an instruction moves a scalar to value {row['target']}")
        self._names[row["target"]] = source.name
        kind, target = self._value(row["target"])
        location = memory_location(target) if kind == "Tensor" else None
        if location is not None:
            self._memory_contents[location] = source.name

    def _add_kernel(self, module: str, row: Row) -> None:
        operators = self._method["operators"]
        if not 0 <= row["operator"] < len(operators):
            raise MalformedBuffer(
                f"operator index {row['operator']} of {module} is out of range of {len(operators)}"
            )
        operator = operators[row["operator"]]
        name = operator["name"] + (f".{operator['overload']}" if operator["overload"] else "")
        kernel = kernels().get(name)
        try:
            if kernel is None:
                raise Unsupported("no operator corresponds to this kernel")
            self._call_kernel(name, module, kernel, row["args"])
        except Unsupported as error:
            self._add_unsupported(name, row["args"][-1:], module, str(error))

    def _call_kernel(self, name: str, module: str, kernel: Kernel, args: Sequence[int]) -> None:
        count = len(kernel.names)
        if len(args) <= count:
            raise MalformedBuffer(
                f"{name} has {len(args)} arguments and results; expected more than {count}"
            )
        written = args[count:-1] if len(args) > count + 1 else args[count:]
        inputs = [i for i, index in enumerate(self._method["inputs"]) if index in written]
        if inputs:
            raise Unsupported(
                f"it mutates input {inputs[0]}; register that as a buffer of the module"
            )
        values = [self._argument(n, a) for n, a in zip(kernel.names, args, strict=False)]
        bound = arguments(values, kernel)
        results = [self._results(index) for index in written]
        self._draft.add(Call, kernel.target, bound, results, module)

    def _argument(self, name: str, index: int) -> ArgValue:
        """Converts an argument; dtypes and similar enums are stored as ints."""
        if name in _IGNORED_ARGUMENTS:
            return IgnoredValue(name)
        kind, row = self._value(index)
        if name == "dtype" and kind == "Int":
            return TypeName(scalar_type(row["value"]))
        return self._argument_value(index)

    def _add_delegate(self, module: str, row: Row) -> None:
        delegates = self._method["delegates"]
        if not 0 <= row["delegate"] < len(delegates):
            raise MalformedBuffer(
                f"{module}: the delegate index is out of range of {len(delegates)}"
            )
        delegate = delegates[row["delegate"]]
        try:
            if delegate["id"] not in (VULKAN, SPIRLOOM):
                raise Unsupported(
                    "delegates of this backend cannot be imported; export with "
                    "SpirloomPartitioner, ExecuTorch's VulkanPartitioner or no partitioner"
                )
            inline = self._call_delegate if delegate["id"] == VULKAN else self._call_graph
            inline(module, delegate, row["args"])
        except Unsupported as error:
            new = [i for i in row["args"] if i not in self._names and not self._is_constant(i)]
            self._add_unsupported(delegate["id"], new, module, str(error))

    def _call_delegate(self, module: str, delegate: Row, args: Sequence[int]) -> None:
        data = self._file.delegate_data(delegate["processed"])
        reader = DelegateReader(data, self._file.named, module, self._draft)
        inputs, outputs = reader.io_values
        check_count(module, len(args), len(inputs), len(outputs))
        values = [self._argument_value(index) for index in args[: len(inputs)]]
        for index, output in zip(args[len(inputs) :], reader.translate(values), strict=True):
            self._convert(output, self._define(index), module)

    def _call_graph(self, module: str, delegate: Row, args: Sequence[int]) -> None:
        data = self._file.delegate_data(delegate["processed"])
        inliner = GraphInliner(data, module, self._draft, self._library)
        count = len(args) - inliner.outputs
        if count < 0:
            raise MalformedBuffer(
                f"{module} has {inliner.outputs} outputs; the call passes {len(args)} values"
            )
        # Other values are sizes, which the shapes of the tensors determine.
        tensors = [index for index in args[:count] if self._value(index)[0] == "Tensor"]
        values = [self._argument_value(index) for index in tensors]
        for index, output in zip(args[count:], inliner.translate(values), strict=True):
            self._convert(output, self._define(index), module)

    def _is_constant(self, index: int) -> bool:
        kind, row = self._value(index)
        return kind == "Tensor" and memory_location(row) is None and bool(row["data"])

    def _convert(self, output: ArgValue, result: str, name: str) -> None:
        """Converts a result of a delegate to the program's dtype."""
        args = [Argument("self", output, False)]
        self._draft.add(Call, "aten._to_copy", args, [result], f"{name}/result")

    def _add_unsupported(
        self, target: str, written: Sequence[int], module: str, reason: str
    ) -> None:
        results = [self._results(i) for i in written if self._value(i)[0] in ("Tensor", "Tensors")]
        self._draft.add(UnsupportedCall, target, (), results, module, reason=reason)

    def _results(self, index: int) -> str | tuple[str, ...]:
        kind, row = self._value(index)
        if kind in ("Tensors", "OptionalTensors"):
            return tuple(self._define(item) for item in row["items"])
        return self._define(index)

    def _define(self, index: int, name: str = "") -> str:
        """Defines the next version of a value and returns its name."""
        kind, row = self._value(index)
        count = self._counts[index] = self._counts.get(index, 0) + 1
        name = name or f"value {index}" + (f".{count}" if count > 1 else "")
        self._names[index] = name
        if kind == "Tensor":
            if row["data"]:
                self._state(index, row)
            self._draft.metas[name] = self._meta(row)
            location = memory_location(row)
            # An empty tensor may share its location with another tensor.
            if location is not None and 0 not in row["sizes"]:
                self._memory_contents[location] = name
        return name

    def _argument_value(self, index: int) -> ArgValue:
        """Converts a value to an argument."""
        kind, row = self._value(index)
        match kind:
            case "Ints":
                return tuple(self._scalar_or_ref(item) for item in row["items"])
            case "Doubles" | "Bools":
                return tuple(row["items"])
            case "Tensors":
                return tuple(self._scalar_or_ref(item) for item in row["items"])
            case "OptionalTensors":
                return tuple(None if i == -1 else self._scalar_or_ref(i) for i in row["items"])
        return self._scalar_or_ref(index)

    def _scalar_or_ref(self, index: int) -> PlainValue:
        kind, row = self._value(index)
        if kind == "Tensor":
            return Ref(self._tensor(index, row))
        if index in self._names:
            return Ref(self._names[index])
        if kind not in ("Null", "Int", "Bool", "Double", "Text"):
            raise MalformedBuffer(f"value {index} is a nested list")
        return row.get("value")

    def _tensor(self, index: int, row: Row) -> str:
        """The name of a tensor: computed, constant, or a view."""
        location, name = memory_location(row), self._names.get(index, "")
        if location is None and (name or row["data"] or is_external(row)):
            return name or self._constant(index, row)
        if location is None:
            raise MalformedBuffer(f"value {index} is read before it is defined")
        if name and 0 in row["sizes"]:
            return name
        base = self._memory_contents.get(location, "")
        if not base:
            return self._state(index, row)
        return name if name == base else self._view(index, row, base)

    def _state(self, index: int, row: Row) -> str:
        """The name of a mutable buffer's value before a run."""
        if index in self._states:
            return self._states[index]
        own: str = row["extra"]["name"] if row["extra"] is not None else ""
        name = own if own and own not in self._draft.metas else f"state {index}"
        meta = self._meta(row)
        value = initial_value(self._file, row, meta, label_of(index, row))
        self._draft.add_state(name, value, meta.dtype)
        self._states[index] = self._names[index] = name
        location = memory_location(row)
        if location is not None:
            self._memory_contents[location] = name
        return name

    def _end_states(self) -> None:
        """Sets the updates of the states: the last values at their memory locations."""
        for index, name in self._states.items():
            _, row = self._value(index)
            update = self._tensor(index, row)
            if update == name and not row["data"]:
                raise Unsupported(f"{label_of(index, row)} is read, but never written")
            self._draft.updates[name] = Ref(update)

    def _view(self, index: int, row: Row, base: str) -> str:
        """Adds a view of `base`, a tensor at the same memory location."""
        meta, source = self._meta(row), self._draft.metas[base]
        same = meta.dtype == source.dtype and prod(ints(meta)) == prod(ints(source))
        if not same or list(row["dim_order"]) != sorted(row["dim_order"]):
            raise Unsupported(
                f"value {index} has the memory location of {base}, but is not a view of it"
            )
        name = f"value {index} of {base}"
        if name not in self._draft.metas:
            self._draft.metas[name] = meta
            args = [Argument("self", Ref(base), False), Argument("size", ints(meta), False)]
            self._draft.add(Call, "aten.view", args, [name], f"view {index}")
        return name

    def _constant(self, index: int, row: Row) -> str:
        name = f"constant {index}"
        if name not in self._draft.metas:
            meta = self._meta(row)
            array = constant(self._file, row, meta, label_of(index, row))
            self._draft.add_weight(name, array, meta.dtype)
        self._names[index] = name
        return name

    def _meta(self, row: Row) -> TensorMeta:
        sizes = row["sizes"]
        if min(sizes, default=0) < 0:
            raise MalformedBuffer(f"a tensor has the invalid shape {list(sizes)}")
        return TensorMeta(scalar_type(row["type"]), tuple(sizes), ())
