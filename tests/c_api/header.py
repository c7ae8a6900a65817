"""Parser of the C headers, for the test of the ABI and for calls from Python."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "runtime/include"
# The headers that programs include, and the parts of the first one.
HEADERS = ("spirloom/spirloom.h", "spirloom/spirloom_vulkan.h")
PARTS = tuple(
    f"spirloom/c/{name}.h"
    for name in ("base", "library", "device", "runtime", "stream", "model", "run", "profile")
)


@dataclass(frozen=True, slots=True)
class Field:
    """A struct's member or a function's parameter."""

    ctype: str  # "const char*"; of a function pointer everything except the name
    name: str
    count: int = 1  # elements, of an array


@dataclass(frozen=True, slots=True)
class Struct:
    name: str
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Enum:
    name: str
    values: dict[str, int]


@dataclass(frozen=True, slots=True)
class Function:
    result: str
    name: str
    parameters: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Header:
    abi_version: int
    opaque: tuple[str, ...]
    enums: tuple[Enum, ...]
    structs: tuple[Struct, ...]
    functions: tuple[Function, ...]  # exported by the library


def _spaced(text: str) -> str:
    return re.sub(r"\s*\*", "*", " ".join(text.split()))


def _field(text: str) -> Field:
    pointer = re.fullmatch(r"(.*\(\*)(\w+)(\)\(.*\))", text, re.S)
    if pointer:
        return Field(_spaced(pointer[1] + pointer[3]), pointer[2])
    match = re.fullmatch(r"(.*?)(\w+)(?:\[(\d+)\])?", text.strip(), re.S)
    assert match, text
    return Field(_spaced(match[1]), match[2], int(match[3] or 1))


def _parameters(text: str) -> tuple[Field, ...]:
    return () if text == "void" else tuple(_field(part) for part in text.split(","))


def read_header() -> Header:
    paths = [INCLUDE / name for name in (*PARTS, *HEADERS)]
    text = "\n".join(re.sub(r"//.*", "", path.read_text(encoding="utf-8")) for path in paths)
    version = re.search(r"#define SPIRLOOM_ABI_VERSION (\d+)", text)
    assert version
    enums = [
        Enum(name, {key: int(number, 0) for key, number in re.findall(r"(\w+) = (\w+)", body)})
        for body, name in re.findall(r"typedef enum \w+ \{(.*?)\} (\w+);", text, re.S)
    ]
    structs = [
        Struct(name, tuple(_field(part) for part in body.split(";")[:-1]))
        for body, name in re.findall(r"typedef struct \w+ \{(.*?)\} (\w+);", text, re.S)
    ]
    functions = [
        Function(_spaced(result), name, _parameters(parameters))
        for result, name, parameters in re.findall(
            r"^SPIRLOOM_C_API ([\w\s*]+?)(\w+)\(([^)]*)\);", text, re.M
        )
    ]
    opaque = re.findall(r"typedef struct (\w+) \1;", text)
    return Header(int(version[1]), tuple(opaque), tuple(enums), tuple(structs), tuple(functions))
