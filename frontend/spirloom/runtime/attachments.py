"""What else is in a model's file."""

from __future__ import annotations

import ctypes
from typing import Any

from spirloom.runtime import abi
from spirloom.runtime.native import Handle, Native


def read_attachments(library: Native, model: Handle) -> dict[str, bytes]:
    """A copy of each attachment, by name."""
    found = {}
    for i in range(library.function("model_attachment_count")(model.value)):
        info: Any = abi.AttachmentInfo.new()
        library.call("model_attachment", model.value, i, ctypes.byref(info))
        data = ctypes.string_at(info.data, info.size) if info.size else b""
        found[info.name.decode(errors="replace")] = data
    return found
