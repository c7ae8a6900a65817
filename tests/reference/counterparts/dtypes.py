"""The PyTorch dtypes by name: those of this PyTorch, as 8-bit floats are of version 2.1."""

from __future__ import annotations

import torch

from spec_model.vocabulary import DType

DTYPES: dict[str, torch.dtype] = {
    dtype: getattr(torch, dtype.long_name) for dtype in DType if hasattr(torch, dtype.long_name)
} | {
    "f32": torch.float64,  # references compute in double precision
}
