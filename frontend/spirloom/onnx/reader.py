"""Reads an ONNX file with its external data, checks it, and recognizes files of other formats."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError, Message
from onnx import GraphProto, ModelProto, TensorProto

from spec_model.file_kinds import advice
from spirloom.errors import ImportFailure
from spirloom.mapped_file import MIN_MAPPED_BYTES, mapped
from spirloom.onnx.external_constants import externalized
from spirloom.onnx.external_data import is_external, items_of, load_external, messages

_KIND = "an ONNX model"
_NO_TEXT = "{} is not a valid ONNX model: a name is not UTF-8."
MIN_OPSET = 1
MAX_OPSET = 26
DEFAULT_DOMAINS = ("", "ai.onnx")

RUNTIME_DOMAIN = "com.microsoft"
# Operators that ONNX Runtime writes in the default domain.
_RUNTIME_OPS = ("SimplifiedLayerNormalization",)

# The limit of Protocol Buffers.
_MAX_MODEL = (1 << 31) - 1
# The checker serializes the model. Protocol Buffers support up to 2 GiB.
_CHECKER_LIMIT = (1 << 31) - (1 << 20)
# Its errors for unknown and deprecated operators are ignored: the importer supports some of them
# and lists the others with their nodes.
_OPERATOR_ERROR = re.compile("No Op registered for|Op registered for .* is deprecated")


def read_model(path: Path) -> ModelProto:
    """The model, with large tensors as external data. Raises ImportFailure."""
    content = _content(path)
    model = ModelProto()
    try:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            model.ParseFromString(content)
        damaged = bool(found)  # some errors are only warnings
    except DecodeError:
        damaged = True
    except UnicodeDecodeError:  # by Protocol Buffers in Python
        if not advice(content, _KIND):
            raise ImportFailure(_NO_TEXT.format(path)) from None
        damaged = True
    if damaged:
        hint = advice(content, _KIND)
        truncated = "" if hint else ", or it is truncated"
        raise ImportFailure(f"{path} is not {_KIND}{truncated}.{hint}")
    if not model.HasField("graph"):
        raise ImportFailure(f"{path} is not {_KIND}: it has no graph.{advice(content, _KIND)}")
    if not all(map(_text_is_valid, messages(model))):
        raise ImportFailure(_NO_TEXT.format(path))
    opset = opset_version(model)
    if not MIN_OPSET <= opset <= MAX_OPSET:
        raise ImportFailure(
            f"{path} uses ONNX opset {opset}; opsets {MIN_OPSET} to {MAX_OPSET} are supported. "
            "Export it with another opset_version."
        )
    _name_domains(model)
    load_external(model, path)
    _check(model, path, opset)
    graphs = [m for m in messages(model) if isinstance(m, GraphProto) and m.sparse_initializer]
    for graph in graphs:
        _name_sparse_constants(graph)
    return model


def _content(path: Path) -> bytes:
    """The file, with large weights as external data in the same file."""
    content = mapped(path)
    if len(content) > _MAX_MODEL:
        raise ImportFailure(
            f"{path} is not {_KIND}: it exceeds 2 GiB. Export it with external data."
        )
    if len(content) < MIN_MAPPED_BYTES:
        return bytes(content)
    return externalized(content, path.name, MIN_MAPPED_BYTES)


def opset_version(model: ModelProto) -> int:
    """The version of the default operator set."""
    versions = [o.version for o in model.opset_import if o.domain in DEFAULT_DOMAINS]
    return max(versions, default=1)


def _name_domains(model: ModelProto) -> None:
    """Sets the domain of ONNX Runtime's operators, in place."""
    nodes = [n for n in model.graph.node if n.op_type in _RUNTIME_OPS]
    for node in nodes:
        node.domain = RUNTIME_DOMAIN
    if nodes and all(o.domain != RUNTIME_DOMAIN for o in model.opset_import):
        model.opset_import.add(domain=RUNTIME_DOMAIN, version=1)


def _name_sparse_constants(graph: GraphProto) -> None:
    """Replaces sparse initializers with Constant nodes, in place."""
    nodes = [*graph.node]
    del graph.node[:]
    for sparse in graph.sparse_initializer:
        graph.node.append(
            onnx.helper.make_node("Constant", [], [sparse.values.name], sparse_value=sparse)
        )
    graph.node.extend(nodes)
    del graph.sparse_initializer[:]


def _text_is_valid(message: Message) -> bool:
    """Whether every string is UTF-8. The parser returns others as bytes."""
    return not any(
        isinstance(item, bytes)
        for field, value in message.ListFields()
        if field.type == field.TYPE_STRING
        for item in items_of(value)
    )


def _check(model: ModelProto, path: Path, opset: int) -> None:
    """Runs ONNX's checker if it supports the versions of the model."""
    known = opset <= onnx.defs.onnx_opset_version() and model.ir_version <= onnx.IR_VERSION
    if not known or model.ByteSize() > _CHECKER_LIMIT:
        return
    # The checker requires shapes of inputs and outputs, and types. The importer does not.
    infos = [*model.graph.input, *model.graph.output]
    shapeless = [i for i in infos if not i.type.tensor_type.HasField("shape")]
    for info in shapeless:
        if info.type.HasField("tensor_type"):
            info.type.tensor_type.shape.SetInParent()
    untyped = [info for info in model.graph.output if not info.type.WhichOneof("value")]
    for info in untyped:
        info.type.tensor_type.elem_type = TensorProto.FLOAT
        info.type.tensor_type.shape.SetInParent()
    external = [t for t in messages(model) if is_external(t)]
    sizes = [tuple(tensor.dims) for tensor in external]
    for tensor in external:  # already checked: empty for ONNX's checker
        tensor.data_location, tensor.dims[:] = TensorProto.DEFAULT, (0,)
    try:
        onnx.checker.check_model(model)
    except onnx.checker.ValidationError as error:
        reason = str(error).strip().splitlines()[0]
        if not _OPERATOR_ERROR.match(reason):
            raise ImportFailure(f"{path} is not a valid ONNX model: {reason}") from error
    finally:
        for tensor, dims in zip(external, sizes, strict=True):
            tensor.data_location, tensor.dims[:] = TensorProto.EXTERNAL, dims
        for info in shapeless:
            if info.type.HasField("tensor_type"):
                info.type.tensor_type.ClearField("shape")
        for info in untyped:  # the type is that of the computed value
            info.ClearField("type")
