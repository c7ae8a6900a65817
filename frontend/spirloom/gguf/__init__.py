"""Importer of GGUF files (llama.cpp). Quantized weights stay quantized."""

from __future__ import annotations

from spirloom.gguf.file import is_gguf
from spirloom.gguf.importer import import_gguf

__all__ = ["import_gguf", "is_gguf"]
