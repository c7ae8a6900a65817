"""The ABI as text, from the C compiler: sizes, offsets, values and declarations."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.c_api.header import INCLUDE, Function, Header, Struct

HEAD = """The ABI of the C API, version {version}, with 64-bit pointers. Existing entries never
change; struct members and enum values are appended. UPDATE_GOLDENS=1 ./dev test -R c_api rewrites
this file.
"""


def _size_lines(struct: Struct) -> str:
    lines = [f'printf("\\nstruct {struct.name}: %zu bytes\\n", sizeof({struct.name}));']
    for field in struct.fields:
        array = f"[{field.count}]" if field.count > 1 else ""
        offset = f"offsetof({struct.name}, {field.name})"
        size = f"sizeof((({struct.name}*)0)->{field.name})"
        text = f"{field.name}{array}: {field.ctype}"
        lines.append(f'printf("%4zu %3zu  {text}\\n", {offset}, {size});')
    return "\n".join(lines)


def _program(header: Header) -> str:
    enums = [
        "\n".join(
            [f'printf("\\nenum {enum.name}: %zu bytes\\n", sizeof({enum.name}));']
            + [f'printf("%4d  {key}\\n", (int){key});' for key in enum.values]
        )
        for enum in header.enums
    ]
    body = "\n".join([*enums, *map(_size_lines, header.structs)])
    includes = "#include <spirloom/spirloom_vulkan.h>\n#include <stdio.h>\n"
    return f"{includes}int main(void) {{\n{body}\n}}\n"


def _declaration(function: Function) -> str:
    parameters = ", ".join(f"{field.ctype} {field.name}" for field in function.parameters)
    return f"{function.result} {function.name}({parameters or 'void'})"


def describe(header: Header, compiler: str, folder: Path) -> str:
    """The text to compare; `folder` is for a generated program that prints a part of it."""
    source = folder / "abi.c"
    source.write_text(_program(header), encoding="utf-8")
    command = [compiler, "-std=c11", f"-I{INCLUDE}", str(source), "-o", str(folder / "abi")]
    subprocess.run(command, check=True)
    run = subprocess.run([folder / "abi"], check=True, capture_output=True, text=True)
    functions = "".join(f"{_declaration(function)}\n" for function in header.functions)
    return f"{HEAD.format(version=header.abi_version)}{run.stdout}\n{functions}"


def end_of_members(struct: Struct, text: str) -> tuple[int, int]:
    """The end of the last member and of the struct, from `text`."""
    lines = iter(text.splitlines())
    start = next(line for line in lines if line.startswith(f"struct {struct.name}:"))
    last = [next(lines) for _ in struct.fields][-1].split()
    return int(last[0]) + int(last[1]), int(start.split()[2])
