"""The PyTorch dtypes by name."""

from __future__ import annotations

import torch

from spec_model.vocabulary import DType

DTYPES: dict[str, torch.dtype] = {dtype: getattr(torch, dtype.long_name) for dtype in DType} | {
    "f32": torch.float64,  # references compute in double precision
}
