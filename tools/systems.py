"""Implements `./dev test-systems`: what a new user does, on bare Debian systems.

For each system, a root directory with git only gets a clone of the committed HEAD, and runs the
stages: the source distribution by pip without development packages, the packages, the demo, tests,
and the wheel in a virtual environment. With --turn, the system and the shorter stages that CI runs
for this commit. Needs root and debootstrap. Debian's packages come from where this machine gets
them.
"""

from __future__ import annotations

import argparse
import os
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.sample import DIGITS_OF_SAMPLES, seed

ROOT = Path(__file__).resolve().parent.parent
BASES = ROOT / "build/systems"
CLONE = "srv/spirloom"  # in a system's root

# By name: the suite of Debian.
SYSTEMS = {"debian12": "bookworm", "debian13": "trixie", "testing": "testing"}

# A user with a compiler but without development packages.
_SOURCE = """
install="apt-get -q install -y --no-install-recommends"
apt-get -q update >/dev/null
$install g++ python3 python3-venv >/dev/null
python3 -m venv /tmp/source
pip="/tmp/source/bin/pip --quiet --disable-pip-version-check"
$pip install build
/tmp/source/bin/python -m build --sdist --outdir /tmp/sdist >/dev/null
if tar -tf /tmp/sdist/*.tar.gz | grep -E '^[^/]*/(build|dist|[.]venv)'; then
  echo "The source distribution contains build products." >&2
  exit 1
fi
if $pip install /tmp/sdist/*.tar.gz >/tmp/refused.log 2>&1; then
  echo "Development packages are installed." >&2
  exit 1
fi
grep -o 'config-settings=cmake.define.SPIRLOOM_FETCH_DEPENDENCIES=ON' /tmp/refused.log
switch=cmake.define.SPIRLOOM_FETCH_DEPENDENCIES=ON
$pip install --config-settings=$switch "$(echo /tmp/sdist/*.tar.gz)[onnx]"
$install libvulkan1 mesa-vulkan-drivers >/dev/null
cp -r tests/wheel/scenario.py examples/digits /tmp
cd /tmp && source/bin/spirloom doctor
source/bin/python scenario.py digits digits.slg
source/bin/spirloom-run digits.slg --random
"""
_WHEEL = """
./dev wheel
python3 -m venv /tmp/venv
/tmp/venv/bin/pip install --quiet dist/*.whl
cd /tmp && venv/bin/spirloom doctor
"""
# By name: the commands of each, in a clone.
STAGES = {
    "source": _SOURCE,
    "packages": "./dev packages test",
    "demo": "./dev demo",
    "test": "./dev test -L unit",
    "wheel": _WHEEL,
}
# For --turn: without the source distribution, which compiles glslang and SPIRV-Tools, the packages
# of tests, most of the build, and the wheel.
_PROGRAMS = "compiler_test graph_test"
TURN_STAGES = {
    "packages": "./dev packages build",
    "demo": "./dev demo",
    "test": f"""
./dev build release {_PROGRAMS}
for program in {_PROGRAMS}; do build/release/bin/$program --gtest_brief=1; done
""",
}

# What a system needs to reach the registries of packages as this machine does.
_COPIED = (
    "etc/resolv.conf", "etc/hosts", "etc/apt/apt.conf.d", "etc/apt/auth.conf.d", "etc/apt/keyrings",
    "etc/apt/trusted.gpg.d", "etc/ssl/certs", "etc/pip.conf", "usr/local/share/ca-certificates",
)  # fmt: skip
_ENVIRONMENT = {
    "HOME": "/root", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "TERM": "dumb",
}  # fmt: skip


class SystemsError(Exception):
    """A system cannot be made. The message contains the remedy."""


class MissingRightsError(SystemsError):
    """This machine does not allow root directories with mounts of their own."""


def require_mounts() -> None:
    """Raises MissingRightsError unless a process may mount."""
    tried = subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], check=False)
    if os.geteuid() != 0 or tried.returncode != 0:
        raise MissingRightsError(
            "test-systems makes root directories with mounts of their own, which only root may do, "
            "and many containers may not: no system was tried."
        )


def mirror() -> str:
    """The address from which this machine gets Debian's packages."""
    listed = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI)"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    found = [line for line in listed.stdout.splitlines() if "debian" in line]
    return found[0] if found else "http://deb.debian.org/debian"


