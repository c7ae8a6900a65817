"""Reads an ONNX file with its external data, checks it, and recognizes files of other formats."""

from __future__ import annotations

import os
import re
import warnings
from errno import ENOMEM
from mmap import ACCESS_READ, mmap
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError, Message
from onnx import ModelProto, TensorProto

from codegen.graph_file import IDENTIFIER
from codegen.regular_file import open_regular
from spirloom.errors import ImportFailure
from spirloom.onnx.external_constants import externalized
from spirloom.onnx.external_data import MIN_MAPPED, is_external, items_of, load_external, messages

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


MIN_OPSET = 1
MAX_OPSET = 23
DEFAULT_DOMAINS = ("", "ai.onnx")

# ONNX Runtime writes this one of its own operators as if it were ONNX's.
_RUNTIME_DOMAIN = "com.microsoft"
_RUNTIME_OPS = ("SimplifiedLayerNormalization",)

# What Protocol Buffers read.
_MAX_MODEL = (1 << 31) - 1
# The checker serialises the model, which Protocol Buffers do up to 2 GiB.
_CHECKER_LIMIT = (1 << 31) - (1 << 20)
# What it says first of operators that it lacks or no longer wants. The importer has some of them,
# and lists the others, each with its node.
_OF_OPERATORS = re.compile("No Op registered for|Op registered for .* is deprecated")


def read_model(path: Path) -> ModelProto:
    """The model; large tensors are external. Raises ImportFailure naming what is wrong."""
    content = _content(path)
    model = ModelProto()
    try:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            model.ParseFromString(content)
        damaged = bool(found)  # of some kinds of damage it only warns
    except DecodeError:
        damaged = True
    if damaged:
        hint = advice(content)
        cut = "" if hint else ", or it is cut short"
        raise ImportFailure(f"{path} is not an ONNX model{cut}.{hint}")
    if not model.HasField("graph"):
        raise ImportFailure(f"{path} is not an ONNX model: it holds no graph.{advice(content)}")
    if not all(map(_text_is_valid, messages(model))):
        raise ImportFailure(f"{path} is not a valid ONNX model: a name in it is not UTF-8.")
    opset = opset_version(model)
    if not MIN_OPSET <= opset <= MAX_OPSET:
        raise ImportFailure(
            f"{path} uses ONNX opset {opset}; Spirloom reads {MIN_OPSET} to {MAX_OPSET}. "
            "Export it again with another opset_version."
        )
    _name_domains(model)
    load_external(model, path)
    _check(model, path, opset)
    return model


def _content(path: Path) -> bytes:
    """The file, in which large weights are external data of itself."""
    try:
        with open_regular(path) as stream:
            if os.fstat(stream.fileno()).st_size > _MAX_MODEL:
                raise ImportFailure(
                    f"{path} is no ONNX model: those have less than 2 GiB, and external data."
                )
            if os.fstat(stream.fileno()).st_size < MIN_MAPPED:
                return stream.read()
            with mmap(stream.fileno(), 0, access=ACCESS_READ) as content:
                return externalized(content, path.name, MIN_MAPPED)
    except OSError as error:
        if error.errno == ENOMEM:
            raise MemoryError from error
        raise ImportFailure(f"Cannot read {path}: {error.strerror}.") from error


def opset_version(model: ModelProto) -> int:
    """The version of the default operator set."""
    versions = [o.version for o in model.opset_import if o.domain in DEFAULT_DOMAINS]
    return max(versions, default=1)


def _name_domains(model: ModelProto) -> None:
    """Gives nodes that ONNX does not define the domain that does."""
    nodes = [n for n in model.graph.node if n.op_type in _RUNTIME_OPS]
    for node in nodes:
        node.domain = _RUNTIME_DOMAIN
    if nodes and all(o.domain != _RUNTIME_DOMAIN for o in model.opset_import):
        model.opset_import.add(domain=_RUNTIME_DOMAIN, version=1)


def _text_is_valid(message: Message) -> bool:
    """Whether every string is UTF-8; the parser hands out others as bytes."""
    return not any(
        isinstance(item, bytes)
        for field, value in message.ListFields()
        if field.type == field.TYPE_STRING
        for item in items_of(value)
    )


def _check(model: ModelProto, path: Path, opset: int) -> None:
    """Runs ONNX's own checker, where it is new enough for the model."""
    known = opset <= onnx.defs.onnx_opset_version() and model.ir_version <= onnx.IR_VERSION
    if not known or model.ByteSize() > _CHECKER_LIMIT:
        return
    # The checker wants shapes of inputs and outputs, which the importer can do without.
    infos = [*model.graph.input, *model.graph.output]
    shapeless = [i for i in infos if not i.type.tensor_type.HasField("shape")]
    for info in shapeless:
        if info.type.HasField("tensor_type"):
            info.type.tensor_type.shape.SetInParent()
    elsewhere = [t for t in messages(model) if is_external(t)]
    sizes = [tuple(tensor.dims) for tensor in elsewhere]
    for tensor in elsewhere:  # which is checked already: here it is one of no elements
        tensor.data_location, tensor.dims[:] = TensorProto.DEFAULT, (0,)
    try:
        onnx.checker.check_model(model)
    except onnx.checker.ValidationError as error:
        reason = str(error).strip().splitlines()[0]
        if not _OF_OPERATORS.match(reason):
            raise ImportFailure(f"{path} is not a valid ONNX model: {reason}") from error
    finally:
        for tensor, dims in zip(elsewhere, sizes, strict=True):
            tensor.data_location, tensor.dims[:] = TensorProto.EXTERNAL, dims
        for info in shapeless:
            if info.type.HasField("tensor_type"):
                info.type.tensor_type.ClearField("shape")
