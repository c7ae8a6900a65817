"""PyTorch's tracing ONNX exporter: the only exporter of 1.13, one of two in newer releases."""

from __future__ import annotations

import inspect
import warnings
from pathlib import Path
from typing import Any

import torch


def export_traced(module: Any, args: tuple[Any, ...], path: Path, **options: Any) -> None:
    """Writes the module as an ONNX file; `options` are those of torch.onnx.export."""
    if "dynamo" in inspect.signature(torch.onnx.export).parameters:
        options["dynamo"] = False
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(module, args, str(path), **options)
