"""Runs tests on other Vulkan drivers that need no GPU, SwiftShader and a newer Mesa's llvmpipe: the
operator cases, the tests of models and of the pipeline cache, and with --all or --part three
networks, compared with PyTorch.

Each failure must be a known property of the driver: tests/drivers/ lists them by driver, with the
clause of the Vulkan specification that allows it or a description of the driver's bug.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tools.drivers import known, mesa, swiftshader
from tools.drivers.cases import CrashError, Outcome, run_cases
from tools.drivers.programs import run_networks, run_tests

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "release"
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Driver:
    """A driver; `find` returns its description for the loader. A commit selects one in `part` of
    each variant's cases and of the tests of models, and one in `variants` of the variants.
    """

    name: str
    find: Callable[[], Path]
    known: Path
    part: int
    variants: int


DRIVERS = (
    Driver(
        "SwiftShader",
        lambda: swiftshader.find_or_download(BUILD / "drivers" / "swiftshader"),
        ROOT / "tests" / "drivers" / "swiftshader.yaml",
        part=4,
        variants=1,
    ),
    Driver(
        f"llvmpipe of Mesa {mesa.VERSION}",
        lambda: mesa.find_or_download(BUILD / "drivers" / "mesa", "lvp"),
        ROOT / "tests" / "drivers" / "mesa.yaml",
        part=8,
        variants=32,
    ),
)


@dataclass(frozen=True, slots=True)
class Part:
    """The part `index` of `count` equal parts of all tests."""

    index: int
    count: int


ALL = Part(0, 1)


def part_of(text: str) -> Part:
    """Reads "K/N", with K from 1 to N."""
    index, _, count = text.partition("/")
    part = Part(int(index) - 1, int(count))
    if not 0 <= part.index < part.count:
        raise ValueError(text)
    return part


def run(driver: Driver, program: Path, part: Part | None) -> bool:
    """Runs the tests on a driver, by default those of the commit. Returns whether they pass, known
    failures apart.

    Raises DriverError and CrashError.
    """
    description = driver.find()
    models = BUILD / "bin" / "model_test"
    if part is None:
        outcome = run_cases(program, description, driver.part, driver.variants)
        outcome.add(run_tests(models, description, driver.part))
    else:
        outcome = run_cases(program, description, 1, part.count, part.index)
        outcome.add(run_tests(models, description, part.count, index=part.index))
    if part is None or part.index == 0:
        caches = run_tests(BUILD / "bin" / "runtime_test", description, 1, "PipelineCacheTest.*")
        outcome.add(caches)
    properties = known.read(driver.known)
    unknown = known.unknown(outcome.failures, properties)
    print(row(driver.name, outcome, len(unknown)), flush=True)
    for name in unknown[:_SHOWN]:
        print(f"{name}: {outcome.failures[name]}", file=sys.stderr)
    if len(unknown) > _SHOWN:
        print(f"… and {len(unknown) - _SHOWN} more.", file=sys.stderr)
    stale = known.unused(properties) if part == ALL else []
    for pattern in stale:
        print(f"{driver.known.name}: no case of '{pattern}' fails; remove it.", file=sys.stderr)
    whole = part is not None and part.index == part.count - 1
    agree = not whole or run_networks(ROOT, BUILD, description)
    return agree and not unknown and not stale


HEADER = """\
| driver | passed | failed by known properties | failed otherwise | need missing features |
|---|---|---|---|---|"""


def row(name: str, outcome: Outcome, unknown: int) -> str:
    """The row of the table in docs/devices.md."""
    numbers = (outcome.passed, len(outcome.failures) - unknown, unknown, outcome.skipped)
    return f"| {name} | {' | '.join(f'{number:,}' for number in numbers)} |"


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="./dev test-drivers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    chosen_tests = parser.add_mutually_exclusive_group()
    chosen_tests.add_argument(
        "--all",
        dest="part",
        action="store_const",
        const=ALL,
        help="all tests, not the part that a day selects",
    )
    chosen_tests.add_argument(
        "--part",
        type=part_of,
        metavar="K/N",
        help="the part K of N equal parts of all tests, networks in the last part",
    )
    parser.add_argument("--only", help="the driver whose name contains this")
    parser.add_argument("--program", type=Path, default=BUILD / "bin" / "op_tests")
    arguments = parser.parse_args()
    chosen = [driver for driver in DRIVERS if (arguments.only or "") in driver.name]
    if not chosen:
        parser.error(f"no driver's name contains '{arguments.only}'")
    try:
        print(HEADER, flush=True)
        passed = [run(driver, arguments.program, arguments.part) for driver in chosen]
    except (swiftshader.DriverError, CrashError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
