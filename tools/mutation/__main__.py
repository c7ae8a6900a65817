"""`python3 -m tools.mutation`: the share of mutants that the tests of each module find."""

from __future__ import annotations

import argparse
import random
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from tools.mutation.mutants import mutants_of
from tools.mutation.trials import Trials, own_caches

ROOT = Path(__file__).resolve().parents[2]
TABLE = Path(__file__).with_name("modules.yaml")
REQUIRED = 0.9


@dataclass(frozen=True, slots=True)
class Module:
    """A module, its tests, and the mutants that compute the same, with the reason."""

    path: str
    tests: tuple[str, ...]
    equivalent: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The module's name in imports."""
        return self.path.removeprefix("frontend/").removesuffix(".py").replace("/", ".")


def modules() -> list[Module]:
    """The modules of the table."""
    table = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    return [
        Module(path, tuple(row["tests"]), row.get("equivalent", {})) for path, row in table.items()
    ]


def main() -> int:
    """Prints the scores and the survivors. Returns 1 if a module has less than 90 %."""
    parser = argparse.ArgumentParser(prog="python3 -m tools.mutation", description=__doc__)
    parser.add_argument("module", nargs="*", help="paths of modules (default: all of modules.yaml)")
    parser.add_argument("--sample", type=int, metavar="N", help="only N mutants of each module")
    parser.add_argument("--seed", type=int, default=0, help="of the sample (default: 0)")
    arguments = parser.parse_args()
    failed = False
    trials = Trials()
    with own_caches():
        for module in modules():
            if not arguments.module or module.path in arguments.module:
                failed |= not _measure(module, trials, arguments.sample, arguments.seed)
    return int(failed)


def _measure(module: Module, trials: Trials, count: int | None, seed: int) -> bool:
    start = time.monotonic()
    every = mutants_of(ROOT / module.path)
    known = [m for m in every if f"{m.before}  ->  {m.after}" in module.equivalent]
    left = [m for m in every if m not in known]
    chosen = left if count is None else random.Random(seed).sample(left, min(count, len(left)))
    survivors = []
    for i, mutant in enumerate(chosen):
        print(f"\r{module.path}: {i} of {len(chosen)}", end="", file=sys.stderr, flush=True)
        if trials.finder(module.name, mutant.source, module.tests) is None:
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
