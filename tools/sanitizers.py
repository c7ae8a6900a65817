"""Runs the unit tests and a tenth of the operator cases with ASan, UBSan and TSan.

`tools/sanitizers.py [PRESET]…`. The seed of samples (tests/sample.py) selects the tenth. Leak
detection is enabled only in programs that do not load a driver: drivers and layers leak memory, and
are unloaded before the leaks can be attributed to them.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

from tests.sample import seed

ROOT = Path(__file__).resolve().parent.parent
PRESETS = ["asan", "tsan"]
WITHOUT_DEVICE = [
    "graph_test", "spirloom_ops_test", "spirloom_run_test", "compiler_test", "no_zstd_test",
    "op_compare_test", "executorch_reader_test",
]  # fmt: skip
WITH_DEVICE = [
    "runtime_test", "model_test", "pool_test", "op_guards_test", "c_api_test", "faults_test",
]  # fmt: skip
SHARDS = 10


def environment(preset: str, leaks: bool) -> dict[str, str]:
    suppressions = ROOT / "tests" / "runtime" / "tsan.supp"
    return os.environ | {
        "XDG_CACHE_HOME": str(ROOT / "build" / preset / "test-cache"),
        "ASAN_OPTIONS": f"detect_leaks={int(leaks)}",
        "TSAN_OPTIONS": f"suppressions={suppressions}",
        "GALLIVM_PERF": "nopt",  # llvmpipe: faster compilation
    }


def run(preset: str, program: str, leaks: bool, more: dict[str, str]) -> bool:
    path = ROOT / "build" / preset / "bin" / program
    print(f"{preset}: {program}", flush=True)
    settings = environment(preset, leaks) | more
    ran = subprocess.run([path, "--gtest_brief=1"], cwd=ROOT, env=settings, check=False)
    if ran.returncode != 0:
        print(f"{preset}: {program} failed: exit code {ran.returncode}")
    return ran.returncode == 0


def run_tests(preset: str, shard: int) -> bool:
    """Builds the tests with the preset and runs all of them, also after a failure."""
    programs = [*WITHOUT_DEVICE, *WITH_DEVICE, "op_tests"]
    if subprocess.run(["./dev", "build", preset, *programs], cwd=ROOT, check=False).returncode != 0:
        return False
    passed = [run(preset, program, True, {}) for program in WITHOUT_DEVICE]
    passed += [run(preset, program, False, {}) for program in WITH_DEVICE]
    cases = {"GTEST_TOTAL_SHARDS": str(SHARDS), "GTEST_SHARD_INDEX": str(shard)}
    print(f"{preset}: GTEST_TOTAL_SHARDS={SHARDS} GTEST_SHARD_INDEX={shard} selects the cases")
    return all([*passed, run(preset, "op_tests", False, cases)])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("presets", nargs="*", metavar="PRESET", help="asan or tsan (default: both)")
    parser.add_argument(
        "--shard", type=int, help="tenth of the cases, 0 to 9 (default: by the seed of samples)"
    )
    arguments = parser.parse_args()
    unknown = [name for name in arguments.presets if name not in PRESETS]
    if unknown:
        parser.error(f"unknown preset '{unknown[0]}'; expected one of: {', '.join(PRESETS)}")
    shard = seed() % SHARDS if arguments.shard is None else arguments.shard
    passed = [run_tests(name, shard) for name in arguments.presets or PRESETS]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
