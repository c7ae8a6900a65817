"""Calls of the operators that no recorded network reaches, from their tests and kernel benchmarks.

- The calls of benchmarks/kernels.yaml, in all float dtypes.
- Of other operators, their test cases. If all tensors of a case have one shape, which the outputs
  have too, it is enlarged to shapes of networks.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from math import prod

from spirloom.casegen.call_graph import call_graph, run_in
from spirloom.casegen.runs import Run
from spirloom.ir import Node
from spirloom.op_library import OpError, OpLibrary

from benchmarks.calls import ROOT, library
from benchmarks.roofline.call import RecordedCall, record
from spec_model import Op, SpecError
from spec_model.expr.types import EvalError
from spec_model.fields import Fields, as_sequence
from spec_model.load.cases import load_case
from spec_model.op import packed_constants
from spec_model.spec import TensorCase, TestCase
from spec_model.vocabulary import DType, Storage
from spec_model.yaml_reader import SourceFile, read_yaml

TABLE = ROOT / "benchmarks" / "kernels.yaml"
SHAPES = ((1, 64, 112, 112), (1, 197, 768), (4096, 4096))
CASES = 3  # per operator and dtype


def unreached(reached: set[str], ops: OpLibrary) -> list[RecordedCall]:
    """Calls of all operators except those of the names in `reached`, and except views."""
    specs = library().ops
    tables = _table_cases()
    found: dict[str, RecordedCall] = {}
    for name in sorted(set(ops.names()) - reached):
        if not ops.is_view(name):
            for call in _calls_of(specs[name], tables.get(name, [])):
                with suppress(OpError):  # it only computes textures
                    call.graph(ops)
                    found.setdefault(call.key, call)
    return list(found.values())


def _table_cases() -> dict[str, list[TestCase]]:
    """The calls of kernels.yaml by operator."""
    specs = library().ops
    found: dict[str, list[TestCase]] = {}
    for entry in read_yaml(SourceFile(TABLE, TABLE.name)).entries:
        for row in as_sequence(entry.value, entry.key.text).items:
            fields = Fields.of(row, "a call", ("op", "call", "dtype", "storage"))
            op = specs[fields.need_scalar("op").text]
            kernels = {kernel.name: kernel for kernel in op.kernels}
            test = load_case(fields.need("call"), op.args, kernels)
            found.setdefault(op.name, []).append(replace(test, kernel=None))
    return found


def _calls_of(op: Op, table: list[TestCase]) -> Iterator[RecordedCall]:
    for dtype in (DType.F32, DType.F16, None):
        runs = list(_runs(op, table, dtype)) or list(_runs(op, _cases(op), dtype))
        if runs:
            yield from map(_recorded, runs[:CASES])
        if dtype is DType.F16 and any(v.dtype.is_float for v in op.variants):
            return  # without a dtype only for operators of integers


def _runs(op: Op, tests: list[TestCase], dtype: DType | None) -> Iterator[Run]:
    for test in tests:
        with suppress(EvalError, SpecError):
            run = run_in(op, replace(test, dtypes=None), dtype, Storage.BUFFER)
            if run is not None and all(prod(y.shape) for y in run.outputs):
                yield run


def _cases(op: Op) -> list[TestCase]:
    """Enlarged test cases, then test cases by descending size."""
    plain = [test for test in op.tests if test.kernel is None]
    enlarged = [_enlarged(test, shape) for test in plain[:1] for shape in SHAPES]
    fitting = [test for test in enlarged if test is not None and _keeps_shape(op, test)]
    return fitting or sorted(plain, key=lambda test: -sum(map(prod, _shapes(test))))


def _shapes(test: TestCase) -> list[tuple[int, ...]]:
    return [value.shape for value in test.args.values() if isinstance(value, TensorCase)]


def _enlarged(test: TestCase, shape: tuple[int, ...]) -> TestCase | None:
    """The case with the shape in place of the one shape of its tensors."""
    if len(set(_shapes(test))) != 1 or any(isinstance(v, tuple) for v in test.args.values()):
        return None
    args = {
        name: replace(v, shape=shape, values=None) if isinstance(v, TensorCase) else v
        for name, v in test.args.items()
    }
    return replace(test, args=args)


def _keeps_shape(op: Op, test: TestCase) -> bool:
    with suppress(EvalError, SpecError):
        run = run_in(op, test, None, Storage.BUFFER)
        return run is not None and {y.shape for y in run.outputs} == set(_shapes(test))
    return False


def _recorded(run: Run) -> RecordedCall:
    """The call, with the maxima of the case's integers."""
    graph = call_graph(run)
    node: Node = graph.nodes[-1]
    call = record(node)
    packed = packed_constants(run.op, [run.variant.kernel])
    args = list(call.args)
    for i, arg in enumerate(run.op.args):
        value = run.test.args[arg.name]
        if isinstance(value, TensorCase):
            more = {"max": _maximum(value)} if args[i]["dtype"] == "i32" else {}
            more |= {"constant": True} if arg.name in packed or value.constant else {}
            args[i] = {**args[i], **more}
    return RecordedCall(call.op, tuple(args), call.dtype)


def _maximum(value: TensorCase) -> int:
    """The maximum of a tensor of integers of a case."""
    if value.values is not None:
        return max(0, *(int(item) for item in value.values), 0)
    return 1 if value.range is None else max(0, int(value.range[1]))
