"""Guards of random size expressions, compared with all sizes of a box."""

from __future__ import annotations

import operator
import random
import re
from collections.abc import Iterator

import pytest

from spec_model.symbolic import Guard, Guards, Symbol, Undecided, general, size_of, strict, sym
from spec_model.symbolic import guards as guards_module
from spec_model.symbolic.expr import Size, SizeError
from spec_model.symbolic.guards import OPPOSITE, compared, decide, fix, known, settle
from tests.sample import runs_all, seed
from tests.spec_model.test_symbolic import POINTS, M, N, formula

COUNT = 3000 if runs_all() else 300
RELATIONS = {"==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le,
             ">": operator.gt, ">=": operator.ge}  # fmt: skip
LARGEST = {"n": N.max, "m": M.max}


def differences(turn: int) -> Iterator[tuple[Size, list[int]]]:
    """Random expressions that depend on sizes, with their values at POINTS."""
    choose = random.Random(1000 * seed() + turn)
    for _ in range(COUNT):
        function, _ = formula(choose, choose.randint(1, 3))
        try:
            with strict():
                size = size_of(function(sym(N), sym(M)))
        except SizeError:
            continue
        if size.constant is None:
            yield size, [function(point["n"], point["m"]) for point in POINTS]


def test_relations() -> None:
    for relation, holds in RELATIONS.items():
        for value in range(-2, 3):
            assert compared(relation, value) is holds(value, 0)
            assert compared(OPPOSITE[relation], value) is not holds(value, 0)


def test_decisions() -> None:
    """What holds at all sizes is known. Of the rest, the outcome at the maximum is recorded, and no
    equality holds."""
    for size, values in differences(0):
        at_maximum = values[POINTS.index(LARGEST)]
        for relation, holds in RELATIONS.items():
            outcomes = {holds(value, 0) for value in values}
            for function in (decide, settle):
                with general(Guards()) as guards:
                    outcome = function(size, relation)
                if len(outcomes) == 1:
                    assert {outcome} == outcomes and known(size, relation) is outcome
                    assert not guards.assumed
                elif function is decide and relation in ("==", "!="):
                    assert outcome is (relation == "!=") and not guards.assumed
                else:
                    assert outcome is holds(at_maximum, 0)
                    (guard,) = guards.assumed
                    assert guard == Guard(size, relation, outcome, guard.source)
                with strict():
                    if len(outcomes) == 1:
                        assert {function(size, relation)} == outcomes
                    else:
                        with pytest.raises(Undecided, match=r"true at some sizes and false at"):
                            function(size, relation)


def test_fixed_values() -> None:
    for size, values in differences(1):
        with general(Guards()) as guards:
            value = fix(size, "The size")
        assert value == values[POINTS.index(LARGEST)]
        (guard,) = guards.assumed
        assert str(guard) == f"{size - value} == 0"
        with strict(), pytest.raises(Undecided, match=r"^The size of .* is not supported\.$"):
            fix(size, "The size")


def test_refutations() -> None:
    """A guard without a refutation holds at all sizes; a refutation names sizes at which it does
    not."""
    refuted = 0
    for size, values in differences(2):
        for relation, holds in RELATIONS.items():
            for outcome in (True, False):
                text = Guard(size, relation, outcome).refutation()
                if text is None:
                    assert {holds(value, 0) for value in values} == {outcome}
                    continue
                refuted += 1
                found = {name: int(n) for name, n in re.findall(r"(\w)=(\d+)", text)}
                assert text.startswith("is false at ") and found.keys() <= LARGEST.keys()
                at = values[POINTS.index({**LARGEST, **found})]
                assert holds(at, 0) is not outcome
    assert refuted > COUNT


@pytest.mark.parametrize("count", [9, 10])
def test_sizes_that_are_not_compared(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """9 of 9 sizes, and 9 of 10."""
    monkeypatch.setattr(guards_module, "_MAX_COMPARED", 9)
    n = Size.of(Symbol("n", 1, count))
    found = Guard(n, ">=", True).refutation()
    assert found == (None if count == 9 else "is not proven for all sizes")
    # The sizes are compared in order, after the ends.
    assert Guard((n - 9) * (n - 9), ">", True).refutation() == "is false at n=9"


def test_narrowed_ranges() -> None:
    """The sizes up to the maximum with the outcome, by comparing each."""
    choose = random.Random(seed())
    for _ in range(COUNT):
        symbol = Symbol("n", low := choose.randint(0, 4), low + choose.randint(0, 8))
        n = Size.of(symbol)
        size = choose.choice((n, n * n, -n, n * n * n - n * 20)) - choose.randint(-3, 60)
        relation, holds = choose.choice([*RELATIONS.items()])
        outcome = choose.random() < 0.5
        valid = [k for k in range(symbol.min, symbol.max + 1)
                 if holds(size.value({"n": k}), 0) is outcome]  # fmt: skip
        last = [k for k in valid if {*range(k, symbol.max + 1)} <= {*valid}]
        expected = Symbol("n", last[0], symbol.max) if 1 < len(last) <= symbol.max - low else None
        assert Guard(size, relation, outcome).narrowed() == expected
    assert Guard(Size.of(N) - Size.of(M), "<", True).narrowed() is None
    between = Size.of(Symbol("n", 1, 9))
    between = (between - 3) * (between - 10)  # negative at 4 to 9
    assert Guard(between, "<", True).narrowed() == Symbol("n", 4, 9)


def test_few_sizes_are_narrowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guards_module, "_MAX_NARROWED", 3)
    for rest in range(1, 6):
        found = Guard(Size.of(Symbol("n", 1, 9)) - (9 - rest), ">", True).narrowed()
        assert found == (Symbol("n", 10 - rest, 9) if 1 < rest <= 3 else None)
