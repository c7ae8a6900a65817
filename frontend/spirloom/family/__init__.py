"""Models like Llama: from their sizes and named weights, whoever read them, to a graph's methods.

Weights bear the names of Hugging Face.
"""

from __future__ import annotations

from spirloom.family.config import Config
from spirloom.family.methods import make_methods
from spirloom.family.weights import Arranged, Source, Stored, Weights

__all__ = ["Arranged", "Config", "Source", "Stored", "Weights", "make_methods"]
