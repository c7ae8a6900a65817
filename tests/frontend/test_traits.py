"""Traits of specs: true of the references on the specs' cases, and independent of templates."""

from __future__ import annotations

import dataclasses
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from spirloom.builder import Builder
from spirloom.casegen.arrays import Inputs, make_inputs, reference_results, value_of
from spirloom.casegen.runs import Run, runs_of
from spirloom.casegen.values import widened
from spirloom.cli import main
from spirloom.ir import Array, DType, Graph, Tensor
from spirloom.ops import OpLibrary
from spirloom.passes.permutations import move_permutations

from spec_model import ArgType, Op, SpecError, TensorCase, TensorType
from spec_model.traits import Trait
from tests.frontend import reference_run
from tests.frontend.models import ops

OPS = reference_run.OPS
MAX_CASES = 5  # per operator
LARGEST = float(np.finfo(np.float16).max)


def runs(op: Op, trait: Trait | None = None) -> list[Run]:
    """The first run of each case, with the trait if there is one, up to MAX_CASES of the spec's own
    and of its template's.
    """
    first: dict[int, Run] = {}
    for run in runs_of(op):
        if trait is None or op.has_trait(trait, _call(run)):
            first.setdefault(run.test.position.line, run)
    own = [run for run in first.values() if not run.test.shared]
    return [*own[:MAX_CASES], *(run for run in first.values() if run.test.shared)][: MAX_CASES + 3]


def _call(run: Run) -> dict[str, object]:
    """The arguments of a run, for formulas."""
    return {
        arg.name: _type(run.test.args[arg.name], run.dtypes.get(arg.name, DType.F32))
        for arg in run.op.args
    }


def _type(value: object, dtype: DType) -> object:
    if isinstance(value, TensorCase):
        return TensorType(value.shape, dtype)
    return tuple(_type(item, dtype) for item in value) if isinstance(value, tuple) else value


def values(op: Op, inputs: Inputs) -> list[Array]:
    """The tensors of the operator's dtype, as the reference reads them."""
    own = [arg.name for arg in op.args if arg.dtype is None and not arg.any_dtype]
    return [widened(x.data) for name in own for x in inputs.get(name, ())]


def results(op: Op, run: Run, inputs: Inputs) -> list[Array]:
    """The outputs of the operator's dtype."""
    named = zip(op.outputs, reference_results(run, inputs), strict=True)
    return [result for output, result in named if output.fixed_dtype is None]


def is_elementwise(op: Op, run: Run) -> bool:
    """Whether the results of reversed inputs, as vectors, are the results in reverse."""
    inputs = make_inputs(run)
    shapes = [x.data.shape for arrays in inputs.values() for x in arrays]
    ys = reference_results(run, inputs)
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        return False
    if any(y.shape != shape for y in ys) or len(ys) != 1 or not shapes:
        return False

    def reverse(x: Array) -> Array:
        return np.broadcast_to(x, shape).reshape(-1)[::-1]

    reversed_inputs = {
        name: tuple(dataclasses.replace(x, data=reverse(x.data)) for x in arrays)
        for name, arrays in inputs.items()
    }
    found = reference_results(run, reversed_inputs)
    return len(found) == 1 and np.array_equal(found[0], reverse(ys[0]), equal_nan=True)


def selects(op: Op, run: Run) -> bool:
    """Whether the elements of the results are elements of the inputs."""
    inputs = make_inputs(run)
    known = np.concatenate([np.ravel(x) for x in values(op, inputs)] or [np.zeros(0)])
    return all(_is_in(y, known) for y in results(op, run, inputs))


def is_exact(op: Op, run: Run) -> bool:
    """Whether they are these up to the sign, zero, or number arguments."""
    inputs = make_inputs(run)
    numbers = [arg for arg in op.args if arg.type in (ArgType.NUMBER, ArgType.FLOAT)]
    given = np.array([0.0, *(value_of(run, arg) for arg in numbers)])
    read = [np.ravel(x).astype(np.float64) for x in values(op, inputs)]
    known = np.concatenate([*read, *(-x for x in read), given])
    return all(_is_in(y, known) for y in results(op, run, inputs))


