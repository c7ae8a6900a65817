"""The C header: it compiles by itself, its ABI is the recorded one, and the library exports it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.c_api.abi import describe, end_of_members
from tests.c_api.header import HEADERS, INCLUDE, PARTS, Header, Struct

GOLDEN = Path(__file__).parent / "abi.txt"
LAYOUT_OF_64_BITS = "struct spirloom_bytes: 16 bytes"
COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]
WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-pedantic-errors", "-Werror")
USE = """
spirloom_status create(spirloom_runtime** runtime) {
  spirloom_runtime_options options = SPIRLOOM_INIT(spirloom_runtime_options);
  options.device = "0";
  options = SPIRLOOM_INIT(spirloom_runtime_options);
  return spirloom_runtime_create(&options, runtime, NULL);
}
"""


def compile_source(compiler: str, language: str, text: str, folder: Path) -> None:
    source = folder / ("use.cpp" if "+" in language else "use.c")
    source.write_text(text, encoding="utf-8")
    command = [compiler, f"-std={language}", *WARNINGS, f"-I{INCLUDE}", "-c", str(source)]
    done = subprocess.run([*command, "-o", folder / "use.o"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("language", ["c11", "c17", "c++11", "c++20"])
@pytest.mark.parametrize("header", HEADERS)
def test_the_header_compiles_by_itself(
    compiler: str, language: str, header: str, tmp_path: Path
) -> None:
    prototype = "" if "+" in language else "spirloom_status create(spirloom_runtime** runtime);\n"
    compile_source(compiler, language, f"#include <{header}>\n{prototype}{USE}", tmp_path)


@pytest.mark.parametrize("language", ["c11", "c++11"])
@pytest.mark.parametrize("part", PARTS)
def test_each_part_compiles_by_itself(language: str, part: str, tmp_path: Path) -> None:
    use = "int size(void);\nint size(void) { return (int)sizeof(size_t); }\n"
    compile_source(COMPILERS[0], language, f"#include <{part}>\n{use}", tmp_path)


def test_the_header_includes_every_part() -> None:
    text = (INCLUDE / HEADERS[0]).read_text(encoding="utf-8")
    files = sorted(path.relative_to(INCLUDE).as_posix() for path in INCLUDE.glob("spirloom/c/*.h"))
    assert files == sorted(PARTS)
    assert [line for line in text.splitlines() if line.startswith("#include")] == [
        f'#include "{part}"' for part in files
    ]


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
