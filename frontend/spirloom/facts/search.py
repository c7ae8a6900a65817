"""Searches calls that contradict what a spec declares, with Hypothesis."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, Verbosity, given, reject, seed, settings

from spec_model import Op, SpecError
from spirloom.facts.calls import Call, calls_of, distinct_runs
from spirloom.facts.checks import FACTS, Fact

_MANY = 10  # calls, of which some must show a fact


class Contradiction(Exception):
    """A call contradicts a fact; the message is how."""


def facts_of(op: Op) -> list[Fact]:
    """The facts that a spec declares."""
    return [fact for fact in FACTS if fact.declared(op)]


def contradiction(op: Op, calls: int, start: int = 0) -> str:
    """The smallest call found, of up to `calls` calls, that contradicts a declared fact, and
    how; empty if there is none. `start`: the seed of the search."""
    facts = facts_of(op)
    runs = distinct_runs(op) if facts else []
    if not runs:
        return ""

    shown: set[str] = set()

    @seed(start)
    @settings(
        max_examples=calls,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
    )
    @given(calls_of(runs))
    def search(call: Call) -> None:
        for fact in facts:
            try:
                found = fact.contradiction(call)
                if fact.shows is not None and fact.name not in shown and fact.shows(call):
                    shown.add(fact.name)
            except (NotImplementedError, SpecError):
                reject()  # the reference does not accept the values
            if found:
                raise Contradiction(f"'{fact.name}' is wrong: {found}. The call is {call}")

    try:
        search()
    except Contradiction as error:
        return str(error)
    missing = [fact.name for fact in facts if fact.shows is not None and fact.name not in shown]
    return f"'{missing[0]}' is wrong: no call shows it" if missing and calls >= _MANY else ""


def check_facts(op: Op, calls: int) -> None:
    """Raises SpecError if a call contradicts a fact that the spec declares."""
    found = contradiction(op, calls)
    if found:
        raise SpecError.at(op.position, f"{op.name}: {found}.")
