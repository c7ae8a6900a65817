"""Text from language models (.slg with `prefill` and `decode`): docs/language-models.md."""

from __future__ import annotations

from spirloom.llm.language_model import LLM
from spirloom.llm.sampling import Sampling
from spirloom.llm.text import Tokenizer

__all__ = ["LLM", "Sampling", "Tokenizer"]
