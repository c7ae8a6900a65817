"""What the C++ templates ask of a kernel."""

from __future__ import annotations

from collections.abc import Iterable

from codegen.cpp.code import Local, code, code_or, locals_of
from codegen.expr.types import Expr, names_of
from codegen.op import Op
from codegen.spec import Axis, Kernel, Operand, Pack
from codegen.vocabulary import Storage


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
            {"kind": "absent" if value is None else value.kind.value, "value": code_or(value)}
            for value in pack.args
        ]
        return {"op": pack.op, "args": rows, "locals": self._locals(values)}

    @property
    def when(self) -> dict[str, object] | None:
        """Whether the kernel fits a call."""
        return self._function(self._kernel.when)

    @property
    def prefer(self) -> dict[str, object] | None:
        """Whether a device is better served by it than by the kernels after it."""
        return self._function(self._kernel.prefer)

    @property
    def repeat(self) -> dict[str, object] | None:
        """How many dispatches a call takes."""
        return self._function(self._kernel.repeat)

    def _function(self, value: Expr | None) -> dict[str, object] | None:
        if value is None:
            return None
        return {"value": code(value), "locals": self._locals([value])}

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
                "value": code(m.value),
            }
            for m in self._kernel.push
        ]
        return {"members": members, "locals": self._locals([m.value for m in self._kernel.push])}

    @property
    def grid(self) -> dict[str, object]:
        """The invocations in x, y and z."""
        sizes = self._kernel.grid
        return {"sizes": [code(size) for size in sizes], "locals": self._locals(sizes)}

    @property
    def constants(self) -> dict[str, object]:
        """The specialisation constants' values."""
        rows = [{"kind": c.type, "value": code(c.value)} for c in self._kernel.constants]
        return {"rows": rows, "locals": self._locals([c.value for c in self._kernel.constants])}

    def _locals(self, values: Iterable[Expr]) -> list[Local]:
        return locals_of(self._op, set(names_of(*values)))


def _key_part(axis: Axis, place: int) -> dict[str, object]:
    is_int = isinstance(axis.values[0], int)
    codes = [(value, number) for number, value in enumerate(axis.values)] if is_int else []
    value = "storage" if axis.of is None else code(axis.of)
    return {"name": axis.name, "shift": 4 * place, "codes": codes, "value": value}
