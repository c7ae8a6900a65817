"""Decoders such as Llama: from sizes and named weights to the methods of a graph file.

Independent of the input format. Weights have Hugging Face's names.
"""

from __future__ import annotations

from spirloom.family.config import Config
from spirloom.family.methods import LanguageOptions, context_of, import_methods, make_methods
from spirloom.family.weights import (
    RearrangedSource,
    StoredTensor,
    Weights,
    WeightSource,
    floats_of,
)

__all__ = [
    "Config",
    "LanguageOptions",
    "RearrangedSource",
    "StoredTensor",
    "WeightSource",
    "Weights",
    "context_of",
    "floats_of",
    "import_methods",
    "make_methods",
]
