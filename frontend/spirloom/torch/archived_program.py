"""Reads the program of a .pt2 archive, without torch."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, nan
from pathlib import Path

from spirloom.errors import ImportFailure
from spirloom.json_values import Json
from spirloom.torch.archive import LEGACY_MEMBER, Archive, Weights
from spirloom.torch.conditional import inline_conditions
from spirloom.torch.effects import without_tokens
from spirloom.torch.int_inputs import named_by_inputs
from spirloom.torch.program import (
    BUFFER_MUTATION,
    Argument,
    ArgValue,
    Branch,
    Call,
    IgnoredValue,
    Input,
    Kind,
    Outputs,
    OutputSpec,
    PlainValue,
    Program,
    Range,
    Ref,
    Result,
    SizeExpr,
    TensorMeta,
    TypeName,
    release,
)
from spirloom.torch.source_location import module_path
from spirloom.torch.values import exported_type

_KEYWORD = 2
_NOT_FINITE = {"Infinity": inf, "-Infinity": -inf, "NaN": nan}
_IGNORED = ("as_device", "as_layout", "as_memory_format", "as_custom_obj",
            "as_complex", "as_string_to_argument")  # fmt: skip


def call_of(node: Json) -> Call:
    """The call of a graph node."""
    metadata = node.find("metadata")
    fields = {} if metadata is None else dict(metadata.entries())
    trace = fields.get("stack_trace")
    stack = fields.get("nn_module_stack")
    return Call(
        operator_name(node.get("target").text()),
        tuple(_named(value) for value in node.get("inputs").items()),
        tuple(_result(value) for value in node.get("outputs").items()),
        module_path([] if stack is None else _modules(stack.text())),
        "" if trace is None else trace.text(),
    )


def operator_name(text: str) -> str:
    """`torch.ops.aten.relu.default` → aten.relu."""
    name = text.removeprefix("torch.ops.").removeprefix("_")
    return name.removesuffix(".default")


def _modules(stack: str) -> list[str]:
    """The paths in `key,path,type;key,path,type`."""
    return [entry.split(",")[1] for entry in stack.split(";") if entry.count(",") >= 2]


def _named(value: Json) -> Argument:
    kind = value.find("kind")
    keyword = kind is not None and kind.integer() == _KEYWORD
    return Argument(value.get("name").text(), argument(value.get("arg")), keyword)


def argument(arg: Json) -> ArgValue:
    """An argument, or a list of them."""
    kind, value = arg.single_member()
    if kind in ("as_tensors", "as_nested_tensors"):
        return tuple(Ref(item.get("name").text()) for item in value.items())
    if kind == "as_optional_tensors":
        return tuple(_plain(*item.single_member()) for item in value.items())
    if kind in ("as_ints", "as_floats", "as_bools", "as_strings"):
        return tuple(json_value(item) for item in value.items())
    if kind in ("as_sym_ints", "as_sym_floats", "as_sym_bools"):
        return tuple(_plain(*item.single_member()) for item in value.items())
    if kind in ("as_sym_int", "as_sym_float", "as_sym_bool"):
        return _plain(*value.single_member())
    return _plain(kind, value)


def _plain(kind: str, value: Json) -> PlainValue:
    match kind:
        case "as_none":
            return None
        case "as_tensor":
            return Ref(value.get("name").text())
        case "as_name":
            return Ref(value.text())
        case "as_int" | "as_bool" | "as_string" | "as_float":
            return json_value(value)
        case "as_scalar_type":
            return TypeName(exported_type(value.integer()))
        case "as_graph":
            return _branch(value.get("graph"))
        case "as_operator":
            return IgnoredValue(operator_name(value.text()))
        case _ if kind in _IGNORED:
            return IgnoredValue(kind)
    raise ImportFailure(f"{value.location}: {kind} is not supported.")


def _branch(graph: Json) -> Branch:
    """A branch of torch.cond."""
    inputs = [argument(item) for item in graph.get("inputs").items()]
    if not all(isinstance(item, Ref) for item in inputs):
        raise ImportFailure(f"{graph.location}: an input of a branch is not a value.")
    return Branch(
        tuple(item.name for item in inputs if isinstance(item, Ref)),
        tuple(argument(item) for item in graph.get("outputs").items()),
        tuple(call_of(node) for node in graph.get("nodes").items()),
        {name: meta_of(value) for name, value in graph.get("tensor_values").entries()},
    )


def json_value(value: Json) -> int | float | bool | str | None:
    """A plain value. JSON stores floats that are not finite as strings."""
    plain = value.value
    if isinstance(plain, str):
        return _NOT_FINITE.get(plain, plain)
    if plain is None or isinstance(plain, bool | int | float):
        return plain
    raise ImportFailure(f"{value.location} is neither a number nor a string.")


def _result(output: Json) -> Result:
    kind, value = output.single_member()
    result = argument(output)
    if isinstance(result, tuple):
        return tuple(item.name for item in result if isinstance(item, Ref))
    if result is not None and not isinstance(result, Ref):
        raise ImportFailure(f"{value.location}: {kind} is not supported as a result.")
    return None if result is None else result.name


def meta_of(value: Json) -> TensorMeta:
    """The type of a tensor."""
    dtype = exported_type(value.get("dtype").integer())
    shape, strides = (
        tuple(_size(size) for size in value.get(name).items()) for name in ("sizes", "strides")
    )
    if any(isinstance(size, int) and size < 0 for size in shape):
        raise ImportFailure(f"{value.location} has the invalid shape {list(shape)}.")
    if len(strides) != len(shape):
        raise ImportFailure(f"{value.location} has {len(shape)} sizes and {len(strides)} strides.")
    return TensorMeta(dtype, shape, strides, _size(value.get("storage_offset")))


def _size(size: Json) -> int | SizeExpr:
    kind, value = size.single_member()
    return value.integer() if kind == "as_int" else SizeExpr(value.get("expr_str").text())


# The schema's major version, which torch increments for incompatible changes.
MAJOR = 8

_WEIGHTS = {
    "parameter": "parameter_name",
    "buffer": "buffer_name",
    "tensor_constant": "tensor_constant_name",
}
# The key of the mutated value, by the kind of the output.
_MUTATION_KEYS = {
    BUFFER_MUTATION: "buffer_name",
    "user_input_mutation": "user_input_name",
    "parameter_mutation": "parameter_name",
}


def read_archive(path: Path) -> Program:
    """Reads the program of an archive of torch.export.save. Raises ImportFailure."""
    archive = Archive(path)
    if archive.has(LEGACY_MEMBER) or any(archive.names("data/weights/", ".pt")):
        raise ImportFailure(
            f"{path} has pickled weights, which the importer does not load: it was written by "
            "PyTorch before 2.9. Export with 2.9 to 2.13, or in process with spirloom.torch.export."
        )
    if archive.has("byteorder") and archive.text("byteorder") != "little":
        raise ImportFailure(f"{path} is not little-endian. Export on a little-endian machine.")
    models = archive.names("models/", ".json")
    if len(models) != 1:
        raise ImportFailure(
            f"{path} has {len(models)} exported programs ({', '.join(models) or 'none'}); "
            "expected an archive of torch.export.save with one."
        )
    model = Json(archive.json(models[0]), f"{path}: {models[0]}")
    major = model.get("schema_version").get("major").integer()
    if major != MAJOR:
        raise ImportFailure(
            f"{path} has version {major} of torch.export's format; {MAJOR} is supported. Export "
            "with PyTorch 2.9 to 2.13, or in process with spirloom.torch.export."
        )
    module = model.get("graph_module")
    graph = module.get("graph")
    signature = module.get("signature")
    outputs = Outputs.of(map(_output, signature.get("output_specs").items()), str(path))
    sym_ints = graph.find("sym_int_values")
    ints = {} if sym_ints is None else dict(sym_ints.entries())
    program = Program(
        where=str(path),
        inputs=tuple(_input(spec, ints) for spec in signature.get("input_specs").items()),
        outputs=outputs.outputs,
        calls=tuple(call_of(node) for node in graph.get("nodes").items()),
        metas={name: meta_of(value) for name, value in graph.get("tensor_values").entries()},
        symbols={name: _range(r) for name, r in model.get("range_constraints").entries()},
        weights=Weights(archive, _entries(archive)),
        mutated=outputs.mutated,
        updates=outputs.updates,
        version=_version(model),
        saved=True,
    )
    return named_by_inputs(inline_conditions(without_tokens(program)))


def _version(model: Json) -> str:
    found = model.find("torch_version")
    return release(found.text()) if found is not None else ""


def _entries(archive: Archive) -> dict[str, Json]:
    entries: dict[str, Json] = {}
    for directory in ("weights", "constants"):
        for name in archive.names(f"data/{directory}/", "_config.json"):
            config = Json(archive.json(name), f"{archive.path}: {name}")
            entries.update(config.get("config").entries())
    return entries


def _input(spec: Json, ints: Mapping[str, Json]) -> Input:
    """The input of a spec. `ints`: the symbolic ints of the graph."""
    kind, value = spec.single_member()
    if kind in _WEIGHTS:
        return Input(_name(value.get("arg")), Kind.WEIGHT, value.get(_WEIGHTS[kind]).text())
    if kind == "user_input":
        user = argument(value.get("arg"))
        if isinstance(user, Ref) and value.get("arg").find("as_sym_int") and user.name in ints:
            return Input(user.name, Kind.INT, fixed=_size(ints[user.name]))
        if isinstance(user, Ref):
            return Input(user.name, Kind.USER)
        return Input("", Kind.USER, fixed=user)
    if kind == "constant_input":
        return Input(value.get("name").text(), Kind.USER, fixed=json_value(value.get("value")))
    return Input("", Kind.OTHER, kind)


def _output(spec: Json) -> OutputSpec:
    kind, value = spec.single_member()
    if kind == "user_output":
        return OutputSpec(kind, argument(value.get("arg")))
    if kind not in _MUTATION_KEYS:
        return OutputSpec(kind, None)
    update = Ref(_name(value.get("arg"))) if kind == BUFFER_MUTATION else None
    return OutputSpec(kind, update, value.get(_MUTATION_KEYS[kind]).text())


def _name(arg: Json) -> str:
    return arg.get("name").text()


def _range(constraint: Json) -> Range:
    bounds = (constraint.find(key) for key in ("min_val", "max_val"))
    low, high = (None if b is None or not isinstance(b.value, int) else b.integer() for b in bounds)
    return Range.of(low, high)
