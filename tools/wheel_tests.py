"""Tests the wheel, and runs the Python tests with it installed (`./dev test-torch`).

The environment contains the wheel, and the packages of the one that runs this module. The tests run
from a copy outside the repository: `spirloom` is the wheel's, and the copied tests import the code
generator, the spec model and the references under the names that these have in the wheel. From the
build come only the programs that the wheel does not contain. tests/wheel/installed.py checks this.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "build/dist"
SUITES = (
    "torch", "torch_device", "python_runtime", "fusion", "frontend", "llm", "pretrained", "oracles",
)  # fmt: skip

# Tests, the files that they read, and the programs of the build that they run.
COPIED = (
    "README.md", "docs", "examples", "llm/model", "runtime/include", "tests", "pyproject.toml",
)  # fmt: skip
PROGRAMS = ("spirloom-llm", "spirloom-shaderc")

_IMPORT = re.compile(r"^(\s*)(from|import) (codegen|spec_model|op_specs)\b", re.MULTILINE)
_INSTALLED = {
    "codegen": "spirloom._codegen",
    "spec_model": "spirloom._spec_model",
    "op_specs": "spirloom.op_specs",
}


def installed_names(text: str) -> str:
    """A module's text, with the names that packages of the repository have in the wheel."""
    return _IMPORT.sub(lambda found: f"{found[1]}{found[2]} {_INSTALLED[found[3]]}", text)


def build_wheel() -> Path:
    """The wheel of the working tree."""
    subprocess.run([sys.executable, ROOT / "tools/wheel.py", "--out", DIST], check=True)
    return next(DIST.glob("*.whl"))


def site_packages(environment: Path) -> Path:
    """The directory of an environment's packages."""
    return Path(sysconfig.get_path("purelib", "venv", {"base": str(environment)}))


def make_environment(directory: Path, wheel: Path) -> Path:
    """The bin directory of a new environment with the wheel and the packages of this one.

    A path in a .pth file is searched for packages, but the .pth files in it are not read: one of
    them names the repository.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", directory], check=True)
    pip = [sys.executable, "-m", "pip", "--python", str(directory / "bin/python")]
    subprocess.run([*pip, "install", "--quiet", "--no-deps", str(wheel)], check=True)
    paths = site_packages(directory) / "packages.pth"
    paths.write_text(f"{site_packages(Path(sys.prefix))}\n", encoding="utf-8")
    return directory / "bin"


def copy_tests(directory: Path, programs: Path) -> None:
    """Copies the tests and their files, and links programs and models where a build has them."""
    for name in COPIED:
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, directory / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, directory)
    for path in directory.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        path.write_text(installed_names(text), encoding="utf-8")
    built = directory / "build/release/bin"
    built.mkdir(parents=True)
    (built / "spirloom-run").symlink_to(programs / "spirloom-run")
    for program in PROGRAMS:
        (built / program).symlink_to(ROOT / "build/release/bin" / program)
    (directory / "build/pretrained").symlink_to(ROOT / "build/pretrained")


def run_tests(python: Path, directory: Path, suites: list[str], arguments: list[str]) -> int:
    """The exit code of pytest for the copied tests: the suites, unless arguments are paths."""
    named = any((ROOT / argument.partition("::")[0]).exists() for argument in arguments)
    paths = [] if named else [f"tests/{suite}" for suite in suites]
    settings = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("PYTHON", "SPIRLOOM_LIB", "SPIRLOOM_SH"))
    }
    # One thread of PyTorch for each process of pytest.
    settings |= {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [str(python), "-m", "pytest", "-q"]
    command += ["-p", "tests.wheel.installed"]
    command += ["-n", str(os.cpu_count() or 1), *paths, *arguments]
    return subprocess.run(command, cwd=directory, env=settings, check=False).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--wheel", type=Path, help="the wheel (default: built by tools/wheel.py)")
    parser.add_argument(
        "--suite", action="append", choices=SUITES, help="a suite to run (default: all)"
    )
    parser.add_argument(
        "--sample", type=int, default=1, metavar="N", help="run one test in N (tests/sample.py)"
    )
    arguments, others = parser.parse_known_args()
    wheel = arguments.wheel.resolve() if arguments.wheel else build_wheel()
    if not others and not arguments.suite:
        command = [sys.executable, "-m", "pytest", "-q", "tests/wheel", "--wheel", wheel]
        if subprocess.run(command, cwd=ROOT, check=False).returncode != 0:
            return 1
    with tempfile.TemporaryDirectory(prefix="spirloom-wheel-") as scratch:
        programs = make_environment(Path(scratch) / "env", wheel)
        copy = Path(scratch) / "copy"
        copy.mkdir()
        copy_tests(copy, programs)
        others = [f"--sample={arguments.sample}", *others]
        return run_tests(programs / "python", copy, arguments.suite or list(SUITES), others)


if __name__ == "__main__":
    sys.exit(main())
