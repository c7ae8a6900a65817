"""Imports GGUF files and Hugging Face directories on first use, into a cache keyed by content.
Graph files with another dtype of the KV cache are also written there.

The cache is `models/` in the directory of caches. Its files may be deleted at any time.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from spec_model.cache_directory import cache_directory, variable
from spirloom import __version__
from spirloom.errors import ImportFailure, reading
from spirloom.garbage import rare_collections
from spirloom.llm.content_digest import content_digest
from spirloom.terminal import Progress

if TYPE_CHECKING:
    from spirloom.ir import Graph

# KV caches of the training context, often 128K tokens, would take gigabytes.
DEFAULT_CONTEXT = 4096


def is_source(model: Path) -> bool:
    """Whether a path is a model to import: a directory or a GGUF file."""
    if model.suffix == ".slg" or not model.exists():
        return False
    from spirloom.gguf import is_gguf

    return model.is_dir() or is_gguf(model)


def imported(model: Path, context: int | None = None, kv_cache: str | None = None) -> Path:
    """The graph file of a GGUF file or directory, which is written on first use. `context`: rows of
    the KV caches (default: the training context, at most DEFAULT_CONTEXT). `kv_cache`: their dtype
    (spirloom.kv_cache; default: that of activations). Raises ImportFailure.
    """
    # Loading a graph file needs none of the importers' packages.
    from spirloom.gguf import import_gguf
    from spirloom.hf import import_directory

    read = import_directory if model.is_dir() else import_gguf

    def methods() -> list[Graph]:
        return read(
            model,
            log=lambda line: print(f"{model}: {line}", file=sys.stderr),
            context=context,
            max_context=DEFAULT_CONTEXT,
            kv_cache=kv_cache,
        )

    chat = "" if find_spec("jinja2") else " without chat template"
    return _written(model, f"{context} {kv_cache}{chat}", methods)


def with_kv_cache(model: Path, kv_cache: str) -> Path:
    """The graph file of a language model with KV caches of another dtype, which is written on first
    use. Raises ImportFailure."""
    from spirloom.kv_cache import read_with_kv_cache

    return _written(model, f"graph {kv_cache}", lambda: read_with_kv_cache(model, kv_cache))


def _written(model: Path, options: str, read: Callable[[], list[Graph]]) -> Path:
    """The cached file for a model and options, which `read` computes if it does not exist."""
    from spirloom import graph_file

    cache = _directory()
    path = cache / f"{_key(model, options)}.slg"
    if path.exists():
        return path
    with Progress(f"{model}, importing to {path}") as progress, rare_collections():
        progress("reading weights")
        methods = read()
        try:
            cache.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ImportFailure(
                f"Cannot create {cache}: {error.strerror}. Set {variable()} to a writable "
                "directory, or use spirloom import."
            ) from error
        graph_file.save(methods, path, report=progress)
    return path


def _directory() -> Path:
    return cache_directory() / "models"


def _key(model: Path, options: str) -> str:
    """Of the release, the options, and every byte of the model's files."""
    from spirloom.gguf import part_paths

    digest = hashlib.blake2b(f"{__version__} {options}".encode(), digest_size=16)
    with reading(model):
        for path in sorted(model.iterdir()) if model.is_dir() else part_paths(model):
            if path.is_file():
                digest.update(f"\0{path.name if model.is_dir() else ''}\0".encode())
                digest.update(content_digest(path, _directory() / "digests"))
    return digest.hexdigest()
