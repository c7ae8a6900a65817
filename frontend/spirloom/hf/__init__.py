"""The way in from folders of Hugging Face: `config.json` and safetensors, by what families are."""

from __future__ import annotations

from spirloom.hf.importer import import_folder

__all__ = ["import_folder"]
