"""The PyTorch dtypes by name."""

from __future__ import annotations

import torch

DTYPES = {
    "f32": torch.float64,  # references compute in double precision
    "f16": torch.float16,
    "i32": torch.int32,
    "i8": torch.int8,
    "u8": torch.uint8,
    "b8": torch.bool,
}
