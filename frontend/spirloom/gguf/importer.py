"""A GGUF file becomes the methods `prefill` and `decode` of one graph file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from spirloom.family import Arranged, Weights, make_methods
from spirloom.gguf.config import ARCHITECTURES, GgufTensors, read_config
from spirloom.gguf.file import GgufFile
from spirloom.gguf.tokenizer import attachments_of
from spirloom.ir import DType, Graph
from spirloom.ops import OpLibrary
from spirloom.passes.large_weights import LARGEST_WEIGHT
from spirloom.passes.weight_quantization import Quantisation


def import_gguf(
    path: Path,
    *,
    context: int | None = None,
    prompt: int | None = None,
    dtype: DType = DType.F32,
    quantize: Quantisation | None = None,
    largest: int = LARGEST_WEIGHT,
    library: OpLibrary | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> list[Graph]:
    """The methods that `make_methods` makes. Weights that are floats and caches are of `dtype`,
    or as `quantize` says; quantised ones keep their numbers. Vocabulary and chat go along as
    attachments of the first, as of a folder of Hugging Face; `tell` gets a line if they cannot.
    Raises ImportFailure.
    """
    file = GgufFile(path)
    config = read_config(file, context)
    source = Arranged(GgufTensors(file, ARCHITECTURES[config.family]), config)
    origin = f"a GGUF file of {config.family}"
    weights = Weights(source, dtype, quantize)
    methods = make_methods(
        config, weights, library or OpLibrary(), origin, context, prompt, largest
    )
    methods[0].attachments = attachments_of(file.metadata, tell)
    return methods