def _is_in(y: Array, known: Array) -> bool:
    return bool(
        (np.isin(y, known) | (np.isnan(y.astype(np.float64)) & np.isnan(known).any())).all()
    )


def returns_indices(op: Op, run: Run) -> bool:
    inputs = make_inputs(run)
    (first, *_) = (x.data for arrays in inputs.values() for x in arrays)
    named = zip(op.outputs, reference_results(run, inputs), strict=True)
    found = [result for output, result in named if output.fixed_dtype is DType.I32]
    return bool(found) and all(((y >= 0) & (y < max(first.size, 1))).all() for y in found)


def is_bounded(op: Op, run: Run) -> bool:
    """Whether results fit float16 also if the first tensor has large values."""
    inputs = dict(make_inputs(run))
    name, (x, *more) = next(iter(inputs.items()))
    with np.errstate(over="ignore"):
        inputs[name] = (dataclasses.replace(x, data=x.data * x.data.dtype.type(1e4)), *more)
    ys = results(op, run, inputs)
    return all((~np.isfinite(y) | (abs(y) <= LARGEST)).all() for y in ys)


CHECKS = {
    Trait.ELEMENTWISE: is_elementwise,
    Trait.SELECTS: selects,
    Trait.EXACT: is_exact,
    Trait.RETURNS_INDICES: returns_indices,
    Trait.BOUNDED: is_bounded,
}
WITH_POLES = ("aten.tan",)
HOLDERS = [(name, trait) for name, op in OPS.items() for trait in op.traits
           if trait in CHECKS and not (trait is Trait.BOUNDED and name in WITH_POLES)]  # fmt: skip


@pytest.mark.parametrize(("name", "trait"), HOLDERS)
def test_references_have_the_traits(name: str, trait: Trait) -> None:
    op = OPS[name]
    cases = runs(op, trait)
    assert cases
    for run in cases:
        assert CHECKS[trait](op, run), run.test.position


@pytest.mark.parametrize("name", [name for name, op in OPS.items() if not op.traits])
def test_elementwise_operators_have_the_trait(name: str) -> None:
    """An operator whose reference is elementwise has the trait, whatever its template is."""
    op = OPS[name]
    cases = runs(op)
    with suppress(SpecError):  # the reference rejects vectors
        assert not cases or not all(is_elementwise(op, run) for run in cases)


@pytest.fixture
def renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OpLibrary:
    """Copies of operators in a project, with templates of other names."""
    monkeypatch.chdir(tmp_path)
    for name, like in (("step", "addcmul"), ("rotated", "permute")):
        assert main(["new-op", name, "--like", like, "--own-template"]) == 0
    return OpLibrary.with_dirs([tmp_path / "op_specs"])


def test_traits_do_not_depend_on_template_names(renamed: OpLibrary) -> None:
    for name, trait in (("step", Trait.ELEMENTWISE), ("rotated", Trait.MOVES_DATA)):
        templates = {k.template for k in renamed._spec(f"custom.{name}").kernels}
        assert templates == {f"{name}.glsl.j2"}
        assert renamed.has_trait(f"custom.{name}", trait)
    x = Tensor("x", DType.F32, (3, 4))
    found = renamed.movement(
        "custom.rotated", renamed.complete("custom.rotated", {"x": x, "dims": (1, 0)})
    )
    assert found == ((4, 3), (1, 4), 0)


def test_permutations_move_across_other_templates(renamed: OpLibrary) -> None:
    graph = Graph([Tensor("x", DType.F32, (3, 4))])
    build = Builder(renamed, graph)
    x = build.permute(graph.inputs[0], (1, 0))
    graph.outputs = [build.permute(build.emit("custom.step", x=x, a=x, b=x), (1, 0))]
    move_permutations(graph, renamed)
    assert ops(graph) == ["custom.step", "aten.view"]
