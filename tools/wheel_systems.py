"""Implements `./dev test-wheels`: the wheel for glibc 2.28 on systems of other ages and machines.

Each system is a root directory with the wheel, its requirements and a Vulkan driver for the CPU. It
imports the digits network from ONNX and compares it with PyTorch (tests/wheel/scenario.py), and
runs spirloom-run and spirloom-llm. Needs root and debootstrap. 64-bit ARM runs under qemu-user,
from unpacked packages. Debian 11 has neither Python 3.11 nor a driver with Vulkan 1.1: the wheel's
library and programs start there, and refuse the device.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tools.systems import (
    BASES,
    ROOT,
    MissingRightsError,
    SystemsError,
    copied_base,
    mirror,
    require_mounts,
    run,
)  # fmt: skip

SHARED = "srv/wheel"  # in a system's root: the wheel and the files that it reads
Words = list[str | Path]  # of a command
_INSTALL = "apt-get -q update >/dev/null; apt-get -q install -y --no-install-recommends"

_TRY = f"""
{_INSTALL} python3-venv libvulkan1 mesa-vulkan-drivers >/dev/null
python3 -m venv /srv/venv
/srv/venv/bin/pip install --quiet "$(echo /srv/wheel/*.whl)[onnx]"
/srv/venv/bin/spirloom doctor
/srv/venv/bin/python /srv/wheel/scenario.py /srv/wheel/digits /tmp/digits.slg
/srv/venv/bin/spirloom-run /tmp/digits.slg --random
/srv/venv/bin/spirloom-llm /srv/wheel/story.slg --prompt Once --tokens 8
"""
# Without Python 3.11 and without a driver with Vulkan 1.1: the programs start, read the shaders and
# list the device, which they refuse.
_TRY_PROGRAMS = f"""
{_INSTALL} python3-minimal libpython3-stdlib libvulkan1 mesa-vulkan-drivers >/dev/null
cd /srv/wheel/unpacked/spirloom/_native
chmod +x spirloom-*
python3 -c "import ctypes; ctypes.CDLL('./libspirloom.so.1').spirloom_version()"
./spirloom-run --list-devices
./spirloom-ops --library shaders_all.slpack --op aten.relu
options="--prompt Once --no-builtin --library shaders_all.slpack"
if ./spirloom-llm /srv/wheel/story.slg $options 2>/tmp/refused; then exit 1; fi
cat /tmp/refused
grep --quiet "Spirloom requires Vulkan 1.1" /tmp/refused
"""


@dataclass(frozen=True, slots=True)
class System:
    """A suite of Debian, and the commands that try the wheel there."""

    suite: str
    machine: str = "x86_64"
    commands: str = _TRY


SYSTEMS = {
    "debian11": System("bullseye", commands=_TRY_PROGRAMS),
    "debian12": System("bookworm"),
    "debian13": System("trixie"),
    "debian13-arm64": System("trixie", "aarch64"),
}


def find_wheel(directory: Path, machine: str) -> Path:
    """The wheel for a machine."""
    found = sorted(directory.glob(f"spirloom-*manylinux_2_28_{machine}.whl"))
    if not found:
        raise SystemsError(f"{directory} has no wheel: ./dev wheel --manylinux {machine}.")
    return found[-1]


def share(wheel: Path, directory: Path) -> None:
    """Copies the wheel, also unpacked, the scenario and its models."""
    directory.mkdir(parents=True)
    shutil.copy(wheel, directory)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(directory / "unpacked")
    shutil.copy(ROOT / "tests/wheel/scenario.py", directory)
    shutil.copy(ROOT / "examples/story/story.slg", directory)
    shutil.copytree(ROOT / "examples/digits", directory / "digits")


def try_native(system: System, wheel: Path) -> bool:
    """Whether the wheel works in a root of this machine."""
    with copied_base(system.suite) as root:
        share(wheel, root / SHARED)
        return run(root, system.commands, "srv") == 0


@contextmanager
def unpacked(suite: str, architecture: str, packages: str) -> Iterator[Path]:
    """A root with packages of another architecture, unpacked but not configured."""
    BASES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BASES) as name:
        root = Path(name) / "root"
        command = ["debootstrap", f"--arch={architecture}", "--foreign", "--variant=minbase",
                   f"--include={packages}", suite, str(root), mirror()]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemsError(f"debootstrap failed: {done.stdout[-500:]}{done.stderr[-500:]}")
        for package in sorted((root / "var/cache/apt/archives").glob("*.deb")):
            subprocess.run(["dpkg-deb", "--extract", str(package), str(root)], check=True)
        yield root


def try_emulated(system: System, wheel: Path) -> bool:
    """Whether the wheel works under qemu-user, with packages of 64-bit ARM."""
    if shutil.which("qemu-aarch64") is None:
        raise SystemsError("qemu-aarch64 is not installed: apt-get install qemu-user.")
    packages = "python3-minimal,python3,libvulkan1,mesa-vulkan-drivers"
    with unpacked(system.suite, "arm64", packages) as root:
        share(wheel, root / SHARED)
        shared, site = root / SHARED, root / "srv/site"
        python = next((root / "usr/bin").glob("python3.[0-9]*[0-9]"))
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(site),
               "--only-binary=:all:", "--python-version", python.name.removeprefix("python"),
               "--platform", "manylinux_2_28_aarch64", "--platform", "manylinux2014_aarch64",
               "--platform", "manylinux_2_27_aarch64", f"{shared / wheel.name}[onnx]"]  # fmt: skip
        subprocess.run(pip, check=True)
        driver = str(next((root / "usr/share/vulkan/icd.d").glob("lvp_icd*.json")))
        environment = os.environ | {
            "PYTHONPATH": str(site), "VK_DRIVER_FILES": driver, "VK_ICD_FILENAMES": driver,
            "XDG_CACHE_HOME": str(root / "srv/cache"), "PYTHONDONTWRITEBYTECODE": "1",
        }  # fmt: skip
        graph = root / "srv/digits.slg"
        native = site / "spirloom/_native"
        kernels: Words = ["--no-builtin", "--library", native / "shaders_all.slpack"]
        scenario: Words = [python, shared / "scenario.py", shared / "digits", graph]
        story: Words = [
            native / "spirloom-llm",
            shared / "story.slg",
            "--prompt",
            "Once",
            "--tokens",
            "8",
        ]
        commands: list[Words] = [
            scenario,
            [native / "spirloom-run", graph, "--random", *kernels],
            [*story, *kernels],
        ]
        for command in commands:
            started = ["qemu-aarch64", "-L", str(root), *map(str, command)]
            if subprocess.run(started, env=environment, check=False).returncode != 0:
                return False
    return True


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="./dev test-wheels",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("systems", nargs="*", metavar="NAME", help=f"{', '.join(SYSTEMS)}; or all")
    parser.add_argument(
        "--wheels", type=Path, default=ROOT / "dist", help="directory of wheels (default: dist)"
    )
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.systems) - SYSTEMS.keys())
    if unknown:
        parser.error(f"unknown system '{unknown[0]}'; expected one of: {', '.join(SYSTEMS)}")
    rows = []
    try:
        require_mounts()
        for name in arguments.systems or SYSTEMS:
            system = SYSTEMS[name]
            wheel = find_wheel(arguments.wheels, system.machine)
            print(f"\n== {name}: {wheel.name}", flush=True)
            attempt = try_native if system.machine == "x86_64" else try_emulated
            rows.append(f"| {name} | {'passed' if attempt(system, wheel) else 'failed'} |")
    except MissingRightsError as error:
        print(error, file=sys.stderr)
        return 1
    except SystemsError as error:
        print(error, file=sys.stderr)
        return 1
    print("\n| system | result |\n|---|---|\n" + "\n".join(rows))
    return int(any("failed" in row for row in rows))


if __name__ == "__main__":
    sys.exit(main())
