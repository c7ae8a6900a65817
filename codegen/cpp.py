"""Specs → C++ tables: what templates/cpp/*.j2 are filled with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import jinja2

from codegen.expr.emit import CPP_TYPES, emit, quoted
from codegen.expr.types import Expr, Kind, Origin, Variable, names_of
from codegen.loader import Library
from codegen.op import Op
from codegen.signature import variable_of
from codegen.spec import ArgType, Axis, Check, Kernel, Let, Operand, Pack, dtype_source
from codegen.vocabulary import Storage

_ARG_TYPES = {
    ArgType.TENSOR: "kTensor",
    ArgType.TENSORS: "kTensorList",
    ArgType.INT: "kInt",
    ArgType.FLOAT: "kFloat",
    ArgType.BOOL: "kBool",
    ArgType.INTS: "kInts",
    ArgType.STR: "kString",
}


@dataclass(frozen=True, slots=True)
class Local:
    """A name a function declares before it uses it: an argument, an output or a let."""

    origin: str  # "arg", "out" or "let"
    kind: str
    type: str  # of a let, in C++
    name: str
    index: int  # of an argument or output
    value: str  # of a let


class CppWriter:
    """Renders the C++ of a library."""

    def __init__(self, templates: Path, library: str, function: str, digest: int) -> None:
        self._facts = {
            "library": quoted(library),
            "function": function,
            "digest": f"0x{digest:016x}",
        }
        self._environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(templates),
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            auto_reload=False,
        )
        self._environment.filters["quoted"] = quoted

    def files(self, library: Library) -> Iterator[tuple[str, str]]:
        """Names and texts of the files, relative to the output folder."""
        ops = list(library.ops.values())
        names = ["cpp/library.cpp"]
        yield names[0], self._render("library.cpp.j2", ops=[OpCode(op) for op in ops])
        for op in ops:
            names.append(f"cpp/ops/{op.short_name}.cpp")
            yield names[-1], self.op_text(op)
        yield "cpp/sources.cmake", self._render("sources.cmake.j2", names=sorted(names))

    def op_text(self, op: Op) -> str:
        """The file of one op."""
        return self._render("op.cpp.j2", op=OpCode(op))

    def _render(self, template: str, **values: object) -> str:
        return self._environment.get_template(template).render(self._facts | values)


class OpCode:
    """What templates ask of an op."""

    def __init__(self, op: Op) -> None:
        self._op = op
        self.name, self.short_name = op.name, op.short_name
        self.namespace = f"op_{op.short_name}"
        self.source = op.position.file
        self.args = [
            {"name": arg.name, "type": _ARG_TYPES[arg.type], "optional": arg.optional}
            for arg in op.args
        ]
        self.output_count = len(op.outputs)
        self.view_of = -1 if op.view_of is None else op.view_of

    @property
    def kernels(self) -> list[KernelCode]:
        """The kernels in order of preference."""
        return [KernelCode(self._op, kernel) for kernel in self._op.kernels]

    @property
    def kernel_count(self) -> int:
        """How many there are."""
        return len(self._op.kernels)

    @property
    def infer_args(self) -> list[Local]:
        """The args that shape inference reads."""
        op = self._op
        steps = [step.value if isinstance(step, Let) else step.condition for step in op.steps]
        formulas = [formula for output in op.outputs for formula in (output.shape, output.dtype)]
        used = set(names_of(*steps, *formulas))
        used |= {arg.name for arg in op.args if arg.length is not None}
        used |= {row["name"] for row in self.dtype_checks}
        source = dtype_source(op.args)
        if source is not None and any(row["follows"] for row in self.dtype_checks):
            used.add(source.name)
        return [local for local in _locals(op, used) if local.origin == Origin.ARG]

    @property
    def lengths(self) -> list[dict[str, object]]:
        """The args with a fixed number of ints."""
        return [
            {"name": arg.name, "arg": f"arg_{arg.name}", "count": arg.length}
            for arg in self._op.args
            if arg.length is not None
        ]

    @property
    def dtype_checks(self) -> list[dict[str, str]]:
        """What every tensor's dtype must be: a constant or that of the first."""
        source = dtype_source(self._op.args)
        rows = []
        for arg in self._op.args:
            if not arg.type.is_tensor or arg.any_dtype:
                continue
            wanted = follows = ""
            if arg.dtype is not None:
                wanted = f"DType::k{arg.dtype.upper()}"
            elif source is not None and (arg is not source or arg.type is ArgType.TENSORS):
                first = follows = f"arg_{source.name}"
                is_list = source.type is ArgType.TENSORS
                wanted = f"eval.At({first}, 0).dtype" if is_list else f"{first}.dtype"
            if wanted:
                rows.append(
                    {
                        "name": arg.name,
                        "arg": f"arg_{arg.name}",
                        "kind": "list" if arg.type is ArgType.TENSORS else "tensor",
                        "wanted": wanted,
                        "follows": follows,
                    }
                )
        return rows

    @property
    def steps(self) -> list[dict[str, str]]:
        """Lets and checks in order."""
        return [_step(step) for step in self._op.steps]

    @property
    def outputs(self) -> list[dict[str, str]]:
        """The outputs' formulas."""
        return [{"dtype": _code(y.dtype), "shape": _code(y.shape)} for y in self._op.outputs]


