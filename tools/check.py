"""What `./dev check` runs: format, lint, types, generated files, Clang, a host of 32 bits, every
case of operators, every fault, sanitizers, fuzzing, the oldest PyTorch, all of ExecuTorch's tests.

Every step runs even when an earlier one failed; the exit code is 1 if any did. Steps can be named:
`./dev check format lint`.
"""

import argparse
import filecmp
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from codegen.closed_pipe import ends_quietly

ROOT = Path(__file__).resolve().parent.parent
RUFF_VERSION = "0.8.4"
RUFF_ENVIRONMENT = ROOT / ".venv-check"


def run(*command: str | Path) -> bool:
    """Runs a command in the repository; whether it succeeded."""
    return subprocess.run([str(part) for part in command], cwd=ROOT, check=False).returncode == 0


def tracked(*patterns: str) -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "--", *patterns], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return [name for name in listed.stdout.splitlines() if (ROOT / name).exists()]


def install_ruff() -> Path:
    """The pinned ruff, in an environment of its own: the distribution has none."""
    ruff = RUFF_ENVIRONMENT / "bin" / "ruff"
    if not (RUFF_ENVIRONMENT / f"ruff-{RUFF_VERSION}").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", RUFF_ENVIRONMENT], check=True)
        pip = RUFF_ENVIRONMENT / "bin" / "pip"
        subprocess.run([pip, "install", "--quiet", f"ruff=={RUFF_VERSION}"], check=True)
        (RUFF_ENVIRONMENT / f"ruff-{RUFF_VERSION}").touch()
    return ruff


def check_format() -> bool:
    """C++ and C as clang-format has them."""
    return run("clang-format", "--dry-run", "--Werror", *tracked("*.h", "*.cpp", "*.c"))


def check_lint() -> bool:
    """Python as ruff has it: lint and format."""
    ruff = install_ruff()
    return all([run(ruff, "check", "--quiet", "."), run(ruff, "format", "--check", "--quiet", ".")])


def check_types() -> bool:
    """Python under mypy --strict, tests and examples included."""
    return run("/usr/bin/python3", "-m", "mypy", "--no-error-summary")


def check_generated() -> bool:
    """generated/ and docs/reference/operators.md are what the specs give."""
    with tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder)
        made = run(
            sys.executable, "-m", "codegen", "index",
            "--spec-dir", "op_specs", "--template-dir", "templates/glsl",
            "--out", fresh / "variants.txt", "--operators", fresh / "operators.md",
        )  # fmt: skip
        committed = [ROOT / "generated" / "variants.txt", ROOT / "docs/reference/operators.md"]
        stale = [
            path.relative_to(ROOT)
            for path in committed
            if not made or not filecmp.cmp(fresh / path.name, path, shallow=False)
        ]
    if not stale:
        return True
    for path in stale:
        print(f"{path} is stale: run ./dev update, read the difference and commit it.")
    return False


def check_host_32_bit() -> bool:
    """The runtime for a host of 32 bits, under qemu."""
    return run("ctest", "--preset", "release", "-R", "^package.cross_armhf$")


def check_cases() -> bool:
    """Every case of every operator, also with guard bytes around its tensors."""
    shards = os.cpu_count() or 1
    program = ROOT / "build" / "release" / "bin" / "op_tests"
    command = [str(program), "--gtest_brief=1", "--gtest_filter=Op.*:Guarded.*"]
    settings = os.environ | {"GALLIVM_PERF": "nopt", "GTEST_TOTAL_SHARDS": str(shards)}
    running = [
        subprocess.Popen(command, cwd=ROOT, env=settings | {"GTEST_SHARD_INDEX": str(shard)})
        for shard in range(shards)
    ]
    results = [process.wait() for process in running]
    return not any(results)


def check_faults() -> bool:
    """Each call of Vulkan that may fail fails once, with each of its errors."""
    environment = os.environ | {"SPIRLOOM_FAULTS": "all", "GALLIVM_PERF": "nopt"}
    program = ROOT / "build" / "release" / "bin" / "faults_test"
    ran = subprocess.run([program, "--gtest_brief=1"], cwd=ROOT, env=environment, check=False)
    return ran.returncode == 0


def check_clang() -> bool:
    """Everything compiles with Clang, warnings being errors."""
    return run("./dev", "build", "clang")


def check_sanitizers() -> bool:
    """Unit tests and a tenth of the operators' cases under ASan, UBSan and TSan."""
    return run(sys.executable, "tools/sanitizers.py")


def check_fuzz() -> bool:
    """Whatever is read is read safely: a minute of fuzzing in all, ASan and UBSan on."""
    return run("./dev", "fuzz", "all", "0.1")


def check_oldest_torch() -> bool:
    """The ways in from PyTorch with the oldest one that works."""
    return run("./dev", "test-torch", "--oldest")


def check_executorch() -> bool:
    """As ExecuTorch's backend: its own tests, and every case of its operators."""
    return run("./dev", "test-executorch", "--peer", "--suite-all")


STEPS: dict[str, Callable[[], bool]] = {
    "format": check_format,
    "lint": check_lint,
    "types": check_types,
    "generated": check_generated,
    "clang": check_clang,
    "host_32_bit": check_host_32_bit,
    "cases": check_cases,
    "faults": check_faults,
    "sanitizers": check_sanitizers,
    "fuzz": check_fuzz,
    "oldest_torch": check_oldest_torch,
    "executorch": check_executorch,
}


@ends_quietly
def main() -> int:
    parser = argparse.ArgumentParser(
        prog="./dev check",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description=__doc__.partition("\n")[0],
        epilog="\n".join(f"  {name:12} {step.__doc__}" for name, step in STEPS.items()),
    )
    parser.add_argument("steps", nargs="*", metavar="STEP", help="steps to run; all unless named")
    names: list[str] = parser.parse_args().steps or list(STEPS)
    unknown = [name for name in names if name not in STEPS]
    if unknown:
        parser.error(f"unknown step '{unknown[0]}'; there are: {', '.join(STEPS)}")
    failed = []
    for name in names:
        print(f"\n== {name}: {STEPS[name].__doc__}", flush=True)
        if not STEPS[name]():
            failed.append(name)
    print(f"\ncheck: failed: {', '.join(failed)}" if failed else "\ncheck: all passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
