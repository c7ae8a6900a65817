"""Values that cannot cross a delegate's border: ExecuTorch passes tensors of some dtypes only."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from spirloom.errors import NodeProblem, NodesUnsupported
from spirloom.torch.program import ArgValue, Call, Program, Ref, output_names
from spirloom.torch.support_survey import input_names

# The dtypes of a delegate's inputs and outputs.
_DTYPES = frozenset({"bool", "uint8", "int8", "int32", "int64", "float16", "bfloat16", "float32"})


class Borders:
    """The calls of a program that read or write values which only one delegate may contain.

    A call must run on the host if such a value of it is also used there. The others must be in one
    delegate with all calls that use the value.
    """

    def __init__(self, program: Program, sym_ints: Collection[str]) -> None:
        self._calls = program.calls
        known = {*program.metas, *sym_ints, *(item.name for item in program.inputs)}
        self._users: dict[str, list[int]] = {}  # value → calls
        self._reasons: dict[str, str] = {}
        for i, call in enumerate(program.calls):
            for name in _values(call):
                reason = _reason(program, name, known)
                if reason:
                    self._reasons[name] = reason
                    self._users.setdefault(name, []).append(i)
        outside = {item.name for item in program.inputs} | set(_names(program.outputs))
        self._outside = outside & self._users.keys()

    def on_host(self, reasons: Mapping[int, str]) -> dict[int, str]:
        """`reasons`, the calls on the host, with those that must then run there too."""
        found = dict(reasons)
        outside = set(self._outside)
        while True:
            outside |= {n for n, users in self._users.items() if any(i in found for i in users)}
            more = {i: self._reasons[name] for name in outside for i in self._users[name]}
            if more.keys() <= found.keys():
                return found
            found = {**more, **found}

    def groups(self, on_host: Mapping[int, str]) -> tuple[tuple[int, ...], ...]:
        """The calls that must be in one delegate."""
        return tuple(
            tuple(users)
            for users in self._users.values()
            if len(users) > 1 and not any(i in on_host for i in users)
        )

    def check(self, inputs: Sequence[str], outputs: Sequence[str]) -> None:
        """Raises NodesUnsupported for the calls that use a value which may not be one of these."""
        names = [name for name in (*inputs, *outputs) if name in self._users]
        problems = [
            NodeProblem(call.target, output_names(call)[0], self._reasons[name])
            for name in names
            for call in (self._calls[i] for i in self._users[name])
            if output_names(call)
        ]
        if problems:
            raise NodesUnsupported("A delegate cannot pass these values:", tuple(problems))


def _reason(program: Program, name: str, known: Collection[str]) -> str:
    """The reason why a value cannot cross a border; "" if it can."""
    if name not in known:
        return f"'{name}' is a scalar, which is not a valid delegate input"
    meta = program.metas.get(name)
    if meta is not None and meta.dtype not in _DTYPES:
        return f"'{name}' is {meta.dtype}, which is not a valid dtype of delegate inputs"
    return ""


def _values(call: Call) -> list[str]:
    return list(dict.fromkeys((*input_names(call), *output_names(call))))


def _names(outputs: Sequence[ArgValue]) -> list[str]:
    items = [
        item for given in outputs for item in (given if isinstance(given, tuple) else (given,))
    ]
    return [item.name for item in items if isinstance(item, Ref)]
