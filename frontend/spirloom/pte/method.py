"""The methods of a program, before anything of them is imported."""

from __future__ import annotations

from collections.abc import Sequence

from spirloom.errors import ImportFailure
from spirloom.pte.file import ProgramFile
from spirloom.pte.flatbuffer import NOTHING, Member, Row
from spirloom.pte.tensors import is_external, place_of, title_of

VULKAN = "VulkanBackend"


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
        title_of(index, row)
        for index, (kind, row) in enumerate(values)
        if kind == "Tensor" and place_of(row) is None and (row["data"] or is_external(row))
    ]


def state_names(method: Row) -> list[str]:
    """The tensors of a method that are buffers which runs change: with a value of their own at
    first, or written in place and by nothing else."""
    values = [row["value"] or NOTHING for row in method["values"]]
    made: set[int] = set(method["inputs"])
    found = {i for i, (kind, row) in enumerate(values)
             if kind == "Tensor" and place_of(row) is not None and row["data"]}  # fmt: skip
    for row in instructions(method):
        kind, call = row["action"] or NOTHING
        if kind in ("KernelCall", "DelegateCall") and call["args"]:
            in_place = kind == "KernelCall" and call["args"][-1] == call["args"][0]
            if in_place and call["args"][0] not in made:
                found.add(call["args"][0])
            made.update(call["args"][1:])
    tensors = {i: row for i, (kind, row) in enumerate(values) if kind == "Tensor"}
    return [title_of(i, tensors[i]) for i in sorted(found & tensors.keys())]
