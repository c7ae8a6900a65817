"""A folder of Hugging Face becomes the methods `prefill` and `decode` of one graph file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from spirloom.errors import ImportFailure
from spirloom.family import Arranged, Weights, make_methods
from spirloom.hf.config import read_config
from spirloom.hf.language import attachments_of
from spirloom.hf.safetensors import read_tensors
from spirloom.ir import Array, DType, Graph
from spirloom.ops import OpLibrary
from spirloom.passes.large_weights import LARGEST_WEIGHT
from spirloom.passes.quantize_weights import Quantisation


def import_folder(
    folder: Path,
    *,
    context: int | None = None,
    prompt: int | None = None,
    dtype: DType = DType.F32,
    quantize: Quantisation | None = None,
    largest: int = LARGEST_WEIGHT,
    library: OpLibrary | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> list[Graph]:
    """The methods that `make_methods` makes. Weights and caches are of `dtype`, layers and tables
    as `quantize` says. Tokenizer and chat go along as attachments of the first; `tell` hears what
    of them is left out. Raises ImportFailure.
    """
    config = read_config(folder / "config.json", context)
    weights = Weights(Arranged(FolderTensors(folder), config), dtype, quantize)
    origin = f"a folder of {config.family}"
    methods = make_methods(
        config, weights, library or OpLibrary(), origin, context, prompt, largest
    )
    methods[0].attachments = attachments_of(folder, tell)
    return methods


class FolderTensors:
    """The tensors of a folder, mapped: a source of weights."""

    def __init__(self, folder: Path) -> None:
        self._arrays: dict[str, Array] = {}
        for path in _files(folder):
            self._arrays.update(read_tensors(path))

    def has(self, name: str) -> bool:
        """Whether there is such a tensor."""
        return name in self._arrays

    def read(self, name: str) -> Array:
        """Its floats."""
        return self._arrays[name]

    def called(self, name: str) -> str:
        """Its name."""
        return name


def _files(folder: Path) -> list[Path]:
    index = folder / "model.safetensors.index.json"
    if not index.exists():
        return [folder / "model.safetensors"]
    try:
        names = sorted(set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ImportFailure(f"{index} cannot be read: {error}.") from error
    bad = [name for name in names if not isinstance(name, str) or Path(name).name != name]
    if bad:
        raise ImportFailure(f"{index} names {bad[0]!r}, which is no file of the folder.")
    return [folder / name for name in names]
