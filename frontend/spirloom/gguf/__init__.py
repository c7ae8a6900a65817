"""Importer of GGUF files (llama.cpp). Quantized weights stay quantized."""

from __future__ import annotations

from spirloom.gguf.file import is_gguf
from spirloom.gguf.importer import import_gguf
from spirloom.gguf.model import part_paths

__all__ = ["import_gguf", "is_gguf", "part_paths"]
