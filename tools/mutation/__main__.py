"""`python3 -m tools.mutation`: the share of mutants that the tests of each module find."""

from __future__ import annotations

import argparse
import functools
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Protocol, TypeVar

import yaml

from tools.mutation import python_mutants
from tools.mutation.trials import own_caches, survives

ROOT = Path(__file__).resolve().parents[2]
TABLE = Path(__file__).with_name("modules.yaml")
REQUIRED = 0.9


@dataclass(frozen=True, slots=True)
class Module:
    """A row of the table."""

    path: str
    tests: tuple[str, ...]
    program: str = "graph_test"
    equivalent: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The Python module's name in imports."""
        return self.path.removeprefix("frontend/").removesuffix(".py").replace("/", ".")

    @property
    def is_cpp(self) -> bool:
        return self.path.endswith(".cpp")


class Mutant(Protocol):
    """A change of a module."""

    @property
    def before(self) -> str: ...
    @property
    def after(self) -> str: ...


M = TypeVar("M", bound=Mutant)


def modules() -> list[Module]:
    """The modules of the table."""
    table = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    return [
        Module(path, tuple(row.pop("tests")), **row) for path, row in table.items()
    ]  # fmt: skip


def main() -> int:
    """Prints the scores and the survivors. Returns 1 if a module has less than 90 %."""
    parser = argparse.ArgumentParser(prog="python3 -m tools.mutation", description=__doc__)
    parser.add_argument("module", nargs="*", help="paths of modules (default: all of modules.yaml)")
    parser.add_argument("--sample", type=int, metavar="N", help="only N mutants of each module")
    parser.add_argument("--seed", type=int, default=0, help="of the sample (default: 0)")
    parser.add_argument("--jobs", type=int, default=1, help="mutants at a time (default: 1)")
    arguments = parser.parse_args()
    chosen = [m for m in modules() if not arguments.module or m.path in arguments.module]
    cpp = [module for module in chosen if module.is_cpp]
    # Libraries of the parent, and its threads, are not in the processes that fork.
    processes = ProcessPoolExecutor(arguments.jobs, mp_context=get_context("spawn"))
    with own_caches(), processes as pool:
        passed = [_measure_python(m, pool, arguments) for m in chosen if not m.is_cpp]
    if cpp:
        passed += _measure_cpp(cpp, arguments)
    return int(not all(passed))


def _measure_python(
    module: Module, pool: ProcessPoolExecutor, arguments: argparse.Namespace
) -> bool:
    def survive(mutants: Sequence[python_mutants.Mutant]) -> Iterator[bool]:
        tried = functools.partial(survives, module.name, module.tests)
        return pool.map(tried, [mutant.source for mutant in mutants])

    return _measure(module, python_mutants.mutants_of(ROOT / module.path), survive, arguments)


def _measure_cpp(cpp: list[Module], arguments: argparse.Namespace) -> Iterator[bool]:
    from tools.mutation import cpp_program  # requires python3-clang

    found = cpp_program.build_mutants([m.path for m in cpp], sorted({m.program for m in cpp}))
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for module in cpp:
            start = time.monotonic()
            if not cpp_program.passes(module.program, module.tests):
                sys.exit(f"{module.path}: the tests fail without a mutant.")
            timeout = 10 + 10 * (time.monotonic() - start)
            tried = functools.partial(cpp_program.survives, module.program, module.tests, timeout)
            survive = functools.partial(pool.map, tried)
            yield _measure(module, found[module.path], survive, arguments)


def _measure(
    module: Module,
    every: Sequence[M],
    survive: Callable[[Sequence[M]], Iterator[bool]],
    arguments: argparse.Namespace,
) -> bool:
    start = time.monotonic()
    known = [m for m in every if f"{m.before}  ->  {m.after}" in module.equivalent]
    chosen = [m for m in every if m not in known]
    if arguments.sample is not None:
        count = min(arguments.sample, len(chosen))
        chosen = random.Random(arguments.seed).sample(chosen, count)
    survivors = []
    for i, (mutant, survived) in enumerate(zip(chosen, survive(chosen), strict=True)):
        print(f"\r{module.path}: {i} of {len(chosen)}", end="", file=sys.stderr, flush=True)
        if survived:
            survivors.append(mutant)
    print("\r", end="", file=sys.stderr)
    killed = len(chosen) - len(survivors)
    share = killed / max(len(chosen), 1)
    seconds = time.monotonic() - start
    print(f"{module.path}: {killed} of {len(chosen)} mutants found, {share:.0%}; "
          f"{len(every)} in all, {len(known)} equivalent; {seconds:.0f} s", flush=True)  # fmt: skip
    for mutant in survivors:
        print(f"  not found: {mutant}", flush=True)
    return share >= REQUIRED


if __name__ == "__main__":
    sys.exit(main())
