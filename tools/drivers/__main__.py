"""Runs tests on other Vulkan drivers that need no GPU, SwiftShader and a newer Mesa's llvmpipe: the
operator cases, the tests of models and of the pipeline cache, and with --all three networks,
compared with PyTorch.

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
from tools.drivers.cases import CrashError, run_cases
from tools.drivers.programs import run_networks, run_tests

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "release"
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Driver:
    """A driver; `find` returns its description for the loader. A day selects one in `part` of each
    variant's cases and of the tests of models, and one in `variants` of the variants.
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


def run(driver: Driver, program: Path, every: bool) -> bool:
    """Runs the tests on a driver. Returns whether they pass, known failures apart.

    Raises DriverError and CrashError.
    """
    part = 1 if every else driver.part
    description = driver.find()
    outcome = run_cases(program, description, part, 1 if every else driver.variants)
    outcome.add(run_tests(BUILD / "bin" / "model_test", description, part))
    outcome.add(run_tests(BUILD / "bin" / "runtime_test", description, 1, "PipelineCacheTest.*"))
    properties = known.read(driver.known)
    unknown = known.unknown(outcome.failures, properties)
    explained = len(outcome.failures) - len(unknown)
    print(
        f"{driver.name}: {outcome.passed} tests passed; {explained} failed by known properties of "
        f"the driver, {len(unknown)} others failed; {outcome.skipped} need features or limits that "
        "it lacks.",
        flush=True,
    )
    for name in unknown[:_SHOWN]:
        print(f"{name}: {outcome.failures[name]}", file=sys.stderr)
    if len(unknown) > _SHOWN:
        print(f"… and {len(unknown) - _SHOWN} more.", file=sys.stderr)
    stale = known.unused(properties) if every else []
    for pattern in stale:
        print(f"{driver.known.name}: no case of '{pattern}' fails; remove it.", file=sys.stderr)
    agree = not every or run_networks(ROOT, BUILD, description)
    return agree and not unknown and not stale


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="./dev test-drivers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--all", action="store_true", help="all tests, not the part that a day selects"
    )
    parser.add_argument("--only", help="the driver whose name contains this")
    parser.add_argument("--program", type=Path, default=BUILD / "bin" / "op_tests")
    arguments = parser.parse_args()
    chosen = [driver for driver in DRIVERS if (arguments.only or "") in driver.name]
    if not chosen:
        parser.error(f"no driver's name contains '{arguments.only}'")
    try:
        passed = [run(driver, arguments.program, arguments.all) for driver in chosen]
    except (swiftshader.DriverError, CrashError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
