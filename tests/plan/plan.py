"""Decides which tests run in full, in part or not at all (suites.yaml)."""

from __future__ import annotations

import math
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from tests.layering.layers import dependencies
from tests.sample import DIGITS_OF_SAMPLES

SUITES = Path(__file__).with_name("suites.yaml")
ROOT = Path(__file__).resolve().parents[2]
_KEYS = {"tests", "sample", "turns", "seconds"}


@dataclass(frozen=True, slots=True)
class Suite:
    """Tests by the pattern of their names, and the files under test."""

    name: str
    patterns: tuple[str, ...]  # of files
    files: frozenset[str]  # that match, and what these include and import
    sample: str | None  # a directory
    turns: int  # 0: always runs
    seconds: int  # about, on two cores; of suites with turns, and stages

    def touched(self, files: Iterable[str]) -> str | None:
        """The first of the files that the tests depend on. A file that was removed matches."""
        return next((file for file in files if file in self.files or self._matches(file)), None)

    def _matches(self, file: str) -> bool:
        return any(_expression(pattern).fullmatch(file) for pattern in self.patterns)


@dataclass(frozen=True, slots=True)
class Suites:
    """The contents of suites.yaml."""

    denominator: int  # of samples of untouched tests
    many: int  # of samples of touched tests, and their turns, if most suites are touched
    many_stages: int  # turns of touched stages then
    tests: tuple[Suite, ...]
    stages: tuple[Suite, ...]  # by their commands


@dataclass(frozen=True, slots=True)
class Plan:
    """What runs. `reasons` has the file that touches a test or stage."""

    reasons: Mapping[str, str]
    samples: Mapping[str, int]  # one test in so many, by directory
    left_out: tuple[str, ...]  # patterns of ctest
    stages: tuple[str, ...]

    @property
    def exclusion(self) -> str:
        """The regular expression of the tests that do not run; "" for none."""
        # CMake's regular expressions lack what fnmatch.translate() writes.
        patterns = (name.replace(".", "\\.").replace("*", ".*") for name in self.left_out)
        return f"^({'|'.join(patterns)})$" if self.left_out else ""

    @property
    def sample_setting(self) -> str:
        """The value of SPIRLOOM_SAMPLE (tests/sample.py)."""
        return ",".join(f"{directory}={count}" for directory, count in self.samples.items())


def read_suites(path: Path = SUITES) -> Suites:
    """Reads suites.yaml."""
    data = yaml.safe_load(path.read_text(encoding="utf-8"))
    tests = tuple(_suite(name, row) for name, row in data["tests"].items())
    stages = tuple(_suite(row.pop("command"), row) for row in data["stages"])
    return Suites(
        data["sample_of_untouched"], data["sample_of_many"], data["stages_of_many"], tests, stages
    )


def in_turn(suites: Sequence[Suite], turns: Sequence[int], seed: int) -> set[str]:
    """The suites whose turn it is, each for one commit in so many. All commits take about the same
    time: the longest suites are assigned to turns first, each to the one that is shortest so far.
    """
    period = math.lcm(*turns)
    seconds = [0] * period
    found = set()
    rows = zip(suites, turns, strict=True)
    for suite, count in sorted(rows, key=lambda row: (-row[0].seconds, row[0].name)):
        turn = min(range(count), key=lambda t: (max(seconds[t::count]), sum(seconds[t::count])))
        for i in range(turn, period, count):
            seconds[i] += suite.seconds
        if turn == seed // DIGITS_OF_SAMPLES % count:
            found.add(suite.name)
    return found


def make_plan(suites: Suites, files: Iterable[str], seed: int) -> Plan:
    """The plan for a change of these files, paths from the root."""
    files = list(files)
    reasons = {
        suite.name: reason
        for suite in (*suites.tests, *suites.stages)
        if (reason := suite.touched(files)) is not None
    }
    touched = [suite for suite in suites.tests if suite.name in reasons]
    untouched = [suite for suite in suites.tests if suite.name not in reasons]
    # A change that touches most suites is of many commits: all in full would take hours.
    is_of_many = len(touched) > len(untouched)
    of_touched, of_stages = (suites.many, suites.many_stages) if is_of_many else (1, 1)
    samples = {suite.sample: suites.denominator for suite in untouched if suite.sample}
    samples |= {suite.sample: of_touched for suite in touched if suite.sample}
    with_turns = [suite for suite in suites.tests if suite.turns]
    turns = [of_touched if suite.name in reasons else suite.turns for suite in with_turns]
    running = in_turn(with_turns, turns, seed)
    stages = [suite for suite in suites.stages if suite.name in reasons]
    running_stages = in_turn(stages, [of_stages] * len(stages), seed)
    return Plan(
        reasons=reasons,
        samples={name: count for name, count in sorted(samples.items()) if count > 1},
        left_out=tuple(suite.name for suite in with_turns if suite.name not in running),
        stages=tuple(stage.name for stage in stages if stage.name in running_stages),
    )


def files_used(patterns: Iterable[str]) -> frozenset[str]:
    """The files that match the patterns, and all that these include or import, directly or
    not. With a header, the source file of the same name; with a module, its packages."""
    expressions = [_expression(pattern) for pattern in patterns]
    known = frozenset(_files())
    pending = [file for file in known if any(e.fullmatch(file) for e in expressions)]
    found: set[str] = set()
    while pending:
        file = pending.pop()
        if file in known and file not in found:
            found.add(file)
            pending += _uses().get(file, ())
    return frozenset(found)


@cache
def _files() -> tuple[str, ...]:
    """The files of the repository."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return tuple(listed.stdout.splitlines())


@cache
def _uses() -> Mapping[str, tuple[str, ...]]:
    """What each file includes or imports."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for dependency in dependencies():
        found[dependency.file].append(dependency.target)
    for file in _files():
        if file.endswith(".h"):
            found[file].append(f"{file.removesuffix('.h')}.cpp")
        elif file.endswith(".py"):  # an import executes the packages that contain the module
            found[file] += [f"{folder}/__init__.py" for folder in Path(file).parents]
    return {file: tuple(targets) for file, targets in found.items()}


def _suite(name: str, row: dict[str, object]) -> Suite:
    unknown = row.keys() - _KEYS
    if unknown:
        raise ValueError(f"{SUITES.name}: {name}: unknown key '{min(unknown)}'")
    patterns, sample = row.get("tests", []), row.get("sample")
    turns, seconds = row.get("turns", 0), row.get("seconds", 0)
    assert isinstance(patterns, list)
    assert sample is None or isinstance(sample, str)
    assert isinstance(turns, int) and isinstance(seconds, int)
    if turns and not seconds:
        raise ValueError(f"{SUITES.name}: {name}: 'turns' requires 'seconds'")
    own = [f"{sample}/**"] if sample else []
    patterns = (*patterns, *own)
    return Suite(name, patterns, files_used(patterns), sample, turns, seconds)


@cache
def _expression(pattern: str) -> re.Pattern[str]:
    parts = re.split(r"(\*\*|\*)", pattern)
    words = {"**": ".*", "*": "[^/]*"}
    return re.compile("".join(words.get(part, re.escape(part)) for part in parts))
