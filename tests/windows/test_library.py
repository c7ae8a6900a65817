"""spirloom.dll: its exports are the C API, and it needs only DLLs of Windows."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.c_api import header
from tests.windows.conftest import Windows

OBJDUMP, NM = "x86_64-w64-mingw32-objdump", "x86_64-w64-mingw32-nm"
SYSTEM = {"kernel32.dll", "msvcrt.dll", "shell32.dll", "advapi32.dll", "psapi.dll", "user32.dll"}


def headers_of(file: Path) -> str:
    command = [OBJDUMP, "-p", str(file)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def exports_of(file: Path) -> set[str]:
    """The names that a DLL exports."""
    table = headers_of(file).partition("[Ordinal/Name Pointer] Table")[2].partition("\n\n")[0]
    return set(re.findall(r"\[ *\d+\] (?:\+base\[ *\d+\] +[0-9a-f]+ )?(\w+)", table))


def test_exports(windows: Windows) -> None:
    parsed = header.read_header()
    exported = exports_of(windows.programs / "spirloom.dll")
    assert exported == {function.name for function in parsed.functions}


@pytest.mark.parametrize("file", ["spirloom.dll", "spirloom-run.exe", "spirloom-llm.exe"])
def test_imports(windows: Windows, file: str) -> None:
    headers = headers_of(windows.programs / file)
    assert {name.lower() for name in re.findall(r"DLL Name: (\S+)", headers)} <= SYSTEM


def test_contains_no_streams(windows: Windows) -> None:
    """Streams and std::filesystem would add libstdc++'s locales, half of the library's size."""
    command = [NM, "--demangle", str(windows.programs / "spirloom.dll")]
    symbols = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "spirloom::" in symbols  # not stripped
    assert not re.findall(r"std::(?:locale|basic_\w*stream|filesystem)\b.*", symbols)
