"""Implements `./dev check`: format, lint, types, generated files, Clang, modules with the newest
spirv-val, all tests, operator cases and faults, mutants, sanitizers, fuzzing, oldest and newest
PyTorch, pretrained models, real networks, all ExecuTorch tests, bare systems, wheels, the
container image.

Runs all steps, or those on the command line (`./dev check format lint`), also after a failure. The
exit code is 1 if a step failed.
"""

import argparse
import filecmp
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from spec_model.output_errors import handle_output_errors

ROOT = Path(__file__).resolve().parent.parent
# mypy reads the types of the libraries.
CHECKERS = {"ruff": "0.8.4", "clang-format": "14.0.6", "mypy": "2.4.1", "numpy": "2.3.5",
            "pytest": "9.2.0", "hypothesis": "6.170.17", "jinja2": "3.1.6",
            "check-jsonschema": "0.39.0"}  # fmt: skip
CHECKER_ENVIRONMENT = ROOT / ".venv-check"


def run(*command: str | Path) -> bool:
    """Runs a command in the repository. Returns whether it succeeded."""
    return subprocess.run([str(part) for part in command], cwd=ROOT, check=False).returncode == 0


def run_all_tests(*command: str | Path) -> bool:
    """The same with every test (tests/sample.py)."""
    environment = os.environ | {"SPIRLOOM_SAMPLE": "all"}
    arguments = [str(part) for part in command]
    return subprocess.run(arguments, cwd=ROOT, env=environment, check=False).returncode == 0


def tracked(*patterns: str) -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "--", *patterns], cwd=ROOT, check=True, capture_output=True, text=True
    )
    return [name for name in listed.stdout.splitlines() if (ROOT / name).exists()]


def checker(name: str) -> Path:
    """Installs the pinned checkers, whose output depends on the version, in an environment of
    their own. The program of this name."""
    wanted = "".join(f"{package}=={version}\n" for package, version in CHECKERS.items())
    installed = CHECKER_ENVIRONMENT / "installed.txt"
    if not installed.exists() or installed.read_text() != wanted:
        subprocess.run([sys.executable, "-m", "venv", "--clear", CHECKER_ENVIRONMENT], check=True)
        pip = CHECKER_ENVIRONMENT / "bin" / "pip"
        subprocess.run([pip, "install", "--quiet", *wanted.split()], check=True)
        installed.write_text(wanted)
    return CHECKER_ENVIRONMENT / "bin" / name


def check_format() -> bool:
    """Format of C++ and C (clang-format)."""
    files = tracked("*.h", "*.cpp", "*.c")
    return run(checker("clang-format"), "--dry-run", "--Werror", *files)


def check_lint() -> bool:
    """Lint and format of Python (ruff); workflows conform to GitHub's schema."""
    ruff = checker("ruff")
    schema = ("--quiet", "--builtin-schema", "vendor.github-workflows")
    return all([
        run(ruff, "check", "--quiet", "."),
        run(ruff, "format", "--check", "--quiet", "."),
        run(checker("check-jsonschema"), *schema, *tracked(".github/workflows/*.yml")),
    ])  # fmt: skip


def check_types() -> bool:
    """Types of Python, including tests and examples (mypy --strict)."""
    return run(checker("mypy"), "--no-error-summary")


def check_generated() -> bool:
    """docs/reference/operators.md and copied rows of tables are up to date."""
    with tempfile.TemporaryDirectory() as scratch:
        fresh = Path(scratch)
        made = run(
            sys.executable, "-m", "codegen", "operators",
            "--spec-dir", "op_specs", "--template-dir", "templates/glsl",
            "--out", fresh / "operators.md",
        )  # fmt: skip
        page = ROOT / "docs/reference/operators.md"
        is_fresh = made and filecmp.cmp(fresh / page.name, page, shallow=False)
    rows = run(sys.executable, "-m", "tools.vocabularies")
    if not is_fresh:
        print(f"{page} is out of date. Run ./dev update, review the difference and commit it.")
    return is_fresh and rows


def check_cases() -> bool:
    """All operator cases, also with guard bytes around tensors."""
    shards = os.cpu_count() or 1
    program = ROOT / "build" / "release" / "bin" / "op_tests"
    command = [str(program), "--gtest_brief=1", "--gtest_filter=Op.*:Guarded.*"]
    settings = os.environ | {"GALLIVM_PERF": "nopt", "SPIRLOOM_VARIANT_SHARDS": str(shards)}
    running = [
        subprocess.Popen(command, cwd=ROOT, env=settings | {"SPIRLOOM_VARIANT_SHARD": str(shard)})
        for shard in range(shards)
    ]
    results = [process.wait() for process in running]
    return not any(results)


def check_modules() -> bool:
    """The newest spirv-val accepts every module of the shader pack."""
    return run(sys.executable, "-m", "tools.modules")


def check_template_coverage() -> bool:
    """Branches of templates that no test case executes."""
    return run(sys.executable, "-m", "tools.template_coverage")


def check_vendors() -> bool:
    """Every variant with the compilers of GPU vendors."""
    names = ("installed", "backports", "adreno", "intel", "nvidia")
    return run("./dev", "test-vendors", "--only", *names)


