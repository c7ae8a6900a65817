"""Runs the operator test cases of this directory on a device, and writes the results as JSON.

    python3 check.py --out cases.json [--device NAME] [--jobs N] [--minutes M] [--ops 'conv*']

Prints a line per operator. The file is updated after each operator. If it exists, operators that
passed with the same cases are skipped, unless they ran without validation and now run with it.
Cases run with the Vulkan validation layers, and again with poisoned bytes around each buffer. Old
layers do not support all extensions (those of 2022 do not support cooperative matrices): then use
--no-validation.

Requires Python 3.9 and its standard library. Exit code: 0 success, 1 failed cases, 2 invalid usage,
3 incomplete.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SHOWN = 20  # maximum number of printed failures


def environment_of(device: str, validation: bool) -> dict[str, str]:
    libraries = os.pathsep.join([str(HERE / "lib"), os.environ.get("LD_LIBRARY_PATH", "")])
    environment = dict(os.environ, LD_LIBRARY_PATH=libraries)
    if device:
        environment["SPIRLOOM_DEVICE"] = device
    if not validation:
        environment["SPIRLOOM_CASE_VALIDATION"] = "0"
    return environment


def check(pack: Path, environment: Mapping[str, str], validation: bool) -> dict[str, Any]:
    """The number of passed and skipped cases, and the messages of failed cases."""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "out.json"
        done = subprocess.run(
            [HERE / "op_tests", pack, "--gtest_brief=1", f"--gtest_output=json:{out}",
             "--gtest_filter=-Library.*"],
            capture_output=True, text=True, check=False, env=environment,
        )  # fmt: skip
        found = {
            "cases": pack.name,
            "validation": validation,
            "passed": 0,
            "skipped": 0,
            "failed": {},
        }
        if out.exists():
            _count(json.loads(out.read_text(encoding="utf-8")), found)
        only_skipped = found["skipped"] and not found["passed"]  # ends with 1
        if done.returncode != 0 and not found["failed"] and not only_skipped:
            last = f"{done.stdout}{done.stderr}".strip().splitlines()[-5:]
            found["failed"] = {f"exit code {done.returncode}": "\n".join(last)}
    found["seconds"] = round(time.monotonic() - begin, 1)
    return found


def _count(report: Mapping[str, Any], found: dict[str, Any]) -> None:
    for suite in report["testsuites"]:
        for test in suite["testsuite"]:
            if failures := test.get("failures"):
                found["failed"][f"{suite['name']}.{test['name']}"] = failures[0]["failure"]
            else:
                found["skipped" if test["result"] == "SKIPPED" else "passed"] += 1


def selected(ops: Sequence[str]) -> list[Path]:
    """The case files of the selected operators, largest first."""
    packs = sorted((HERE / "cases").glob("*.slcases"), key=lambda path: -path.stat().st_size)
    return [p for p in packs if not ops or any(fnmatch.fnmatch(op_of(p), each) for each in ops)]


def is_done(pack: Path, known: Mapping[str, Any], validation: bool) -> bool:
    before = known.get(op_of(pack), {})
    same = before.get("cases") == pack.name and before["validation"] >= validation
    return same and not before["failed"]


def write(path: Path, found: Mapping[str, Any]) -> None:
    """Replaces the file atomically."""
    new = path.with_name(f"{path.name}.new")
    new.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    new.replace(path)


def op_of(pack: Path) -> str:
    return pack.name.partition(".")[0]


def report(found: Mapping[str, Any], left: int) -> int:
    """Prints the results and returns the exit code."""
    passed, skipped = (sum(each[key] for each in found.values()) for key in ("passed", "skipped"))
    failed = [(name, why) for each in found.values() for name, why in each["failed"].items()]
    print(f"{len(found)} operators: {passed} passed, {skipped} skipped, {len(failed)} failed")
    for name, why in failed[:SHOWN]:
        print(f"  {name}\n    " + why.strip().replace("\n", "\n    "))
    if len(failed) > SHOWN:
        print(f"  and {len(failed) - SHOWN} more in the file")
    if left:
        print(f"{left} operators remain. Run the same command to continue.")
    return 1 if failed else 3 if left else 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True, help="JSON file to write or to continue")
    parser.add_argument(
        "--device", default="", help="part of the device name (default: the first device)"
    )
    parser.add_argument(
        "--jobs",
        type=int,
        default=min(5, os.cpu_count() or 1),
        help="number of processes (default: up to 5; GPU drivers serialize more)",
    )
    parser.add_argument(
        "--minutes", type=float, default=0.0, help="start no operator after this time"
    )
    parser.add_argument("--ops", nargs="+", default=[], metavar="PATTERN", help="e.g. 'conv*'")
    parser.add_argument(
        "--no-validation", action="store_true", help="disable the Vulkan validation layers"
    )
    arguments = parser.parse_args()
    found = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
    validation = not arguments.no_validation
    if not (packs := selected(arguments.ops)):
        parser.error(f"no operator matches {' or '.join(arguments.ops)}")
    packs = [pack for pack in packs if not is_done(pack, found, validation)]
    environment = environment_of(arguments.device, validation)
    end = time.monotonic() + 60 * arguments.minutes if arguments.minutes else float("inf")

    def in_time(pack: Path) -> dict[str, Any] | None:
        return check(pack, environment, validation) if time.monotonic() < end else None

    left = len(packs)
    with ThreadPoolExecutor(arguments.jobs) as pool:
        runs = {pool.submit(in_time, pack): op_of(pack) for pack in packs}
        for run in as_completed(runs):
            result = run.result()
            if result is None:
                continue
            left -= 1
            found[runs[run]] = result
            write(arguments.out, found)
            words = "ok" if not result["failed"] else f"{len(result['failed'])} FAILED"
            print(f"{runs[run]}: {result['passed']} passed, {words}, {left} to go", flush=True)
    return report(found, left)


if __name__ == "__main__":
    sys.exit(main())
