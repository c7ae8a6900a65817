"""Assertions of programs, which are not imported, and the calls that only they read."""

from __future__ import annotations

from spirloom.torch.in_place import out_of_place, value_names
from spirloom.torch.program import Call, Program, output_names

ASSERTIONS = (
    "aten._assert_tensor_metadata", "aten._assert_scalar", "aten.sym_constrain_range",
    "aten.sym_constrain_range_for_size", "aten._assert_async", "aten._assert_async.msg",
    "torch._check", "aten.sym_constrain_range_for_size.default", "aten._linalg_check_errors",
)  # fmt: skip


def without_asserted(program: Program) -> list[Call]:
    """The calls of a program without those whose results only assertions read, such as the
    comparison in `assert lengths.max() <= size`.
    """
    unread: set[str] = set()  # by no kept call, but by assertions
    read = {
        name
        for given in (*program.outputs, *program.updates.values())
        for name in value_names(given)
    }
    kept: list[Call] = []
    for call in reversed(program.calls):
        results = output_names(call)
        names = [name for arg in call.arguments for name in value_names(arg.value)]
        asserted = call.target in ASSERTIONS or (
            bool(results)
            and out_of_place(call.target)[1] is None
            and not read.intersection(results)
            and not unread.isdisjoint(results)
        )
        if asserted:
            unread.update(names)
        else:
            read.update(names)
            kept.append(call)
    return kept[::-1]
