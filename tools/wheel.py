"""Builds the wheel (`./dev wheel`), with a platform tag for the oldest supported glibc or, with
--windows, for 64-bit Windows by cross-compilation.

The glibc version is the maximum version of the glibc symbols that the binaries import. Binaries may
link only libraries that every distribution with this glibc contains.
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
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / "build/wheel-env"
REQUIRED = ("scikit-build-core==0.11.6", "jinja2==3.1.6", "pyyaml==6.0.3", "wheel==0.45.1")
MAX_BYTES = 10 << 20

# The members of a wheel have one time, so that equal builds make equal wheels.
REPRODUCIBLE = {"SOURCE_DATE_EPOCH": "315532800"} | os.environ

# Libraries that manylinux wheels may link: glibc and libgcc. The ExecuTorch backend also links the
# library of ExecuTorch's wheel.
COMMON = re.compile(r"(libc|libm|libdl|libpthread|librt|libgcc_s|ld-linux[-\w]*)\.so\.\d+")

EXECUTORCH = ("libexecutorch.so",)

WINDOWS = {"kernel32.dll", "msvcrt.dll", "psapi.dll", "shell32.dll"}


class WheelError(Exception):
    """The wheel cannot be built."""


def prepare() -> Path:
    """The Python of an environment with the build dependencies, which is reused by later builds."""
    python = ENVIRONMENT / "bin/python3"
    stamp = ENVIRONMENT / "installed.txt"
    if not stamp.exists() or stamp.read_text(encoding="utf-8") != repr(REQUIRED):
        venv.EnvBuilder(clear=True, with_pip=True).create(ENVIRONMENT)
        command = [str(python), "-m", "pip", "install", "--quiet", *REQUIRED]
        if subprocess.run(command, check=False).returncode != 0:
            raise WheelError(f"pip cannot install {', '.join(REQUIRED)}. Check access to PyPI.")
        stamp.write_text(repr(REQUIRED), encoding="utf-8")
    return python


def windows_settings() -> dict[str, str]:
    """The settings of a build for Windows, which uses the shader compiler of the release build."""
    compiler = ROOT / "build/release/bin/spirloom-shaderc"
    if not compiler.exists():
        raise WheelError(f"{compiler} does not exist. Run `./dev build` first.")
    return {
        "build-dir": "build/wheel-windows",
        "cmake.define.CMAKE_TOOLCHAIN_FILE": f"{ROOT}/cmake/toolchains/x86_64-w64-mingw32.cmake",
        "cmake.define.SPIRLOOM_SHADERC": str(compiler),
        "cmake.define.SPIRLOOM_FETCH_DEPENDENCIES": "ON",
        "cmake.define.SPIRLOOM_ZSTD": "ON",
    }


def build(python: Path, directory: Path, windows: bool) -> Path:
    """Builds in build/wheel or build/wheel-windows, with the shader cache of the release build, and
    returns the wheel.
    """
    command = [str(python), "-m", "pip", "wheel", str(ROOT), "--no-deps", "--no-build-isolation"]
    settings = windows_settings() if windows else {}
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
    known = EXECUTORCH if binary.name == "libspirloom_executorch.so" else ()
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


def platform_tag(found: list[Path], windows: bool) -> str:
    """The platform tag, e.g. manylinux_2_34_x86_64."""
    if windows:
        for binary in found:
            check_dlls(binary)
        return "win_amd64"
    major, minor = max(map(needed_glibc, found))
    machine = sysconfig.get_platform().rpartition("-")[2].replace("-", "_")
    return f"manylinux_{major}_{minor}_{machine}"


def name_for_platform(python: Path, wheel: Path, target: Path, windows: bool) -> Path:
    """Writes the tag into the wheel and moves the wheel to the target directory."""
    with tempfile.TemporaryDirectory() as scratch:
        tag = platform_tag(binaries(wheel, Path(scratch)), windows)
    command = [str(python), "-m", "wheel", "tags", "--remove", "--platform-tag", tag, str(wheel)]
    subprocess.run(command, env=REPRODUCIBLE, check=True, stdout=subprocess.DEVNULL)
    tagged = next(wheel.parent.glob("*.whl"))
    target.mkdir(parents=True, exist_ok=True)
    for previous in target.glob(f"spirloom-*-{'win' if windows else 'manylinux'}*.whl"):
        previous.unlink()
    moved = target / tagged.name
    moved.write_bytes(tagged.read_bytes())
    return moved


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument(
        "--out", type=Path, default=ROOT / "dist", help="output directory (default: dist)"
    )
    parser.add_argument("--windows", action="store_true", help="for 64-bit Windows, by MinGW-w64")
    arguments = parser.parse_args()
    windows: bool = arguments.windows
    try:
        python = prepare()
        with tempfile.TemporaryDirectory() as scratch:
            built = build(python, Path(scratch), windows)
            wheel = name_for_platform(python, built, arguments.out, windows)
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
