"""Compares the ctypes declarations with the C header."""

from __future__ import annotations

import ctypes
import inspect
from typing import Any

import pytest
from spirloom.errors import Status
from spirloom.runtime import abi
from spirloom.runtime.abi import FUNCTIONS, STATUS

from tests.c_api.header import Field, Header, read_header

SCALARS = {
    "void": None,
    "bool": ctypes.c_bool,
    "double": ctypes.c_double,
    "size_t": ctypes.c_size_t,
    "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64,
    "uint32_t": ctypes.c_uint32,
    "uint64_t": ctypes.c_uint64,
}


@pytest.fixture(scope="module")
def header() -> Header:
    return read_header()


def foreign(header: Header, ctype: str) -> Any:
    if ctype == "const char*":
        return ctypes.c_char_p
    if ctype.endswith(("*", ")")):
        return ctypes.c_void_p
    if ctype in {struct.name for struct in header.structs}:
        return next(kind for kind in STRUCTS if c_name(kind) == ctype)
    return ctypes.c_int if ctype in {enum.name for enum in header.enums} else SCALARS[ctype]


def declared(header: Header, field: Field) -> Any:
    kind = foreign(header, field.ctype)
    return kind * field.count if field.count > 1 else kind


def c_name(struct: type) -> str:
    words = "".join(f"_{c.lower()}" if c.isupper() else c for c in struct.__name__)
    return f"spirloom{words}"


STRUCTS = [
    kind
    for _, kind in inspect.getmembers(abi, inspect.isclass)
    if issubclass(kind, ctypes.Structure) and kind.__module__ == abi.__name__
    if kind not in (ctypes.Structure, abi.Sized)
]


@pytest.mark.parametrize("struct", STRUCTS, ids=c_name)
def test_structs(header: Header, struct: Any) -> None:
    found = {s.name: s for s in header.structs}[c_name(struct)]
    assert list(struct._fields_) == [(f.name, declared(header, f)) for f in found.fields]


def test_const_bytes_have_the_layout_of_bytes(header: Header) -> None:
    named = {struct.name: struct for struct in header.structs}
    fields = [
        [(f.name, foreign(header, f.ctype)) for f in named[name].fields]
        for name in ("spirloom_bytes", "spirloom_const_bytes")
    ]
    assert fields[0] == fields[1]


@pytest.mark.parametrize(
    ("name", "prefix", "numbers"),
    [
        ("spirloom_status", "SPIRLOOM_", Status),
        ("spirloom_storage", "SPIRLOOM_STORAGE_", abi.Storage),
        ("spirloom_argument_kind", "SPIRLOOM_ARGUMENT_", abi.ArgumentKind),
    ],
)
def test_enums(header: Header, name: str, prefix: str, numbers: Any) -> None:
    enum = {e.name: e for e in header.enums}[name]
    known = {key: n for key, n in enum.values.items() if not key.endswith("_FORCE_32_BITS")}
    assert {f"{prefix}{member.name}": int(member) for member in numbers} == known


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(header: Header, name: str) -> None:
    found = {function.name: function for function in header.functions}[f"spirloom_{name}"]
    result, parameters = FUNCTIONS[name]
    types = [foreign(header, field.ctype) for field in found.parameters]
    if result is STATUS:
        assert found.result == "spirloom_status"
        assert found.parameters[-1].ctype == "spirloom_error**"
        types.pop()
    else:
        assert foreign(header, found.result) == result
    assert list(parameters) == types


def test_abi_version(header: Header) -> None:
    assert header.abi_version == abi.ABI_VERSION
