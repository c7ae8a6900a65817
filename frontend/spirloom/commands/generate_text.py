"""spirloom run LLM -p TEXT: generates text by spirloom-llm, with a model imported on first use."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from spirloom.formats.options import KV_CACHE_DTYPES

# Options of spirloom-llm, one of which it requires.
_ACTIONS = ("-p", "--prompt", "--chat", "--tokenize")


def generates_text(words: Sequence[str]) -> bool:
    """Whether the arguments of `spirloom run` name a language model to import, or select an action
    of spirloom-llm.
    """
    return any(map(_is_action, words)) or any(map(_is_source, words))


def generate(words: Sequence[str]) -> None:
    """Replaces the process by spirloom-llm. Without an action, a chat."""
    from spirloom.llm.import_cache import imported, with_kv_cache
    from spirloom.programs import become

    options, others = parser().parse_known_args(words)
    model = next((word for word in others if _is_source(word)), None)
    if model is not None:
        path = imported(Path(model), options.context, options.kv_cache)
        others[others.index(model)] = str(path)
    elif options.kv_cache is not None:
        model = next((word for word in others if word.endswith(".slg")), "")
        if model:
            others[others.index(model)] = str(with_kv_cache(Path(model), options.kv_cache))
    if not any(map(_is_action, others)):
        others.append("--chat")
    become("spirloom-llm", others)


def parser() -> argparse.ArgumentParser:
    """The parser of the options that spirloom-llm does not have."""
    made = argparse.ArgumentParser(prog="spirloom run", add_help=False, allow_abbrev=False)
    made.add_argument(
        "--context",
        type=int,
        metavar="TOKENS",
        help="rows of the KV caches of an imported model (default: the training context, at most "
        "4096)",
    )
    made.add_argument(
        "--kv-cache",
        choices=KV_CACHE_DTYPES,
        help="dtype of the KV caches (default: that of activations)",
    )
    return made


def _is_action(word: str) -> bool:
    return word.partition("=")[0] in _ACTIONS


def _is_source(word: str) -> bool:
    from spirloom.llm.import_cache import is_source

    path = Path(word)
    if word.startswith("-") or (path.is_dir() and not (path / "config.json").exists()):
        return False  # an option, or the directory of its outputs
    return is_source(path)
