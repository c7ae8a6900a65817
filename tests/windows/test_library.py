"""spirloom.dll: its exports are the C API, and it needs only DLLs of Windows."""

from __future__ import annotations

import re
import subprocess

import pytest

from tests.c_api import header
from tests.windows.conftest import Windows

OBJDUMP, NM = "x86_64-w64-mingw32-objdump", "x86_64-w64-mingw32-nm"
SYSTEM = {"kernel32.dll", "msvcrt.dll", "shell32.dll", "advapi32.dll", "psapi.dll", "user32.dll"}


def headers_of(windows: Windows, file: str) -> str:
    command = [OBJDUMP, "-p", str(windows.programs / file)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_exports(windows: Windows) -> None:
    table = headers_of(windows, "spirloom.dll").partition("[Ordinal/Name Pointer] Table")[2]
    table = table.partition("\n\n")[0]
    exported = set(re.findall(r"\[ *\d+\] (?:\+base\[ *\d+\] +[0-9a-f]+ )?(\w+)", table))
    parsed = header.read_header()
    assert exported == {function.name for function in parsed.functions}


@pytest.mark.parametrize("file", ["spirloom.dll", "spirloom-run.exe", "spirloom-llm.exe"])
def test_imports(windows: Windows, file: str) -> None:
    imported = {name.lower() for name in re.findall(r"DLL Name: (\S+)", headers_of(windows, file))}
    assert imported <= SYSTEM


def test_contains_no_streams(windows: Windows) -> None:
    """Streams and std::filesystem would add libstdc++'s locales, half of the library's size."""
    command = [NM, "--demangle", str(windows.programs / "spirloom.dll")]
    symbols = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "spirloom::" in symbols  # not stripped
    assert not re.findall(r"std::(?:locale|basic_\w*stream|filesystem)\b.*", symbols)
