"""The ONNX converters, of this package and of specs, and why some operators have none."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from onnx import NodeProto

from spec_model import ArgType
from spec_model.spec import OnnxArg, OnnxMapping
from spirloom.builder import Value
from spirloom.data_sizes import SIZE_OF_DATA
from spirloom.onnx.context import NodeContext
from spirloom.onnx.reader import DEFAULT_DOMAINS, RUNTIME_DOMAIN
from spirloom.onnx.size_arrays import Known
from spirloom.op_library import OpLibrary
from spirloom.registration import registers

Converter = Callable[[NodeContext], Known | Sequence[Known]]

# By the keys of `converter_name`. A converter must support every version from opset MIN_OPSET to
# MAX_OPSET (reader.py), by NodeContext.opset.
CONVERTERS: dict[str, Converter] = {}
converts = registers(CONVERTERS)


def converter_name(node: NodeProto) -> str:
    """The key of a node in CONVERTERS: the operator, with its domain unless that is ONNX's."""
    domain = "" if node.domain in DEFAULT_DOMAINS else f"{node.domain}."
    return f"{domain}{node.op_type}"


def converter_of(name: str, library: OpLibrary) -> Converter | None:
    """The converter of an operator by its key: a registered one, or that of a spec's `onnx`."""
    if name in CONVERTERS or name not in library.onnx:
        return CONVERTERS.get(name)
    op, mapping = library.onnx[name]
    return lambda ctx: _call(ctx, op, mapping)


def _call(ctx: NodeContext, op: str, mapping: OnnxMapping) -> Sequence[Value]:
    """The call of an operator whose arguments are those of the node."""
    args: dict[str, object] = {}
    declared = {arg.name: arg for arg in ctx.build.library.args(op)}
    tensors = [arg for arg in declared.values() if arg.type.is_tensor]
    for index, arg in enumerate(tensors):
        args[arg.name] = ctx.tensor(index) if arg.required else ctx.optional_tensor(index)
    for given in mapping.args:
        args[given.name] = given.value
        if given.attribute:
            args[given.name] = _attribute(ctx, declared[given.name].type, given)
    return ctx.build.emit_all(op, **args)


def _attribute(ctx: NodeContext, kind: ArgType, given: OnnxArg) -> object:
    name, default = given.attribute, given.value
    match default:
        case bool():
            return bool(ctx.integer(name, default))
        case int() if kind is ArgType.INT:
            return ctx.integer(name, default)
        case int() | float():
            return ctx.number(name, default)
        case str():
            return ctx.text(name, default)
    return ctx.integers(name) or default


_STRINGS = "it processes strings"
_SEQUENCES = "it uses sequences or optional values; only tensors are supported"
_RANDOM = "it generates random values, which are not reproducible across implementations"
_TRAINING = "it is for training; only inference is supported"

_BY_OPERATOR = {
    "Bernoulli": _RANDOM,
    "DeformConv": "there is no operator for convolutions at sampled positions",
    "MaxRoiPool": "the size of its regions depends on the data; use RoiAlign",
    "Multinomial": _RANDOM,
    "Optional": _SEQUENCES,
    "OptionalGetElement": _SEQUENCES,
    "OptionalHasElement": _SEQUENCES,
    "RandomNormal": _RANDOM,
    "RandomNormalLike": _RANDOM,
    "RandomUniform": _RANDOM,
    "RandomUniformLike": _RANDOM,
    "SequenceMap": _SEQUENCES,
    "StringNormalizer": _STRINGS,
    "TfIdfVectorizer": "it is text preprocessing; only tensors are supported",
    "Unique": SIZE_OF_DATA,
}
_BY_DOMAIN = {"ai.onnx.preview.training": _TRAINING, "ai.onnx.training": _TRAINING}


def reason(node: NodeProto) -> str:
    """Why there is no converter for a node."""
    if node.domain in _BY_DOMAIN:
        return _BY_DOMAIN[node.domain]
    if node.domain == RUNTIME_DOMAIN:
        return "there is no converter for this operator of ONNX Runtime"
    if node.domain not in DEFAULT_DOMAINS:
        return f"the operator domain '{node.domain}' is unknown"
    return _BY_OPERATOR.get(node.op_type, "there is no converter for it")
