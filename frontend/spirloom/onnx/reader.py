"""Reads an ONNX file, with its external data, and checks it."""

from __future__ import annotations

import warnings
from pathlib import Path, PurePosixPath

import onnx
from google.protobuf.message import DecodeError, Message
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto

from spirloom.errors import ImportFailure
from spirloom.onnx.other_formats import advice

MIN_OPSET = 1
MAX_OPSET = 22
DEFAULT_DOMAINS = ("", "ai.onnx")

# The checker serialises the model, which Protocol Buffers do up to 2 GiB.
_CHECKER_LIMIT = (1 << 31) - (1 << 20)


def read_model(path: Path) -> ModelProto:
    """The model, all tensors in memory. Raises ImportFailure naming what is wrong."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ImportFailure(f"Cannot read {path}: {error.strerror}.") from error
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
    if not _text_is_valid(model):
        raise ImportFailure(f"{path} is not a valid ONNX model: a name in it is not UTF-8.")
    opset = opset_version(model)
    if not MIN_OPSET <= opset <= MAX_OPSET:
        raise ImportFailure(
            f"{path} uses ONNX opset {opset}; Spirloom reads {MIN_OPSET} to {MAX_OPSET}. "
            "Export it again with another opset_version."
        )
    for tensor in _tensors(model.graph):
        _load_external(tensor, path)
    _check(model, path, opset)
    return model


def opset_version(model: ModelProto) -> int:
    """The version of the default operator set."""
    versions = [o.version for o in model.opset_import if o.domain in DEFAULT_DOMAINS]
    return max(versions, default=1)


def _text_is_valid(message: Message) -> bool:
    """Whether every string is UTF-8; the parser hands out others as bytes."""
    for field, value in message.ListFields():
        items = value if field.label == field.LABEL_REPEATED else [value]
        if field.type == field.TYPE_MESSAGE and not all(map(_text_is_valid, items)):
            return False
        if field.type == field.TYPE_STRING and any(isinstance(item, bytes) for item in items):
            return False
    return True


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
    try:
        onnx.checker.check_model(model)
    except onnx.checker.ValidationError as error:
        reason = str(error).strip().splitlines()[0]
        raise ImportFailure(f"{path} is not a valid ONNX model: {reason}") from error
    finally:
        for info in shapeless:
            if info.type.HasField("tensor_type"):
                info.type.tensor_type.ClearField("shape")


def _tensors(graph: GraphProto) -> list[TensorProto]:
    """Every tensor stored in the graph and its subgraphs."""
    found = list(graph.initializer)
    for node in graph.node:
        for attribute in node.attribute:
            found += _attribute_tensors(node, attribute)
    return found


def _attribute_tensors(node: NodeProto, attribute: AttributeProto) -> list[TensorProto]:
    if attribute.type == AttributeProto.TENSOR:
        return [attribute.t]
    if attribute.type == AttributeProto.GRAPH:
        return _tensors(attribute.g)
    return []


def _load_external(tensor: TensorProto, model_path: Path) -> None:
    """Moves a tensor's bytes from the file beside the model into the tensor."""
    if tensor.data_location != TensorProto.EXTERNAL:
        return
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = PurePosixPath(entries.get("location", ""))
    what = f"Tensor '{tensor.name}' of {model_path}"
    if not location.parts or location.is_absolute() or ".." in location.parts:
        raise ImportFailure(
            f"{what} is stored in '{location}', which is not a file in the model's folder."
        )
    path = model_path.parent / location
    try:
        offset, length = int(entries.get("offset", "0")), int(entries.get("length", "-1"))
    except ValueError as error:
        raise ImportFailure(f"{what} has a malformed offset or length: {entries}.") from error
    try:
        with path.open("rb") as stream:
            stream.seek(max(offset, 0))
            data = stream.read(length)
    except OSError as error:
        raise ImportFailure(
            f"{what} is stored in {path}, which cannot be read: {error.strerror}. "
            "Put the file beside the model."
        ) from error
    if offset < 0 or (length >= 0 and len(data) != length):
        raise ImportFailure(
            f"{what} needs {length} bytes at {offset} of {path}, which ends before."
        )
    tensor.raw_data = data
    tensor.data_location = TensorProto.DEFAULT
    del tensor.external_data[:]
