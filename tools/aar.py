"""Makes an Android archive (AAR) of the package org.spirloom: ./dev aar.

  ./dev aar net.slg                   for applications that run this model
  ./dev aar net.slg --abi arm64-v8a   for phones only, not for the emulator
  ./dev aar --all-operators           for all models

Requires Android's NDK: ANDROID_NDK_ROOT is its directory. An AAR is a zip file with classes.jar,
the manifest, rules for ProGuard and R8, and a native library for each ABI. Neither Gradle nor
Android's SDK is required.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tools.elf import ElfError, SharedLibrary, read_shared_library

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "integrations/java/android"
LIBRARY = "libspirloom_jni.so"
ABIS = {"arm64-v8a": "aarch64", "x86_64": "x86_64"}  # with the machine of ELF
PAGE_SIZE = 16384  # of Android 15's largest pages, in bytes
SYSTEM_LIBRARIES = frozenset({"libc.so", "libdl.so", "liblog.so", "libm.so"})
TIMESTAMP = (1980, 1, 1, 0, 0, 0)  # the same inputs give the same bytes


class AarError(Exception):
    """The archive cannot be made; the message is for the user."""


def check_library(path: Path, abi: str) -> None:
    """Raises AarError if Android devices of the ABI cannot load the native library."""
    try:
        library = read_shared_library(path)
    except (ElfError, OSError) as error:
        raise AarError(str(error)) from error
    if problems := list(_problems(library, abi)):
        raise AarError(f"'{path}' cannot be used for {abi}:\n" + "\n".join(problems))


def _problems(library: SharedLibrary, abi: str) -> list[str]:
    problems = []
    if library.machine != ABIS[abi]:
        problems.append(f" - The machine is {library.machine}; expected {ABIS[abi]}.")
    if library.page_alignment < PAGE_SIZE:
        problems.append(
            f" - Segments are aligned to {library.page_alignment} bytes; expected at least "
            f"{PAGE_SIZE}: link with -Wl,-z,max-page-size={PAGE_SIZE}."
        )
    if extra := sorted(set(library.needed) - SYSTEM_LIBRARIES):
        allowed = ", ".join(sorted(SYSTEM_LIBRARIES))
        problems.append(f" - It requires {', '.join(extra)}; expected only {allowed}.")
    if library.exported != ("JNI_OnLoad",):
        problems.append(f" - It exports {', '.join(library.exported)}; expected only JNI_OnLoad.")
    if library.has_text_relocations:
        problems.append(" - It has text relocations; compile it with -fPIC.")
    return problems


def write_aar(output: Path, classes: Path, libraries: Mapping[str, Path]) -> None:
    """Writes the archive: `classes` is spirloom.jar, `libraries` the native library of each ABI.

    Raises AarError if a library cannot be used. The file appears complete or not at all.
    """
    for abi, path in libraries.items():
        check_library(path, abi)
    metadata = "META-INF/com/android/build/gradle/aar-metadata.properties"
    files = {
        "AndroidManifest.xml": (SOURCES / "AndroidManifest.xml").read_bytes(),
        "R.txt": b"",  # no resources
        "classes.jar": classes.read_bytes(),
        metadata: (SOURCES / "aar-metadata.properties").read_bytes(),
        "proguard.txt": (SOURCES / "proguard.txt").read_bytes(),
    }
    files |= {f"jni/{abi}/{LIBRARY}": path.read_bytes() for abi, path in libraries.items()}
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=output.parent) as directory:
        temporary = Path(directory) / output.name
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            for name in sorted(files):
                info = zipfile.ZipInfo(name, TIMESTAMP)
                info.compress_type = zipfile.ZIP_DEFLATED
                info.external_attr = 0o644 << 16
                archive.writestr(info, files[name])
        temporary.replace(output)


def find_ndk() -> Path:
    """The NDK. Raises AarError if there is none."""
    value = os.environ.get("ANDROID_NDK_ROOT", "")
    toolchain = Path(value) / "build/cmake/android.toolchain.cmake"
    if not value or not toolchain.is_file():
        raise AarError(
            f"ANDROID_NDK_ROOT is '{value}'; expected the directory of Android's NDK (r26 or "
            "later), https://developer.android.com/ndk/downloads."
        )
    return Path(value)


def strip(ndk: Path, library: Path, output: Path) -> None:
    """Writes the library without symbols that loading does not require."""
    programs = sorted(ndk.glob("toolchains/llvm/prebuilt/*/bin/llvm-strip"))
    if not programs:
        raise AarError(f"The NDK '{ndk}' has no llvm-strip.")
    _run([str(programs[0]), "--strip-unneeded", "-o", str(output), str(library)])


def _run(command: Sequence[str]) -> None:
    if subprocess.run(command, cwd=ROOT, check=False).returncode != 0:
        raise AarError(f"{' '.join(command)} failed.")


def build(ndk: Path, abi: str, selection: Sequence[str], directory: Path) -> Path:
    """Builds the native library of an ABI, stripped."""
    preset = f"android-{abi}"
    _run(["cmake", "--preset", preset, "--log-level=NOTICE", "-DSPIRLOOM_LTO=ON", *selection])
    _run(["cmake", "--build", "--preset", preset, "--target", "spirloom_jni"])
    output = directory / abi / LIBRARY
    output.parent.mkdir()
    strip(ndk, ROOT / "build" / preset / "integrations/java" / LIBRARY, output)
    return output


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="./dev aar", description=__doc__.split("\n")[0])
    parser.add_argument("models", nargs="*", type=Path, metavar="MODEL")
    parser.add_argument("--all-operators", action="store_true", help="kernels for all models")
    parser.add_argument("--abi", action="append", choices=list(ABIS), help="default: all")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "dist/spirloom.aar")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit code."""
    options = _parser().parse_args(arguments)
    try:
        if bool(options.models) == options.all_operators:
            raise AarError(
                "Name the models (.slg, .onnx, .pte) whose kernels the archive must contain, or "
                "--all-operators (15 MB for each ABI)."
            )
        ndk = find_ndk()
        models = ";".join(str(path.resolve()) for path in options.models)
        with tempfile.TemporaryDirectory() as directory:
            abis = options.abi or list(ABIS)
            selection = [f"-DSPIRLOOM_MODELS={models}"]
            libraries = {abi: build(ndk, abi, selection, Path(directory)) for abi in abis}
            write_aar(
                options.output, ROOT / "build/release/integrations/java/spirloom.jar", libraries
            )
            for abi, path in libraries.items():
                print(f"{abi}: {path.stat().st_size:,} bytes")
    except AarError as error:
        print(f"dev: {error}", file=sys.stderr)
        return 1
    print(f"{options.output}: {options.output.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