class KernelCode:
    """What templates ask of a kernel."""

    def __init__(self, op: Op, kernel: Kernel) -> None:
        self._op, self._kernel = op, kernel
        self.name, self.index = kernel.name, kernel.index
        self.push_bytes, self.constant_count = kernel.push_bytes, len(kernel.constants)

    @property
    def storages(self) -> int:
        """The bits of KernelInfo::storages."""
        axis = next(axis for axis in self._kernel.axes if axis.name == "storage")
        return sum(1 << value.code for value in axis.values if isinstance(value, Storage))

    @property
    def operands(self) -> list[dict[str, object]]:
        """The rows of the operand table."""
        return [self._operand(operand) for operand in self._kernel.operands]

    def _operand(self, x: Operand) -> dict[str, object]:
        fixed = x.storage if isinstance(x.storage, Storage) else None
        names = {None: "kAuto", Storage.BUFFER: "kBuffer", Storage.TEXTURE3D: "kTexture3D"}
        return {
            "name": x.name,
            "source": "kOutput" if x.is_output else "kArg",
            "index": x.index,
            "list": x.is_list,
            "access": {"read": "kRead", "write": "kWrite", "readwrite": "kReadWrite"}[x.access],
            "storage": names[fixed],
            "own_storage": x.own_storage,
            "pack": self._pack(x.pack) if x.pack else None,
        }

    def _pack(self, pack: Pack) -> dict[str, object]:
        values = [value for value in pack.args if value is not None]
        rows = [
            {"kind": "absent" if value is None else value.kind.value, "value": _code_or(value)}
            for value in pack.args
        ]
        return {"op": pack.op, "args": rows, "locals": self._locals(values)}

    @property
    def when(self) -> dict[str, object] | None:
        """Whether the kernel fits a call."""
        return self._function(self._kernel.when)

    @property
    def repeat(self) -> dict[str, object] | None:
        """How many dispatches a call takes."""
        return self._function(self._kernel.repeat)

    def _function(self, value: Expr | None) -> dict[str, object] | None:
        if value is None:
            return None
        return {"value": _code(value), "locals": self._locals([value])}

    @property
    def key(self) -> dict[str, object]:
        """The variant's key: a part for each axis."""
        axes = self._kernel.axes
        parts = [_key_part(axis, place) for place, axis in enumerate(axes)]
        return {"parts": parts, "locals": self._locals([a.of for a in axes if a.of is not None])}

    @property
    def push(self) -> dict[str, object]:
        """The push-constant block's members."""
        members = [
            {
                "kind": m.value.kind.value,
                "offset": m.offset,
                "count": m.count,
                "value": _code(m.value),
            }
            for m in self._kernel.push
        ]
        return {"members": members, "locals": self._locals([m.value for m in self._kernel.push])}

    @property
    def grid(self) -> dict[str, object]:
        """The invocations in x, y and z."""
        sizes = self._kernel.grid
        return {"sizes": [_code(size) for size in sizes], "locals": self._locals(sizes)}

    @property
    def constants(self) -> dict[str, object]:
        """The specialisation constants' values."""
        rows = [{"kind": c.type, "value": _code(c.value)} for c in self._kernel.constants]
        return {"rows": rows, "locals": self._locals([c.value for c in self._kernel.constants])}

    def _locals(self, values: Iterable[Expr]) -> list[Local]:
        return _locals(self._op, set(names_of(*values)))


def _name(variable: Variable) -> str:
    if variable.origin is Origin.SPECIAL:
        return variable.name
    return f"{variable.origin}_{variable.name}"


def _code(expression: Expr) -> str:
    return emit(expression, _name)


def _code_or(expression: Expr | None) -> str:
    return "" if expression is None else _code(expression)


def _step(step: Let | Check) -> dict[str, str]:
    if isinstance(step, Let):
        value = step.value
        return {
            "type": CPP_TYPES[value.kind],
            "name": f"let_{step.name}",
            "value": _code(value),
            "text": "",
        }
    sides = [_code(side) for side in step.sides] if step.sides else ["", ""]
    return {
        "type": "",
        "text": quoted(step.text),
        "value": _code(step.condition),
        "left": sides[0],
        "right": sides[1],
    }


def _key_part(axis: Axis, place: int) -> dict[str, object]:
    is_int = isinstance(axis.values[0], int)
    codes = [(value, code) for code, value in enumerate(axis.values)] if is_int else []
    value = "storage" if axis.of is None else _code(axis.of)
    return {"name": axis.name, "shift": 4 * place, "codes": codes, "value": value}


def _locals(op: Op, used: set[str]) -> list[Local]:
    """Declarations for the names, lets among them bringing their own, in an order that works."""
    lets = [step for step in op.steps if isinstance(step, Let)]
    for let in reversed(lets):
        if let.name in used:
            used |= let.value.names
    result = [
        Local("arg", variable_of(arg).kind.value, "", f"arg_{arg.name}", arg.index, "")
        for arg in op.args
        if arg.name in used
    ]
    result += [
        Local("out", Kind.TENSOR.value, "", f"out_{y.name}", y.index, "")
        for y in op.outputs
        if y.name in used
    ]
    return result + [
        Local("let", x.value.kind, CPP_TYPES[x.value.kind], f"let_{x.name}", 0, _code(x.value))
        for x in lets
        if x.name in used
    ]
