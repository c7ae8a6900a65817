"""The C API's functions for ctypes, without their prefix `spirloom_`: result and parameters.

Those whose result is STATUS take a pointer for the error last, which is not listed. A test compares
this table with the header.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spirloom.runtime.abi import Bool, Count32, Count64, Enum, Nanoseconds, Pointer, Size, Text

STATUS = "status"

FUNCTIONS: Mapping[str, tuple[Any, tuple[Any, ...]]] = {
    "abi_version": (Count32, ()),
    "version": (Text, ()),
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
    "measured_kernels": (Pointer, ()),
    "model_load": (STATUS, (Pointer, Text, Pointer, Pointer)),
    "model_load_from_memory": (STATUS, (Pointer, Pointer, Size, Pointer, Pointer)),
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
    "model_resize": (STATUS, (Pointer, Pointer, Size)),
    "model_stats": (STATUS, (Pointer, Pointer)),
    "model_state_count": (Size, (Pointer,)),
    "model_state": (STATUS, (Pointer, Size, Pointer)),
    "model_reset_states": (STATUS, (Pointer,)),
    "model_read_state": (STATUS, (Pointer, Size, Pointer)),
    "model_write_state": (STATUS, (Pointer, Size, Pointer)),
    "model_run": (STATUS, (Pointer, Pointer, Size, Pointer, Size)),
    "model_input_bytes": (STATUS, (Pointer, Size, Pointer)),
    "model_output_bytes": (STATUS, (Pointer, Size, Pointer)),
    "model_bind_input_memory": (STATUS, (Pointer, Size, Pointer, Size)),
    "model_bind_output_memory": (STATUS, (Pointer, Size, Pointer, Size)),
    "model_submit": (STATUS, (Pointer, Pointer, Size, Pointer)),
    "model_submit_steps": (STATUS, (Pointer, Size, Pointer)),
    "pending_run_destroy": (None, (Pointer,)),
    "pending_run_is_done": (STATUS, (Pointer, Pointer)),
    "pending_run_wait": (STATUS, (Pointer, Pointer, Size)),
    "pending_run_wait_for": (STATUS, (Pointer, Nanoseconds, Pointer)),
    "model_profile": (STATUS, (Pointer, Pointer)),
    "profile_destroy": (None, (Pointer,)),
    "profile_count": (Size, (Pointer,)),
    "profile_get": (STATUS, (Pointer, Size, Pointer)),
    "model_gpu_time": (STATUS, (Pointer, Pointer)),
}


def declare(library: Any) -> None:
    """Tells ctypes what a library's functions take and give. AttributeError if it lacks one."""
    for name, (result, parameters) in FUNCTIONS.items():
        function = getattr(library, f"spirloom_{name}")
        function.restype = Enum if result is STATUS else result
        function.argtypes = (*parameters, Pointer) if result is STATUS else parameters
