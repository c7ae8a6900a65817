"""The C API for ctypes: structs, enums and functions of runtime/include/spirloom/c/.

Declares only the functions that the package uses. A test compares them with the header."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Any, Self

from spirloom.runtime.errors import InvalidArgument

ABI_VERSION = 1

Text = ctypes.c_char_p
Pointer = ctypes.c_void_p  # opaque objects, caller-owned memory, functions
Size = ctypes.c_size_t
Int = ctypes.c_int64
Nanoseconds = ctypes.c_uint64
Int32 = ctypes.c_int32
Count32 = ctypes.c_uint32
Count64 = ctypes.c_uint64
Enum = ctypes.c_int
Bool = ctypes.c_bool


class Storage(IntEnum):
    """spirloom_storage."""

    # Rows of storages.inc: {upper} = {code}
    AUTO = 0
    BUFFER = 1
    TEXTURE3D = 2
    TEXTURE2D = 3
    # End of rows.


class Priority(IntEnum):
    """spirloom_priority."""

    DEFAULT = 0
    LOW = 1
    HIGH = 2


class ArgumentKind(IntEnum):
    """spirloom_argument_kind."""

    NONE = 0
    TENSOR = 1
    TENSOR_LIST = 2
    INT = 3
    FLOAT = 4
    BOOL = 5
    INTS = 6
    STRING = 7


class Bytes(ctypes.Structure):
    """spirloom_bytes, and spirloom_const_bytes, which has the same layout."""

    _fields_ = (("data", Pointer), ("size", Size))
    data: int | None
    size: int


class Shape(ctypes.Structure):
    """spirloom_shape."""

    _fields_ = (("sizes", Pointer), ("rank", Size))


MAX_RANK = 8


class DeviceTensor(ctypes.Structure):
    """spirloom_device_tensor."""

    _fields_ = (("address", Pointer), ("dtype", Enum), ("rank", Size), ("sizes", Int * MAX_RANK))
    address: int | None
    dtype: int
    rank: int
    sizes: ctypes.Array[Int]


class Argument(ctypes.Structure):
    """spirloom_argument."""

    _fields_ = (
        ("kind", Enum),
        ("count", Size),
        ("tensors", Pointer),
        ("ints", Pointer),
        ("i", Int),
        ("f", ctypes.c_double),
        ("s", Text),
    )


def c_text(text: str | bytes | os.PathLike[str], what: str) -> bytes:
    """The text as a C string. InvalidArgument if it contains NUL, which would end it."""
    encoded = os.fsencode(text)
    if b"\0" in encoded:
        raise InvalidArgument(f"The {what} {os.fsdecode(encoded)!r} contains a NUL character.")
    return encoded


def bytes_array(pairs: Iterable[tuple[int | None, int]]) -> ctypes.Array[Bytes]:
    """An array of spirloom_bytes from addresses and sizes."""
    items = [Bytes(data, size) for data, size in pairs]
    return (Bytes * len(items))(*items)


def shape_array(shapes: Iterable[ctypes.Array[Int]]) -> ctypes.Array[Shape]:
    """An array of spirloom_shape. It points to `shapes`, which must outlive it."""
    items = [Shape(ctypes.addressof(sizes), len(sizes)) for sizes in shapes]
    return (Shape * len(items))(*items)


class Sized(ctypes.Structure):
    """A struct whose first member is its size; `new()` sets it."""

    @classmethod
    def new(cls, **members: Any) -> Self:
        """Sets the size and the given members; others are zero. InvalidArgument for an integer
        that a member cannot hold, which ctypes would truncate."""
        made = cls(struct_size=ctypes.sizeof(cls), **members)
        for name, value in members.items():
            if isinstance(value, int) and getattr(made, name) not in (value, None):
                raise InvalidArgument(f"{name} ({value}) is out of range.")
        return made


class DeviceProperty(ctypes.Structure):
    """spirloom_device_property."""

    _fields_ = (("name", Text), ("value", Int))


class DeviceInfo(Sized):
    """spirloom_device_info."""

    _fields_ = (
        ("struct_size", Size),
        ("name", Text),
        ("type", Text),
        ("api_version", Text),
        ("driver", Text),
        ("uuid", Text),
        ("luid", Text),
        ("pci", Text),
        ("features", Pointer),
        ("feature_count", Size),
        ("usable", Bool),
        ("device_memory", Count64),
        ("max_storage_buffer_range", Count64),
        ("max_image_dimension_3d", Count32),
        ("subgroup_size", Count32),
        ("api_version_number", Count32),
        ("driver_version_number", Count32),
        ("vendor_id", Count32),
        ("device_id", Count32),
        ("driver_id", Count32),
        ("max_loop_iterations", Count64),
        ("properties", Pointer),
        ("property_count", Size),
    )


class RuntimeOptions(Sized):
    """spirloom_runtime_options."""

    _fields_ = (
        ("struct_size", Size),
        ("validation", Bool),
        ("import_host_memory", Bool),
        ("priority", Enum),
        ("libraries", Pointer),
        ("library_count", Size),
        ("device", Text),
        ("accept", Pointer),
        ("accept_data", Pointer),
        ("adopt", Pointer),
        ("cache_dir", Text),
        ("verdicts", Text),
        ("log", Pointer),
        ("log_data", Pointer),
        ("threads", Size),
        ("parallel_for", Pointer),
        ("parallel_for_data", Pointer),
        ("allocator", Pointer),
        ("memory_limit", Count64),
        ("max_submission_ns", Nanoseconds),
        ("verify", Pointer),
        ("verify_data", Pointer),
    )


class VerifyRequest(Sized):
    """spirloom_verify_request."""

    _fields_ = (
        ("struct_size", Size),
        ("device", Text),
        ("verdicts", Text),
        ("kernels", Pointer),
        ("kernel_count", Size),
    )


class MemoryStats(Sized):
    """spirloom_memory_stats."""

    _fields_ = (
        ("struct_size", Size),
        ("in_use", Count64),
        ("peak", Count64),
        ("limit", Count64),
        ("free", Count64),
    )


class ModelOptions(Sized):
    """spirloom_model_options."""

    _fields_ = (
        ("struct_size", Size),
        ("storage", Enum),
        ("profile", Bool),
        ("kernels", Pointer),
        ("kernel_count", Size),
        ("tune", Pointer),
        ("on_tuned", Pointer),
        ("on_tuned_data", Pointer),
        ("max_cached_shapes", Size),
        ("max_dispatches", Count64),
        ("max_device_bytes", Count64),
        ("method", Text),
        ("time_runs", Count64),
        ("allow_exceeding_max", Count64),
        ("retune", Count64),
    )


class ContextOptions(Sized):
    """spirloom_context_options."""

    _fields_ = (("struct_size", Size), ("method", Text), ("share_states", Count64))


class AttachmentInfo(Sized):
    """spirloom_attachment_info."""

    _fields_ = (("struct_size", Size), ("name", Text), ("data", Pointer), ("size", Size))


class TensorInfo(Sized):
    """spirloom_tensor_info."""

    _fields_ = (
        ("struct_size", Size),
        ("name", Text),
        ("dtype", Enum),
        ("shape", Pointer),
        ("dims", Pointer),
        ("rank", Size),
        ("size", Size),
        ("min", Int),
        ("max", Int),
    )


class SymbolInfo(Sized):
    """spirloom_symbol_info."""

    _fields_ = (("struct_size", Size), ("name", Text), ("min", Int), ("max", Int))


class IntInputInfo(Sized):
    """spirloom_int_input_info."""

    _fields_ = (
        ("struct_size", Size),
        ("name", Text),
        ("min", Int),
        ("max", Int),
        ("value", Int),
        ("position", Size),
    )


class LoadStats(Sized):
    """spirloom_load_stats."""

    _fields_ = (
        ("struct_size", Size),
        ("load_ns", Nanoseconds),
        ("pipeline_ns", Nanoseconds),
        ("pipelines", Size),
        ("dispatches", Size),
        ("barriers", Size),
        ("submissions", Size),
        ("layout_copies", Size),
        ("aliased_views", Size),
        ("constant_bytes", Count64),
        ("planned_bytes", Count64),
        ("naive_bytes", Count64),
        ("live_bytes", Count64),
        ("state_bytes", Count64),
    )


class DispatchInfo(Sized):
    """spirloom_dispatch_info."""

    _fields_ = (
        ("struct_size", Size),
        ("node", Text),
        ("op", Text),
        ("variant", Text),
        ("grid", Count32 * 3),
        ("workgroup", Count32 * 3),
        ("start_ns", Nanoseconds),
        ("gpu_ns", Nanoseconds),
    )


class Signature(Sized):
    """spirloom_signature."""

    _fields_ = (
        ("struct_size", Size),
        ("name", Text),
        ("short_name", Text),
        ("argument_count", Size),
        ("result_count", Size),
    )


class SignatureArgument(Sized):
    """spirloom_signature_argument."""

    _fields_ = (
        ("struct_size", Size),
        ("name", Text),
        ("kind", Enum),
        ("is_optional", Bool),
        ("default_of", Int32),
        ("default_value", Argument),
    )


STATUS = "status"

FUNCTIONS: Mapping[str, tuple[Any, tuple[Any, ...]]] = {
    "abi_version": (Count32, ()),
    "version": (Text, ()),
    "dtype_name": (Text, (Enum,)),
    "dtype_size": (Size, (Enum,)),
    "error_message": (Text, (Pointer,)),
    "error_destroy": (None, (Pointer,)),
    "library_open": (STATUS, (Text, Pointer)),
    "library_destroy": (None, (Pointer,)),
    "library_set_overrides": (None, (Pointer, Bool)),
    "is_available": (Bool, ()),
    "devices_list": (STATUS, (Pointer,)),
    "devices_destroy": (None, (Pointer,)),
    "devices_count": (Size, (Pointer,)),
    "devices_get": (STATUS, (Pointer, Size, Pointer)),
    "known_feature_count": (Size, ()),
    "known_feature": (Text, (Size,)),
    "runtime_create": (STATUS, (Pointer, Pointer)),
    "runtime_destroy": (None, (Pointer,)),
    "runtime_device": (STATUS, (Pointer, Pointer)),
    "runtime_operator_count": (Size, (Pointer,)),
    "runtime_operator": (Text, (Pointer, Size)),
    "runtime_validation_message_count": (Count64, (Pointer,)),
    "runtime_memory": (STATUS, (Pointer, Pointer)),
    "runtime_signature": (STATUS, (Pointer, Size, Pointer)),
    "runtime_signature_argument": (STATUS, (Pointer, Size, Size, Pointer)),
    "kernel_autotuner": (Pointer, ()),
    "model_load": (STATUS, (Pointer, Text, Pointer, Pointer)),
    "model_load_from_borrowed_memory": (STATUS, (Pointer, Pointer, Size, Pointer, Pointer)),
    "context_create": (STATUS, (Pointer, Pointer, Pointer)),
    "model_method_count": (Size, (Pointer,)),
    "model_method_name": (Text, (Pointer, Size)),
    "model_method": (Text, (Pointer,)),
    "model_attachment_count": (Size, (Pointer,)),
    "model_attachment": (STATUS, (Pointer, Size, Pointer)),
    "model_destroy": (None, (Pointer,)),
    "model_input_count": (Size, (Pointer,)),
    "model_output_count": (Size, (Pointer,)),
    "model_input": (STATUS, (Pointer, Size, Pointer)),
    "model_output": (STATUS, (Pointer, Size, Pointer)),
    "model_symbol_count": (Size, (Pointer,)),
    "model_symbol": (STATUS, (Pointer, Size, Pointer)),
    "model_int_input_count": (Size, (Pointer,)),
    "model_int_input": (STATUS, (Pointer, Size, Pointer)),
    "model_resize_with_ints": (STATUS, (Pointer, Pointer, Size, Pointer, Size)),
    "model_fix_shapes": (STATUS, (Pointer,)),
    "model_stats": (STATUS, (Pointer, Pointer)),
    "model_state_count": (Size, (Pointer,)),
    "model_state": (STATUS, (Pointer, Size, Pointer)),
    "model_reset_states": (STATUS, (Pointer,)),
    "model_read_state": (STATUS, (Pointer, Size, Pointer)),
    "model_read_state_range": (STATUS, (Pointer, Size, Size, Pointer)),
    "model_write_state": (STATUS, (Pointer, Size, Pointer)),
    "model_run": (STATUS, (Pointer, Pointer, Size, Pointer, Size)),
    "model_input_bytes": (STATUS, (Pointer, Size, Pointer)),
    "model_output_bytes": (STATUS, (Pointer, Size, Pointer)),
    "model_bind_input_memory": (STATUS, (Pointer, Size, Pointer, Size)),
    "model_bind_output_memory": (STATUS, (Pointer, Size, Pointer, Size)),
    "model_submit": (STATUS, (Pointer, Pointer, Size, Pointer)),
    "model_submit_repeated": (STATUS, (Pointer, Size, Pointer)),
    "pending_run_destroy": (None, (Pointer,)),
    "pending_run_is_done": (STATUS, (Pointer, Pointer)),
    "pending_run_wait": (STATUS, (Pointer, Pointer, Size)),
    "pending_run_wait_for": (STATUS, (Pointer, Nanoseconds, Pointer)),
    "model_profile": (STATUS, (Pointer, Pointer)),
    "profile_destroy": (None, (Pointer,)),
    "profile_count": (Size, (Pointer,)),
    "profile_get": (STATUS, (Pointer, Size, Pointer)),
    "model_gpu_time": (STATUS, (Pointer, Pointer)),
    "stream_create": (STATUS, (Pointer, Pointer, Pointer)),
    "stream_destroy": (None, (Pointer,)),
    "stream_allocate": (STATUS, (Pointer, Size, Pointer)),
    "stream_free": (STATUS, (Pointer, Pointer)),
    "stream_write": (STATUS, (Pointer, Pointer, Pointer, Size)),
    "stream_read": (STATUS, (Pointer, Pointer, Pointer, Size)),
    "stream_call": (STATUS, (Pointer, Size, Pointer, Size, Pointer, Size)),
    "stream_wait": (STATUS, (Pointer, Count64)),
}


def declare(library: Any) -> None:
    """Sets the ctypes signatures of a library's functions. AttributeError if one is missing."""
    for name, (result, parameters) in FUNCTIONS.items():
        function = getattr(library, f"spirloom_{name}")
        function.restype = Enum if result is STATUS else result
        function.argtypes = (*parameters, Pointer) if result is STATUS else parameters
