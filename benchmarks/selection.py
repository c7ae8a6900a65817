"""generated/kernel_selection.md: the kernels of the calls of selection.yaml on described devices.

python3 -m benchmarks.selection      # writes the page
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from spirloom import graph_file
from spirloom.casegen.call_graph import call_graph, run_in
from spirloom.casegen.explain import builtin_operators
from spirloom.casegen.runs import Run
from spirloom.described_devices import read_devices
from spirloom.kernel_selection import Dispatch, Selection, select

from benchmarks.calls import ROOT
from spec_model import Library, SpecError
from spec_model.fields import Fields, as_sequence, as_word
from spec_model.load.cases import load_case
from spec_model.vocabulary import DType, Storage
from spec_model.yaml_reader import Node, SourceFile, read_yaml

TABLE = Path(__file__).with_name("selection.yaml")
PAGE = ROOT / "generated" / "kernel_selection.md"
_HEAD = """\
# Kernel selection on described devices

The kernel that each device of `frontend/spirloom/devices.yaml` selects for the calls of
`benchmarks/selection.yaml`, with the workgroups of its dispatch. It comes from the runtime's own
selection (`spirloom-ops --select`); kernels that pack operands are left out. `spirloom op explain`
gives the reasons, and `python3 -m benchmarks.selection` writes this page.
"""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of the table."""

    group: str
    run: Run

    @property
    def title(self) -> str:
        """The call, e.g. `aten.mm f16: a 512x512, b 512x512`."""
        return f"{self.run.op.name} {self.run.variant.dtype}: {self.run.case.replace('_', ' ')}"


def read_calls(ops: Library, table: Path = TABLE) -> Iterator[Call]:
    """The calls of the table, in order. Raises SpecError for an invalid table."""
    root = read_yaml(SourceFile(table, table.name))
    for entry in root.entries:
        for row in as_sequence(entry.value, f"'{entry.key.text}'").items:
            yield Call(entry.key.text, _run(ops, row))


def _run(ops: Library, row: Node) -> Run:
    fields = Fields.of(row, "a call", ("op", "dtype", "call"))
    name = fields.need_scalar("op")
    if name.text not in ops.ops:
        raise SpecError.at(name.position, f"Operator '{name.text}' has no spec.")
    op = ops.ops[name.text]
    dtype = as_word(fields.need("dtype"), DType, "DType")
    test = load_case(fields.need("call"), op.args, {kernel.name: kernel for kernel in op.kernels})
    run = run_in(op, test, dtype, Storage.BUFFER)
    if run is None:
        raise SpecError.at(test.position, f"No kernel of {op.name} computes the call in {dtype}.")
    return run


def selections(calls: list[Call]) -> dict[str, list[Selection]]:
    """The selection for each call, by device."""
    graphs = [graph_file.to_bytes(call_graph(call.run)) for call in calls]
    found = select(graphs, read_devices())
    return {device: each.graphs for device, each in found.items()}


def page() -> str:
    """The text of the page."""
    calls = list(read_calls(builtin_operators()))
    found = selections(calls)
    lines = [_HEAD]
    group = ""
    for i, call in enumerate(calls):
        if call.group != group:
            group = call.group
            lines += [f"## {group.capitalize()}\n"]
        lines += [f"`{call.title}`\n", "| kernel | devices |", "|---|---|"]
        rows: dict[str, list[str]] = {}
        for device, selected in found.items():
            kernel, groups = _result(call, selected[i])
            rows.setdefault(kernel, []).append(device + groups)
        lines += [f"| {kernel} | {', '.join(devices)} |" for kernel, devices in rows.items()]
        lines += [""]
    return "\n".join(lines)


def _result(call: Call, selection: Selection) -> tuple[str, str]:
    """The kernel and the workgroups of the call itself."""
    if selection.error:
        missing = selection.error.partition(" requires ")[2].partition(" (node")[0]
        return f"not supported: {missing or selection.error.partition(chr(10))[0]}", ""
    own = [each for each in selection.dispatches if each.op == call.run.op.name]
    return (f"`{own[0].kernel}`", f" ({_groups(own)})") if own else ("a view", "")


def _groups(dispatches: list[Dispatch]) -> str:
    x, y, z = dispatches[0].groups
    w = dispatches[0].workgroup
    count = f"{len(dispatches)} × " if len(dispatches) > 1 else ""
    return f"{count}{x * y * z:,} of {w[0] * w[1] * w[2]}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
