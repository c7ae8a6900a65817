"""Recognises files that are no ONNX models, and says what to do with them."""

from __future__ import annotations

from codegen.graph_file import IDENTIFIER

# (offset, bytes there, what it is and what helps)
_KNOWN = (
    (8, IDENTIFIER, "It is a Spirloom graph already: run it with spirloom-run."),
    (0, b"version https://git-lfs", "It is a Git LFS pointer: fetch the model with git lfs pull."),
    (0, b"PK\x03\x04", "It is a ZIP file, such as torch.save writes: use torch.onnx.export."),
    (4, b"TFL3", "It is a TensorFlow Lite model: convert it with tf2onnx."),
    (0, b"\x89HDF\r\n\x1a\n", "It is an HDF5 file, such as Keras writes: convert it with tf2onnx."),
)


def advice(content: bytes) -> str:
    """A sentence about the file, preceded by a space; empty for unknown formats."""
    for offset, magic, sentence in _KNOWN:
        if content[offset : offset + len(magic)] == magic:
            return f" {sentence}"
    return ""
