"""The calls listed in kernels.yaml and probes.yaml, as a case pack for spirloom-kernels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from spirloom import graph_file
from spirloom.casegen.arrays import Arrays, make_inputs
from spirloom.casegen.case_pack import Case, NamedArray, to_bytes
from spirloom.casegen.make import build_graph
from spirloom.casegen.runs import Run, case_name, run_of

from benchmarks.work import moved_bytes, multiply_adds
from spec_model import Library, Op, SpecError, load_library
from spec_model.fields import Fields, as_sequence, as_word
from spec_model.load.cases import load_case
from spec_model.vocabulary import DType, Storage
from spec_model.yaml_reader import Node, SourceFile, read_yaml

ROOT = Path(__file__).resolve().parent.parent
PROBES = ROOT / "tools" / "peaks"
# Templates without a call in kernels.yaml, and the reason.
NOT_TIMED = {
    "fill": "it has no tensor arguments, so constant folding computes it at load time",
    **dict.fromkeys(("write", "read", "shared_load"), "spirloom-run --peaks measures it"),
}
TABLES = (ROOT / "benchmarks" / "probes.yaml", ROOT / "benchmarks" / "kernels.yaml")


@dataclass(frozen=True, slots=True)
class Call:
    """A call to time. `family` is the template of its kernel; counts are per call."""

    id: str
    family: str
    op: str
    variant: str
    multiply_adds: int
    bytes: int


def library() -> Library:
    """Spirloom's operators and the probes."""
    return load_library(
        [ROOT / "op_specs", PROBES / "op_specs"],
        [ROOT / "templates" / "glsl", PROBES / "templates"],
    )


def write_calls(path: Path, tables: tuple[Path, ...] = TABLES) -> list[Call]:
    """Writes the case pack of the tables' calls. Raises SpecError for an invalid table."""
    found = list(calls_of(library(), tables))
    path.write_bytes(to_bytes(case for _, case in found))
    return [call for call, _ in found]


def calls_of(ops: Library, tables: tuple[Path, ...]) -> Iterator[tuple[Call, Case]]:
    """The calls of the tables, in order."""
    for table in tables:
        name = table.relative_to(ROOT) if table.is_relative_to(ROOT) else table
        root = read_yaml(SourceFile(table, str(name)))
        for entry in root.entries:
            for row in as_sequence(entry.value, f"'{entry.key.text}'").items:
                yield _call(ops, entry.key.text, row)


def _call(ops: Library, family: str, row: Node) -> tuple[Call, Case]:
    fields = Fields.of(row, "a call", ("op", "call", "dtype", "storage"))
    name = fields.need_scalar("op")
    if name.text not in ops.ops:
        raise SpecError.at(name.position, f"Operator '{name.text}' has no spec.")
    op = ops.ops[name.text]
    return _case(family, _run(op, family, fields))


def _run(op: Op, family: str, fields: Fields) -> Run:
    """The call for the first variant of the template that supports it."""
    kernels = {kernel.name: kernel for kernel in op.kernels}
    test = load_case(fields.need("call"), op.args, kernels)
    dtype, storage = fields.get("dtype"), fields.get("storage")
    wanted = (
        DType.F32 if dtype is None else as_word(dtype, DType, "DType"),
        Storage.BUFFER if storage is None else as_word(storage, Storage, "Storage"),
    )
    for variant in op.variants:
        template = variant.kernel.template.removesuffix(".glsl.j2")
        if (variant.dtype, variant.storage) != wanted or template != family:
            continue
        run = run_of(op, case_name(op, test.args), test, variant)
        if run is not None:
            return run
    message = f"No kernel of {op.name} with template {family}.glsl.j2 computes the call in "
    message += f"{wanted[0]} and {wanted[1]}."
    raise SpecError.at(test.position, message)


def _case(family: str, run: Run) -> tuple[Call, Case]:
    expected = tuple(
        NamedArray(output.name, tensor.dtype, np.empty(tensor.shape, tensor.dtype.numpy))
        for output, tensor in zip(run.op.outputs, run.outputs, strict=True)
    )
    built = build_graph(run, Arrays(make_inputs(run), expected))
    node = built.graph.nodes[-1]
    args = dict(zip((arg.name for arg in run.op.args), node.args, strict=True))
    call = Call(
        id=run.id,
        family=family,
        op=run.op.name,
        variant=run.variant.id,
        multiply_adds=multiply_adds(node, args),
        bytes=moved_bytes(node, args),
    )
    case = Case(
        id=run.id,
        op=run.op.name,
        variant=run.variant.id,
        kernel=run.variant.kernel.name,
        storage=run.variant.storage,
        graph=graph_file.to_bytes(built.graph),
        inputs=built.inputs,
        expected=(),  # tests compare results, benchmarks do not
        tolerances=(),
    )
    return call, case
