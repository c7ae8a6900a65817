"""`python3 -m tools.mutation`: the share of mutants that the tests of each module find."""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from tools.mutation.mutants import Mutant, mutants_of
from tools.mutation.plugin import MODULE, SOURCE

ROOT = Path(__file__).resolve().parents[2]
TABLE = Path(__file__).with_name("modules.yaml")
REQUIRED = 0.9
_TIMEOUT = 600  # seconds; a mutant may never end


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


def survives(module: Module, mutant: Mutant) -> bool:
    """Whether all tests pass with a mutant."""
    with tempfile.TemporaryDirectory() as directory:
        source = Path(directory) / Path(module.path).name
        source.write_text(mutant.source, encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "tools.mutation.plugin",
                   "-p", "no:cacheprovider", *module.tests]  # fmt: skip
        changed = {MODULE: module.name, SOURCE: str(source)}
        try:
            run = subprocess.run(
                command,
                cwd=ROOT,
                env={**os.environ, **changed},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=_TIMEOUT,
            )
        except subprocess.TimeoutExpired:
            return False
    return run.returncode == 0


def main() -> int:
    """Prints the scores and the survivors. Returns 1 if a module has less than 90 %."""
    parser = argparse.ArgumentParser(prog="python3 -m tools.mutation", description=__doc__)
    parser.add_argument("module", nargs="*", help="paths of modules (default: all of modules.yaml)")
    parser.add_argument("--sample", type=int, metavar="N", help="only N mutants of each module")
    parser.add_argument("--seed", type=int, default=0, help="of the sample (default: 0)")
    arguments = parser.parse_args()
    failed = False
    for module in modules():
        if not arguments.module or module.path in arguments.module:
            failed |= not _measure(module, arguments.sample, arguments.seed)
    return int(failed)


def _measure(module: Module, count: int | None, seed: int) -> bool:
    start = time.monotonic()
    every = mutants_of(ROOT / module.path)
    known = [m for m in every if f"{m.before}  ->  {m.after}" in module.equivalent]
    left = [m for m in every if m not in known]
    chosen = left if count is None else random.Random(seed).sample(left, min(count, len(left)))
    survivors = []
    for i, mutant in enumerate(chosen):
        print(f"\r{module.path}: {i} of {len(chosen)}", end="", file=sys.stderr, flush=True)
        if survives(module, mutant):
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