def check_drivers() -> bool:
    """All operator cases on a second Vulkan driver."""
    return run("./dev", "test-drivers", "--all")


def check_windows() -> bool:
    """The programs and the wheel for Windows, with Wine; an eighth of the operator cases."""
    return run("./dev", "test-windows", "--case-parts", "8")


def check_faults() -> bool:
    """Each Vulkan call fails once with each of its error codes."""
    program = ROOT / "build/release/bin/faults_test"
    return run_all_tests("env", "GALLIVM_PERF=nopt", program, "--gtest_brief=1")


def check_mutants() -> bool:
    """Tests find 90 % of the mutants of each module whose errors are silent."""
    python = ROOT / ".venv/bin/python3"
    options = ("--sample", "20", "--jobs", str(os.cpu_count() or 1))
    return run(python, "-m", "tools.mutation", *options)


def check_clang() -> bool:
    """Build with Clang and warnings as errors."""
    return run("./dev", "build", "clang", "all", "spirloom_tests_on_demand")


def check_sanitizers() -> bool:
    """Unit tests and a tenth of the operator cases with ASan, UBSan and TSan."""
    return run(sys.executable, "tools/sanitizers.py")


def check_fuzz() -> bool:
    """All fuzz targets, 6 seconds each, with ASan and UBSan."""
    return run("./dev", "fuzz", "all", "0.1")


def check_tests() -> bool:
    """Every test of the build but operator cases and faults, which are steps of their own."""
    others = r"^(ops\.[0-9]+|faults)$"
    jobs = str(os.cpu_count() or 1)
    return run_all_tests("ctest", "--preset", "release", "-j", jobs, "-E", others)


def check_torch() -> bool:
    """The wheel and all tests with the newest PyTorch."""
    return run("./dev", "test-torch")


def check_oldest_torch() -> bool:
    """PyTorch importers with the oldest supported PyTorch."""
    return run("./dev", "test-torch", "--oldest")


def check_newest_torch() -> bool:
    """PyTorch importers with the newest packages of PyPI."""
    return run("./dev", "test-torch", "--newest")


def check_pretrained() -> bool:
    """Pretrained models in float32 and float16, with the wheel."""
    return run_all_tests("./dev", "test-torch", "tests/pretrained")


def check_real_networks() -> bool:
    """Networks of real depth and width by each importer of PyTorch, and all published
    architectures."""
    files = (f"tests/torch/test_{name}_networks.py" for name in ("real", "published"))
    return run_all_tests("./dev", "test-torch", *files)


def check_executorch() -> bool:
    """The ExecuTorch backend: ExecuTorch's tests, and all operator cases."""
    return run("./dev", "test-executorch", "--peer", "--suite-all")


def check_systems() -> bool:
    """Source distribution, packages, demo, unit tests and wheel on bare Debian systems."""
    return run("./dev", "test-systems")


def check_wheels() -> bool:
    """The wheels for glibc 2.28 on Debian 11, 12 and 13, and on 64-bit ARM."""
    machines = ("x86_64", "aarch64")
    built = [run("./dev", "wheel", "--manylinux", machine) for machine in machines]
    return all(built) and run("./dev", "test-wheels")


def check_container() -> bool:
    """The container image, with the wheel of the step before."""
    return run("./dev", "test-container")


STEPS: dict[str, Callable[[], bool]] = {
    "format": check_format,
    "lint": check_lint,
    "types": check_types,
    "generated": check_generated,
    "clang": check_clang,
    "modules": check_modules,
    "cases": check_cases,
    "templates": check_template_coverage,
    "vendors": check_vendors,
    "drivers": check_drivers,
    "windows": check_windows,
    "faults": check_faults,
    "mutants": check_mutants,
    "sanitizers": check_sanitizers,
    "tests": check_tests,
    "torch": check_torch,
    "oldest_torch": check_oldest_torch,
    "newest_torch": check_newest_torch,
    "pretrained": check_pretrained,
    "real_networks": check_real_networks,
    "fuzz": check_fuzz,  # the oracles use the environment of the PyTorch tests
    "executorch": check_executorch,
    "systems": check_systems,
    "wheels": check_wheels,
    "container": check_container,
}


@handle_output_errors
def main() -> int:
    parser = argparse.ArgumentParser(
        prog="./dev check",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Runs all checks of the repository.",
        epilog="\n".join(f"  {name:12} {step.__doc__}" for name, step in STEPS.items()),
    )
    parser.add_argument("steps", nargs="*", metavar="STEP", help="steps to run (default: all)")
    names: list[str] = parser.parse_args().steps or list(STEPS)
    unknown = [name for name in names if name not in STEPS]
    if unknown:
        parser.error(f"unknown step '{unknown[0]}'; expected one of: {', '.join(STEPS)}")
    failed = []
    for name in names:
        print(f"\n== {name}: {STEPS[name].__doc__}", flush=True)
        if not STEPS[name]():
            failed.append(name)
    print(f"\ncheck: failed: {', '.join(failed)}" if failed else "\ncheck: all passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
