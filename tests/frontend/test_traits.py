"""Traits of specs are those of the operators, independent of templates. tests/facts checks that
declared traits hold.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from spirloom.builder import Builder
from spirloom.casegen.arrays import make_inputs
from spirloom.casegen.runs import Run
from spirloom.casegen.values import widened
from spirloom.cli import main
from spirloom.facts.calls import Call, distinct_runs
from spirloom.facts.checks import not_elementwise
from spirloom.ir import DType, Graph, Tensor
from spirloom.op_library import OpLibrary
from spirloom.passes.permutations import move_permutations

from spec_model import SpecError
from spec_model.interval import of_array
from spec_model.traits import Trait
from tests.frontend import reference_run
from tests.frontend.models import ops

OPS = reference_run.OPS
MAX_RUNS = 8  # per operator


def _call(run: Run) -> Call:
    """The call of a test case, with its values."""
    inputs = make_inputs(run)
    bounds = {n: tuple(of_array(widened(x.data)) for x in xs) for n, xs in inputs.items()}
    return Call(run, inputs, bounds)


def is_elementwise(run: Run) -> bool:
    """Whether the reference computes a case element by element; False if it rejects vectors."""
    try:
        return not not_elementwise(_call(run))
    except (SpecError, IndexError):
        return False


@pytest.mark.parametrize("name", [name for name, op in OPS.items() if not op.traits])
def test_elementwise_operators_have_the_trait(name: str) -> None:
    """An operator whose reference is elementwise has the trait, whatever its template is."""
    runs = distinct_runs(OPS[name])[:MAX_RUNS]
    assert not runs or not all(map(is_elementwise, runs))


@pytest.fixture
def renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OpLibrary:
    """Copies of operators in a project, with templates of other names."""
    monkeypatch.chdir(tmp_path)
    for name, like in (("step", "addcmul"), ("rotated", "permute")):
        assert main(["new-op", name, "--like", like, "--own-template"]) == 0
    return OpLibrary.with_dirs([tmp_path / "op_specs"])


def test_traits_do_not_depend_on_template_names(renamed: OpLibrary) -> None:
    for name, trait in (("step", Trait.ELEMENTWISE), ("rotated", Trait.MOVES_DATA)):
        templates = {k.template for k in renamed.spec(f"custom.{name}").kernels}
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
