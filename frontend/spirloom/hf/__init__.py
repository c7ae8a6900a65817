"""Importer of Hugging Face model directories: `config.json` and safetensors."""

from __future__ import annotations

from spirloom.hf.importer import import_directory

__all__ = ["import_directory"]
