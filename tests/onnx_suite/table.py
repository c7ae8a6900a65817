"""The page that says what of the suite passes: written for people, read back by the check."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from tests.onnx_suite.outcome import Kind, Outcome
from tests.onnx_suite.suite import GROUPS

INTRODUCTION = """\
# ONNX's backend suite

What Spirloom does with the tests that ONNX gives its backends (Debian's `libonnx-testdata` 1.12).
Each case that passes is imported, optimised and run on a device, in buffers and in textures, with
the validation layers on, and gives the outputs that ONNX expects. *Fixed inputs* became constants
at import (`spirloom import --fix`), because the shapes or the choice of kernels depend on them, or
because they are of a 64-bit type; where that leaves no input, the case was *computed at import*.
*Float64 as float32* (`--float64-as-float32`): float32 does not give exactly what float64 does, but
within ONNX's tolerance. The suite's group `real` is not among these: it names networks to download.

Made by `./dev update`; `./dev test -R onnx_suite` runs the cases.
"""

_PASSED = "## Cases that pass"


def render(outcomes: Sequence[Outcome]) -> str:
    """The whole page."""
    parts = [
        INTRODUCTION,
        "## Summary\n",
        _summary(outcomes),
        "## Operators of the node tests\n",
        _operators([o for o in outcomes if o.group == "node"]),
        "## What is not supported, and why\n",
        _reasons(outcomes),
        f"{_PASSED}\n",
        _passed(outcomes),
    ]
    return "\n".join(parts)


def read_passed(page: str) -> set[str]:
    """The ids of the cases that a page says pass."""
    _, _, rest = page.partition(_PASSED)
    return set(re.findall(r"^- `([^`]+)`", rest, re.MULTILINE))


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(str(c) for c in cells)} |\n" for cells in lines)


def _summary(outcomes: Sequence[Outcome]) -> str:
    count = Counter((o.group, o.kind) for o in outcomes)
    head = ["group", "cases", "pass", *Kind]
    rows = []
    for group in GROUPS:
        kinds = [count[group, kind] for kind in Kind]
        passed = sum(count[group, kind] for kind in Kind if kind.passes)
        rows.append([group, sum(kinds), passed, *kinds])
    return _table(head, rows)


def _operators(outcomes: Sequence[Outcome]) -> str:
    """How many cases of each operator pass; several nodes that spell one count under its name."""
    count: dict[str, Counter[bool]] = defaultdict(Counter)
    for outcome in outcomes:
        count[outcome.operator][outcome.kind.passes] += 1
    rows = [(op, n[True], n[False] or "") for op, n in sorted(count.items())]
    return _table(["operator", "pass", "unsupported"], rows)


def _reasons(outcomes: Sequence[Outcome]) -> str:
    by_reason: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        if not outcome.kind.passes:
            by_reason[outcome.detail].append(outcome)
    rows = sorted((-len(found), reason, _families(found)) for reason, found in by_reason.items())
    return _table(["cases", "reason", "of"], ((-n, reason, of) for n, reason, of in rows))


def _families(outcomes: Iterable[Outcome]) -> str:
    count = Counter(o.operator for o in outcomes)
    return ", ".join(f"{op} ({n})" if n > 1 else op for op, n in sorted(count.items()))


def _passed(outcomes: Iterable[Outcome]) -> str:
    lines = []
    for outcome in outcomes:
        note = {
            Kind.FIXED: f": {outcome.detail} fixed",
            Kind.FOLDED: ": computed at import",
            Kind.ROUNDED: ": float64 as float32",
        }
        if outcome.kind.passes:
            lines.append(f"- `{outcome.id}`{note.get(outcome.kind, '')}\n")
    return "".join(lines)
