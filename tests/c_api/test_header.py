"""The C header: it compiles by itself, its ABI is the recorded one, and the library exports it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.c_api.abi import INCLUDE, describe, end_of_members
from tests.c_api.header import HEADERS, Header, Struct

GOLDEN = Path(__file__).parent / "abi.txt"
LAYOUT_OF_64_BITS = "struct spirloom_bytes: 16 bytes"
COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]
WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-pedantic-errors", "-Werror")
USE = """#include <spirloom/%s>

spirloom_status create(spirloom_runtime** runtime) {
  spirloom_runtime_options options = SPIRLOOM_INIT(spirloom_runtime_options);
  options.device = "0";
  options = SPIRLOOM_INIT(spirloom_runtime_options);
  return spirloom_runtime_create(&options, runtime, NULL);
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("language", ["c11", "c17", "c++11", "c++20"])
@pytest.mark.parametrize("header", [path.name for path in HEADERS])
def test_the_header_compiles_by_itself(
    compiler: str, language: str, header: str, tmp_path: Path
) -> None:
    source = tmp_path / ("use.cpp" if "+" in language else "use.c")
    prototype = "" if "+" in language else "spirloom_status create(spirloom_runtime** runtime);\n"
    source.write_text((USE % header).replace("\n\n", f"\n\n{prototype}", 1), encoding="utf-8")
    command = [compiler, f"-std={language}", *WARNINGS, f"-I{INCLUDE}", "-c", str(source)]
    done = subprocess.run([*command, "-o", tmp_path / "use.o"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def abi(header: Header, tmp_path_factory: pytest.TempPathFactory) -> str:
    text = describe(header, COMPILERS[0], tmp_path_factory.mktemp("abi"))
    if LAYOUT_OF_64_BITS not in text:
        pytest.skip("The committed ABI is that of 64-bit machines.")
    return text


def test_the_abi_is_the_recorded_one(abi: str) -> None:
    if os.environ.get("UPDATE_GOLDENS"):
        GOLDEN.write_text(abi, encoding="utf-8")
    assert abi == GOLDEN.read_text(encoding="utf-8"), "UPDATE_GOLDENS=1 ./dev test -R c_api"


def sized(header: Header) -> list[Struct]:
    return [struct for struct in header.structs if struct.fields[0].name == "struct_size"]


def test_structs_may_grow(header: Header, abi: str) -> None:
    """Padding cannot become a member: earlier callers do not initialize it."""
    assert len(sized(header)) > 5
    for struct in sized(header):
        last, end = end_of_members(struct, abi)
        assert last == end, f"{struct.name} ends with padding: move a member of 8 bytes to its end"


def test_every_function_that_can_fail_takes_an_error(header: Header) -> None:
    fallible = [f for f in header.functions if f.result == "spirloom_status"]
    assert [f.name for f in fallible if f.parameters[-1].ctype != "spirloom_error**"] == [
        "spirloom_error_status"
    ]


def test_the_library_exports_what_the_header_declares(
    header: Header, library_path: Path, request: pytest.FixtureRequest
) -> None:
    command = [request.config.getoption("--nm"), "-D", "--defined-only", str(library_path)]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    exported = {line.split()[-1].split("@")[0] for line in lines}
    assert exported == {function.name for function in header.functions}
