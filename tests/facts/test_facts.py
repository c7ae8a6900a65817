"""Every fact that a spec declares holds in random calls of its reference, and a wrong one is found.

The seed of the calls is that of the commit; a failure names it.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from spirloom.cli import main
from spirloom.facts.checks import FACTS, Fact
from spirloom.facts.search import contradiction, facts_of
from spirloom.op_library import OWN_SPECS, OWN_TEMPLATES, OpLibrary

from spec_model import Op, load_library
from spec_model.interval import Interval, quotient, remainder
from spec_model.traits import Trait
from tests.facts.wrong_intervals import replaced
from tests.sample import SEED, runs_all, seed

LIBRARY = OpLibrary()
SPECS = OWN_SPECS[0]
OPS = {name: op for name in LIBRARY.names() if facts_of(op := LIBRARY.spec(name))}
CALLS = 200 if runs_all() else 15  # of each operator


@pytest.mark.parametrize("name", OPS)
def test_references_have_the_declared_facts(name: str) -> None:
    assert not contradiction(OPS[name], CALLS, seed()), f"{SEED}={seed()}"


@pytest.mark.parametrize("fact", FACTS, ids=[fact.name for fact in FACTS])
def test_every_fact_is_declared(fact: Fact) -> None:
    assert sum(fact in facts_of(op) for op in OPS.values()) >= 4


# By name of a function of intervals: a wrong one, and an operator whose bounds use it.
WRONG: dict[str, tuple[Callable[..., Any], str]] = {
    "abs": (lambda x: Interval(abs(x.low), abs(x.high), x.integral), "aten.abs"),
    "bits": (lambda a, b: Interval(0, max(a.high, b.high)), "aten.bitwise_or.Tensor"),
    "ceil": (Interval.floored, "aten.ceil"),
    "floor": (Interval.ceiled, "aten.floor"),
    "floor_div": (lambda a, b: quotient(a, b, floors=False), "aten.floor_divide"),
    "fmod": (lambda a, b: remainder(a, b, like_dividend=False), "aten.fmod.Tensor"),
    "hull": (lambda a, b: a, "aten.constant_pad_nd"),
    "max": (lambda a, b: a, "aten.maximum"),
    "min": (lambda a, b: b, "aten.minimum"),
    "power": (lambda a, b: Interval(0, max(abs(a).high, 1) ** b.high), "aten.pow.Tensor_Tensor"),
    "remainder": (lambda a, b: remainder(a, b, like_dividend=True), "aten.remainder.Tensor"),
    "round": (lambda x: Interval(x.floored().low, x.ceiled().low), "aten.trunc"),
    "shift_right": (
        lambda a, b: quotient(a, Interval(2**b.low, 2**b.high), floors=False),
        "aten.bitwise_right_shift.Tensor",
    ),
    "sign": (lambda x: Interval(0, 1), "aten.sign"),
    "square": (lambda x: x * x if x.low >= 0 else Interval(0, x.high**2), "aten.square"),
    "trunc_div": (lambda a, b: quotient(a, b, floors=True), "aten.div.Tensor_mode"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_bounds_are_found(name: str) -> None:
    function, op = WRONG[name]
    with replaced(name, function):
        assert "'bounds' is wrong" in contradiction(OPS[op], 400)


def with_trait(name: str, trait: Trait) -> Op:
    """An operator that declares another trait."""
    op = LIBRARY.spec(name)
    return replace(op, traits={**op.traits, trait: None})


@pytest.mark.parametrize(
    ("name", "trait"),
    [
        ("aten.add.Tensor", Trait.SELECTS),
        ("aten.add.Tensor", Trait.EXACT),
        ("aten.cumsum", Trait.ELEMENTWISE),
        ("aten.count_nonzero.dim_IntList", Trait.RETURNS_INDICES),
        ("aten.exp", Trait.BOUNDED),
        ("aten.flip", Trait.LEADING_PARTS),
        ("aten.mean.dim", Trait.LEADING_PARTS),
    ],
)
def test_wrong_traits_are_found(name: str, trait: Trait) -> None:
    assert f"'{trait}' is wrong" in contradiction(with_trait(name, trait), 400)


def loaded(directory: Path, spec: str, old: str, new: str) -> Op:
    """An operator whose spec has another text."""
    text = (SPECS / spec).read_text(encoding="utf-8")
    assert old in text
    shutil.copytree(
        SPECS / Path(spec).parent, directory / "specs", ignore=shutil.ignore_patterns("*.yaml")
    )
    (directory / "specs" / Path(spec).name).write_text(text.replace(old, new), encoding="utf-8")
    (op,) = load_library([directory / "specs"], OWN_TEMPLATES).ops.values()
    return op


@pytest.mark.parametrize(
    ("spec", "old", "new", "fact"),
    [
        ("data_movement/slice.yaml", "begin: low *", "begin: high *", Trait.MOVES_DATA),
        ("data_movement/slice.yaml", "view_offset: begin", "view_offset: begin + 1", "view_of"),
        ("data_movement/permute.yaml", "split: \"[x.shape[d]", "split: \"[x.shape[-d - 1]",
         Trait.MOVES_DATA),
        ("data_movement/to_copy.yaml", "round(x)", "floor(x) - 1", "bounds"),
        ("reduction/sum.yaml", "x * count", "x * (count - 1)", "bounds"),
        ("gemm/mm.yaml", "a * b * depth", "a * b * columns", "bounds"),
        ("indexing/index_copy.yaml", "reference: indexing.index_copy", "reference: np.flip(x, 0)",
         "in_place"),
    ],
)  # fmt: skip
def test_wrong_formulas_are_found(tmp_path: Path, spec: str, old: str, new: str, fact: str) -> None:
    assert f"'{fact}' is wrong" in contradiction(loaded(tmp_path, spec, old, new), 400)


def test_an_update_of_another_argument_is_found() -> None:
    """Its elements do not depend on the argument, so that only all calls together show it."""
    op = LIBRARY.spec("spirloom.rotary_cache")
    query, keys, values = op.in_place
    swapped = replace(op, in_place=(query, values, keys))
    assert contradiction(swapped, 20) == "'in_place' is wrong: no call shows it"


def test_authors_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = tmp_path / "snake.yaml"
    spec.write_text(
        "# y = x + sin(x)^2\n"
        "op: custom.snake\n"
        "traits: exact\n"
        "kernel: {template: unary.glsl.j2, params: {expr: x + sin(x) * sin(x)}}\n"
        "reference: x + np.sin(x)**2\n"
        "tests: [{x: [3, 5]}]\n",
        encoding="utf-8",
    )
    directories = ["--spec-dir", str(tmp_path)]
    for templates in OWN_TEMPLATES:
        directories += ["--template-dir", str(templates)]
    out = tmp_path / "cases.slcases"
    assert main(["cases", *directories, "--out", str(out)]) == 1
    message = capsys.readouterr().err
    assert "snake.yaml:2" in message
    assert "custom.snake: 'exact' is wrong: y has the element" in message
    assert main(["cases", *directories, "--out", str(out), "--facts", "0"]) == 0
