"""Decides which tests run in full, in part or not at all (suites.yaml)."""

from __future__ import annotations

import re
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from tests.layering.layers import dependencies
from tests.sample import DIGITS_OF_SAMPLES

SUITES = Path(__file__).with_name("suites.yaml")
ROOT = Path(__file__).resolve().parents[2]
_KEYS = {"tests", "sample", "turns", "variants"}


@dataclass(frozen=True, slots=True)
class Suite:
    """Tests by the pattern of their names, and the files under test."""

    name: str
    patterns: tuple[str, ...]  # of files
    files: frozenset[str]  # that match, and what these include and import
    sample: str | None  # a directory
    turns: int  # 0: always runs
    index: int  # in its list

    def touched(self, files: Iterable[str]) -> str | None:
        """The first of the files that the tests depend on. A file that was removed matches."""
        return next((file for file in files if file in self.files or self._matches(file)), None)

    def _matches(self, file: str) -> bool:
        return any(_expression(pattern).fullmatch(file) for pattern in self.patterns)

    def has_turn(self, seed: int, turns: int) -> bool:
        """Whether it is this commit's turn, of so many: neighbors have different ones."""
        return self.index % turns == seed // DIGITS_OF_SAMPLES % turns


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
    tests = tuple(_suite(i, *item) for i, item in enumerate(data["tests"].items()))
    stages = tuple(_suite(i, row.pop("command"), row) for i, row in enumerate(data["stages"]))
    return Suites(
        data["sample_of_untouched"], data["sample_of_many"], data["stages_of_many"], tests, stages
    )


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
    in_turn = [(suite, suite.turns) for suite in untouched] + [(s, of_touched) for s in touched]
    left_out = [
        suite.name for suite, turns in in_turn if suite.turns and not suite.has_turn(seed, turns)
    ]
    stages = [suite for suite in suites.stages if suite.name in reasons]
    return Plan(
        reasons=reasons,
        samples={name: count for name, count in sorted(samples.items()) if count > 1},
        left_out=tuple(left_out),
        stages=tuple(stage.name for stage in stages if stage.has_turn(seed, of_stages)),
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


def _suite(index: int, name: str, row: dict[str, object]) -> Suite:
    unknown = row.keys() - _KEYS
    if unknown:
        raise ValueError(f"{SUITES.name}: {name}: unknown key '{min(unknown)}'")
    patterns, sample, turns = row.get("tests", []), row.get("sample"), row.get("turns", 0)
    assert isinstance(patterns, list)
    assert sample is None or isinstance(sample, str)
    assert isinstance(turns, int)
    own = [f"{sample}/**"] if sample else []
    patterns = (*patterns, *own)
    return Suite(name, patterns, files_used(patterns), sample, turns, index)


@cache
def _expression(pattern: str) -> re.Pattern[str]:
    parts = re.split(r"(\*\*|\*)", pattern)
    words = {"**": ".*", "*": "[^/]*"}
    return re.compile("".join(words.get(part, re.escape(part)) for part in parts))
