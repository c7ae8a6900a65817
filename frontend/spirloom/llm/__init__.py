"""Text generation with language models (.slg files with `prefill` and `decode`).

See the page 'Run a language model' of the documentation.
"""

from __future__ import annotations

from spirloom.llm.language_model import LLM, ContextExceeded, Sampling
from spirloom.llm.text import Tokenizer

__all__ = ["LLM", "ContextExceeded", "Sampling", "Tokenizer"]
