"""CPython for Windows, run by Wine.

No registry has a package of it. The wheels of Panda3D for Windows contain the interpreter of
python.org as a DLL with the extension modules of the standard library (deploy_libs/), for the
applications that Panda3D builds. The modules in Python are the host's, of the same minor version.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.windows.conftest import ROOT, TIMEOUT_S, WINE
from tools.wheel import prepare

# The interpreter, what the wheel requires, and what installs it. Wine 8 lacks functions for complex
# numbers that NumPy 2 uses (ucrtbase.dll, crealf).
PACKAGES = ("argcomplete==3.7.2", "panda3d==1.10.16",
            "numpy==1.26.4", "flatbuffers==25.12.19", "jinja2==3.1.6",
            "markupsafe==3.0.3", "pyyaml==6.0.3", "hypothesis==6.148.7",
            "sortedcontainers==2.4.0", "zstandard==0.25.0", "pip==25.3")  # fmt: skip
DOWNLOADS = ROOT / "build/windows-packages"
VERSION = "{}{}".format(*sys.version_info[:2])

# Modules of the host and of Debian, which installs packages otherwise.
_LEFT_OUT = ("dist-packages", "site-packages", "lib-dynload", "test", "idlelib", "lib2to3",
             "config-*", "EXTERNALLY-MANAGED", "sitecustomize.py", "ensurepip")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Interpreter:
    """An installation of CPython for Windows: python.exe, Lib, DLLs, and after pip also Scripts."""

    directory: Path
    environment: Mapping[str, str]  # of Wine

    def command(self, *arguments: object) -> list[str]:
        """The command line of python.exe. Paths become those of drive Z:."""
        return [str(WINE / "wine64"), str(self.directory / "python.exe"), *map(words, arguments)]

    def script(self, name: str, *arguments: object) -> list[str]:
        """The command line of a program that pip installed."""
        program = self.directory / f"Scripts/{name}.exe"
        return [str(WINE / "wine64"), str(program), *map(words, arguments)]

    def run(
        self, command: list[str], directory: Path, code: int = 0, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command. Fails with its output if it has another exit code."""
        done = subprocess.run(
            command,
            cwd=directory,
            env=dict(self.environment) | variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=TIMEOUT_S,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done


def words(argument: object) -> str:
    """An argument of a program for Windows."""
    return f"Z:{argument}" if isinstance(argument, Path) else str(argument)


def download() -> None:
    """Downloads the packages for Windows to DOWNLOADS (80 MB), once."""
    stamp = DOWNLOADS / "packages.txt"
    wanted = "\n".join((VERSION, *PACKAGES))
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return
    shutil.rmtree(DOWNLOADS, ignore_errors=True)
    command = [str(prepare()), "-m", "pip", "download", "--quiet", "--no-deps"]
    command += [
        f"--dest={DOWNLOADS}",
        "--platform=win_amd64",
        f"--python-version={VERSION}",
        "--only-binary=:all:",
    ]
    subprocess.run([*command, *PACKAGES], check=True)
    stamp.write_text(wanted, encoding="utf-8")


def install(directory: Path, environment: Mapping[str, str]) -> Interpreter:
    """Makes an installation in the directory, with pip."""
    download()
    library, modules = directory / "Lib", directory / "DLLs"
    ignored = shutil.ignore_patterns(*_LEFT_OUT)
    shutil.copytree(sysconfig.get_path("stdlib"), library, ignore=ignored)
    (panda,) = DOWNLOADS.glob("panda3d-*.whl")
    modules.mkdir()
    with zipfile.ZipFile(panda) as archive:
        for name in archive.namelist():
            file = Path(name).name
            if name.startswith("deploy_libs/") and not file.startswith("api-ms-"):  # Wine's
                place = modules if file.endswith(".pyd") else directory
                (place / file).write_bytes(archive.read(name))
    compiler = "x86_64-w64-mingw32-gcc-posix"
    options = ["-municode", "-O1", f'-DPYTHON_DLL=L"python{VERSION}.dll"']
    source = ROOT / "tests/windows/python.c"
    subprocess.run([compiler, *options, source, "-o", directory / "python.exe"], check=True)
    (pip,) = DOWNLOADS.glob("pip-*.whl")
    with zipfile.ZipFile(pip) as archive:
        archive.extractall(library / "site-packages")
    variables = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONNOUSERSITE": "1"}
    outer = {key: value for key, value in environment.items() if not key.startswith("PYTHON")}
    return Interpreter(directory, outer | variables)
