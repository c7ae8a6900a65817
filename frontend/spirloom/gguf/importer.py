"""Imports a GGUF file as the methods `prefill` and `decode` of a graph file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Unpack

from spirloom.family import LanguageOptions, context_of, import_methods
from spirloom.gguf.config import ARCHITECTURES, GgufSource, read_config
from spirloom.gguf.model import GgufModel
from spirloom.gguf.tokenizer import attachments_of
from spirloom.ir import Graph


def import_gguf(
    path: Path,
    *,
    log: Callable[[str], None] = lambda _: None,
    **options: Unpack[LanguageOptions],
) -> list[Graph]:
    """Imports a GGUF file; quantized weights stay quantized. The first method has the tokenizer and
    the text metadata as attachments; `log` receives a line for each that is omitted. Raises
    ImportFailure.
    """
    file = GgufModel(path)
    options["context"] = context_of(options, read_config(file).context)
    config = read_config(file, options["context"])
    source = GgufSource(file, ARCHITECTURES[config.family])
    methods = import_methods(config, source, f"a GGUF file of {config.family}", **options)
    methods[0].attachments = attachments_of(file.metadata, log)
    return methods
