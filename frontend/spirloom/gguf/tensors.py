"""The tensors of a GGUF file as a source of weights, by the names of Hugging Face."""

from __future__ import annotations

import re

from spirloom.errors import ImportFailure
from spirloom.family.weights import Stored
from spirloom.gguf.architectures import Architecture
from spirloom.gguf.blocks import BLOCKS, name_of, read_rows
from spirloom.gguf.file import GgufFile
from spirloom.weight_numbers import Numbers

TABLE, HEAD, FREQUENCIES = "token_embd.weight", "output.weight", "rope_freqs.weight"
LONG, SHORT = "rope_factors_long.weight", "rope_factors_short.weight"

_WHOLE = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
_OF_LAYERS = {
    "self_attn.qkv_proj": "attn_qkv",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "mlp.down_proj": "ffn_down",
}
# Before attention and MLP, and after them.
_NORMS = ("attn_norm", "ffn_norm", "post_attention_norm", "post_ffw_norm")
_LAYER = re.compile(r"model\.layers\.(\d+)\.(.+)\.(weight|bias)")


class GgufTensors:
    """A source of weights."""

    def __init__(self, file: GgufFile, architecture: Architecture) -> None:
        self._file = file
        traits = architecture.traits
        self._of_layers = {
            **_OF_LAYERS,
            **architecture.gates,
            **{
                norm: name
                for norm, name in zip(traits.before + traits.after, _NORMS, strict=True)
                if norm
            },
        }

    def has(self, name: str) -> bool:
        """Whether there is such a tensor."""
        return self.called(name) in self._file.tensors

    def read(self, name: str) -> Stored:
        """Its floats or its numbers. Raises ImportFailure."""
        return read_tensor(self._file, self.called(name))

    def called(self, name: str) -> str:
        """Its name in the file."""
        found = _LAYER.fullmatch(name)
        if found is None:
            whole, _, end = name.rpartition(".")
            return f"{_WHOLE[whole]}.{end}"
        return f"blk.{found[1]}.{self._of_layers.get(found[2], found[2])}.{found[3]}"


def read_tensor(file: GgufFile, name: str) -> Stored:
    """A tensor by its name in the file, which has it. Raises ImportFailure for unknown types."""
    entry = file.tensors[name]
    if entry.kind not in BLOCKS:
        known = ", ".join(map(name_of, BLOCKS))
        raise ImportFailure(
            f"{file.path}: tensor {name!r} is of type {name_of(entry.kind)}, and those that are "
            f"read are: {known}."
        )
    stored = read_rows(entry.kind, file.rows_of(name))
    if isinstance(stored, Numbers):
        return stored if len(entry.shape) == 2 else stored.floats().reshape(entry.shape)
    return stored.reshape(entry.shape)
