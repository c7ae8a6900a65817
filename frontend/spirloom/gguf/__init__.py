"""The way in from GGUF files: llama.cpp's models, their quantised weights kept as they are."""

from __future__ import annotations

from spirloom.gguf.file import is_gguf
from spirloom.gguf.importer import import_gguf

__all__ = ["import_gguf", "is_gguf"]