def make_base(suite: str) -> Path:
    """The bare root directory of a suite with git, made once."""
    base = BASES / suite
    if base.exists():
        return base
    if shutil.which("debootstrap") is None:
        raise SystemsError("debootstrap is not installed: apt-get install debootstrap.")
    BASES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BASES) as name:
        scratch = Path(name) / "root"
        command = ["debootstrap", "--variant=minbase", "--include=git,ca-certificates"]
        log = BASES / f"{suite}.log"
        with log.open("wb") as stream:
            done = subprocess.run(
                [*command, suite, str(scratch), mirror()], stdout=stream, stderr=stream, check=False
            )
        if done.returncode != 0:
            raise SystemsError(f"debootstrap failed; its output is in {log}.")
        for path in _COPIED:
            _copy(Path("/") / path, scratch / path)
        scratch.rename(base)
    return base


def _copy(source: Path, target: Path) -> None:
    """Copies a file or the files of a directory. Links in the root directory are replaced, not
    followed: absolute ones lead to this machine's files."""
    if not source.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    files = [f"{source}/.", str(target)] if source.is_dir() else [str(source), str(target)]
    subprocess.run(["cp", "-rL", "--remove-destination", *files], check=True)


@contextmanager
def copied_base(suite: str) -> Iterator[Path]:
    """A copy of the bare root, removed at the end."""
    base = make_base(suite)
    with tempfile.TemporaryDirectory(dir=BASES, ignore_cleanup_errors=True) as name:
        root = Path(name) / "root"
        subprocess.run(["cp", "-a", str(base), str(root)], check=True)
        yield root


@contextmanager
def made_system(suite: str) -> Iterator[Path]:
    """A copy of the bare root with a clone of HEAD in CLONE, removed at the end."""
    with copied_base(suite) as root:
        clone = [
            "git",
            "clone",
            "--quiet",
            "--no-hardlinks",
            str(ROOT),
            str(root / CLONE),
        ]
        subprocess.run(clone, check=True)
        yield root


def run(root: Path, commands: str, directory: str = CLONE) -> int:
    """The exit code of commands of bash in a directory of a system. The mounts end with it."""
    environment = [f"{name}={value}" for name, value in _ENVIRONMENT.items()]
    inside = f"cd /{directory} && set -euo pipefail\n{commands}"
    chroot = ["chroot", str(root), "/usr/bin/env", "-i", *environment, "bash", "-c", inside]
    script = (
        f"mount -t proc proc {shlex.quote(str(root / 'proc'))}\n"
        f"mount --rbind /dev {shlex.quote(str(root / 'dev'))}\n"
        f"exec {shlex.join(chroot)}"
    )
    command = ["unshare", "--mount", "--pid", "--fork", "bash", "-euc", script]
    return subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode


def turn() -> str:
    """The system whose turn it is for this commit."""
    return list(SYSTEMS)[seed() // DIGITS_OF_SAMPLES % len(SYSTEMS)]


def try_system(name: str, stages: Mapping[str, str]) -> list[str]:
    """Runs the commands of the stages until one fails. Returns the rows of the table."""
    rows = []
    with made_system(SYSTEMS[name]) as root:
        for stage, commands in stages.items():
            print(f"\n== {name}: {stage}", flush=True)
            wall, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
            status = run(root, commands)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            result = "passed" if status == 0 else f"failed ({status})"
            rows.append(
                f"| {name} | {stage} | {result} | {time.monotonic() - wall:.0f} | {cpu:.0f} |"
            )
            if status != 0:
                break
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="./dev test-systems",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("systems", nargs="*", metavar="NAME", help=f"{', '.join(SYSTEMS)}; or all")
    parser.add_argument(
        "--stage", action="append", choices=STAGES, help="run only this stage; repeat for each"
    )
    parser.add_argument(
        "--turn", action="store_true", help="the system and the stages of CI for this commit"
    )
    arguments = parser.parse_args()
    if arguments.turn and (arguments.systems or arguments.stage):
        parser.error("--turn selects the system and the stages")
    unknown = sorted(set(arguments.systems) - SYSTEMS.keys())
    if unknown:
        parser.error(f"unknown system '{unknown[0]}'; expected one of: {', '.join(SYSTEMS)}")
    systems = arguments.systems or list(SYSTEMS)
    stages = {name: STAGES[name] for name in STAGES if name in (arguments.stage or STAGES)}
    if arguments.turn:
        systems, stages = [turn()], TURN_STAGES
    rows = []
    try:
        require_mounts()
        for name in systems:
            rows += try_system(name, stages)
    except MissingRightsError as error:
        print(error, file=sys.stderr)
        return 0 if arguments.turn else 1  # CI may run where nothing may be mounted
    except SystemsError as error:
        print(error, file=sys.stderr)
        return 1
    print("\n| system | stage | result | seconds | CPU seconds |\n|---|---|---|--:|--:|")
    print("\n".join(rows))
    return int(any("failed" in row for row in rows))


if __name__ == "__main__":
    sys.exit(main())
