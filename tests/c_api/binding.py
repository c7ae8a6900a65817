"""A Python binding generated from the header, like the bindings of other languages."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.c_api.header import Field, Header

TYPES: dict[str, Any] = {
    "void": None,
    "bool": ctypes.c_bool,
    "double": ctypes.c_double,
    "size_t": ctypes.c_size_t,
    "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64,
    "uint32_t": ctypes.c_uint32,
    "uint64_t": ctypes.c_uint64,
}


class SpirloomError(Exception):
    """A call that failed."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Binding:
    """The library's functions by name, its structs and the values of its enums."""

    def __init__(self, header: Header, library: Path) -> None:
        self._library = ctypes.CDLL(str(library))
        self._enums = {enum.name for enum in header.enums}
        self.values = {key: n for enum in header.enums for key, n in enum.values.items()}
        self._structs: dict[str, Any] = {}
        for struct in header.structs:  # members may be structs that the header declares before
            fields = [(field.name, self._type_of(field)) for field in struct.fields]
            self._structs[struct.name] = type(
                struct.name, (ctypes.Structure,), {"_fields_": fields}
            )
        for function in header.functions:
            foreign = getattr(self._library, function.name)
            foreign.restype = self._type(function.result)
            foreign.argtypes = [self._type(field.ctype) for field in function.parameters]

    def _type(self, name: str) -> Any:
        if name == "const char*":
            return ctypes.c_char_p
        if name.endswith(("*", ")")) or name.startswith(("Vk", "PFN_")):
            return ctypes.c_void_p
        if name in self._structs:
            return self._structs[name]
        return ctypes.c_int if name in self._enums else TYPES[name]

    def _type_of(self, field: Field) -> Any:
        kind = self._type(field.ctype)
        return kind * field.count if field.count > 1 else kind

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """spirloom_<name>(), for functions that cannot fail."""
        function: Callable[..., Any] = getattr(self._library, f"spirloom_{name}")
        return function

    def call(self, name: str, *arguments: Any) -> None:
        """Calls spirloom_<name>() with an error argument. Raises SpirloomError if it fails."""
        error = ctypes.c_void_p()
        status = getattr(self, name)(*arguments, ctypes.byref(error))
        if status == 0:
            assert not error.value
            return
        assert self.error_status(error) == status
        message = self.error_message(error).decode()
        self.error_destroy(error)
        raise SpirloomError(status, message)

    def make(self, name: str, *arguments: Any) -> ctypes.c_void_p:
        """The object that spirloom_<name>() returns through its second to last pointer."""
        created = ctypes.c_void_p()
        self.call(name, *arguments, ctypes.byref(created))
        assert created.value
        return created

    def struct(self, name: str, **members: Any) -> Any:
        """A struct with its size."""
        kind = self._structs[f"spirloom_{name}"]
        return kind(struct_size=ctypes.sizeof(kind), **members)

    def bytes_at(self, memory: Any, size: int) -> Any:
        """A spirloom_bytes, for runs."""
        kind = self._structs["spirloom_bytes"]
        return kind(ctypes.cast(memory, ctypes.c_void_p), size)
