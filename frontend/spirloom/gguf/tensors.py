"""The tensors of a GGUF file as a source of weights, by the names of Hugging Face."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from spirloom.errors import ImportFailure
from spirloom.family.weights import Stored
from spirloom.gguf.blocks import BLOCKS, DEQUANTISED, name_of, read_rows
from spirloom.gguf.file import GgufFile
from spirloom.ir import Array
from spirloom.weight_numbers import Numbers

TABLE, HEAD, FREQUENCIES = "token_embd.weight", "output.weight", "rope_freqs.weight"

_WHOLE = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
_OF_LAYERS = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
_LAYER = re.compile(r"model\.layers\.(\d+)\.(.+)\.(weight|bias)")
_TURNED = (".q_proj.", ".k_proj.")


class GgufTensors:
    """A source of weights. `head_size` of an architecture whose queries and keys are turned by
    neighbours, 0 of others: their rows are put as they are for turning by halves."""

    def __init__(self, file: GgufFile, head_size: int) -> None:
        self._file = file
        self._head_size = head_size

    def has(self, name: str) -> bool:
        """Whether there is such a tensor."""
        return self.called(name) in self._file.tensors

    def read(self, name: str) -> Stored:
        """Its floats or its numbers, rows in the order of Hugging Face. Raises ImportFailure."""
        stored = read_tensor(self._file, self.called(name))
        if not self._head_size or not any(part in name for part in _TURNED):
            return stored
        turn = _by_halves(self.called(name), self._head_size)
        if not isinstance(stored, Numbers):
            return turn(stored)
        return replace(stored, values=turn(stored.values), scales=turn(stored.scales))

    def called(self, name: str) -> str:
        """Its name in the file."""
        found = _LAYER.fullmatch(name)
        if found is None:
            whole, _, end = name.rpartition(".")
            return f"{_WHOLE[whole]}.{end}"
        return f"blk.{found[1]}.{_OF_LAYERS[found[2]]}.{found[3]}"


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


def dequantised(file: GgufFile) -> dict[str, int]:
    """By type, how many tensors are quantised and yet become floats."""
    kinds = [entry.kind for entry in file.tensors.values()]
    return {name_of(kind): kinds.count(kind) for kind in DEQUANTISED if kind in kinds}


def _by_halves(name: str, head_size: int) -> Callable[[Array], Array]:
    """Of each head: rows 0, 2, 4 … and then 1, 3, 5 …"""

    def turned(rows: Array) -> Array:
        if len(rows) % head_size:
            raise ImportFailure(
                f"Tensor {name!r} has {len(rows)} rows, which are no heads of {head_size}."
            )
        pairs = rows.reshape(-1, head_size // 2, 2, *rows.shape[1:])
        return pairs.swapaxes(1, 2).reshape(rows.shape)

    return turned
