"""The program stored in a .pt2 archive, read without torch."""

from __future__ import annotations

from math import inf, nan
from pathlib import Path

from spirloom.errors import ImportFailure
from spirloom.torch.archive import EARLY, Archive, Json, Weights
from spirloom.torch.program import (
    Argument,
    Call,
    Given,
    Input,
    Kind,
    Meta,
    Plain,
    Program,
    Range,
    Ref,
    Result,
    SizeOf,
    TypeName,
    Word,
)
from spirloom.torch.source_location import module_path
from spirloom.torch.values import NAMES

_KEYWORD = 2
_NOT_FINITE = {"Infinity": inf, "-Infinity": -inf, "NaN": nan}
_WORDS = ("as_device", "as_layout", "as_memory_format", "as_graph", "as_custom_obj", "as_operator",
          "as_complex", "as_string_to_argument")  # fmt: skip


def call_of(node: Json) -> Call:
    """A node of the graph."""
    metadata = node.find("metadata")
    facts = {} if metadata is None else dict(metadata.entries())
    trace = facts.get("stack_trace")
    stack = facts.get("nn_module_stack")
    return Call(
        target_name(node.get("target").text()),
        tuple(_named(value) for value in node.get("inputs").items()),
        tuple(_result(value) for value in node.get("outputs").items()),
        module_path([] if stack is None else _modules(stack.text())),
        "" if trace is None else trace.text(),
    )


def target_name(text: str) -> str:
    """`torch.ops.aten.relu.default` → aten.relu."""
    name = text.removeprefix("torch.ops.").removeprefix("_")
    return name.removesuffix(".default")


def _modules(stack: str) -> list[str]:
    """The paths in `key,path,type;key,path,type`."""
    return [entry.split(",")[1] for entry in stack.split(";") if entry.count(",") >= 2]


def _named(value: Json) -> Argument:
    kind = value.find("kind")
    keyword = kind is not None and kind.whole() == _KEYWORD
    return Argument(value.get("name").text(), argument(value.get("arg")), keyword)


def argument(arg: Json) -> Given:
    """An argument, or a list of them."""
    kind, value = arg.only()
    if kind in ("as_tensors", "as_nested_tensors"):
        return tuple(Ref(item.get("name").text()) for item in value.items())
    if kind == "as_optional_tensors":
        return tuple(_plain(*item.only()) for item in value.items())
    if kind in ("as_ints", "as_floats", "as_bools", "as_strings"):
        return tuple(given_of(item) for item in value.items())
    if kind in ("as_sym_ints", "as_sym_floats", "as_sym_bools"):
        return tuple(_plain(*item.only()) for item in value.items())
    if kind in ("as_sym_int", "as_sym_float", "as_sym_bool"):
        return _plain(*value.only())
    return _plain(kind, value)


def _plain(kind: str, value: Json) -> Plain:
    match kind:
        case "as_none":
            return None
        case "as_tensor":
            return Ref(value.get("name").text())
        case "as_name":
            return Ref(value.text())
        case "as_int" | "as_bool" | "as_string" | "as_float":
            return given_of(value)
        case "as_scalar_type":
            return TypeName(NAMES.get(value.whole(), f"of number {value.whole()}"))
        case _ if kind in _WORDS:
            return Word(kind)
    raise ImportFailure(f"{value.place}: {kind} is not supported.")


def given_of(value: Json) -> int | float | bool | str | None:
    """A plain value; floats that are not finite are texts in JSON."""
    given = value.value
    if isinstance(given, str):
        return _NOT_FINITE.get(given, given)
    if given is None or isinstance(given, bool | int | float):
        return given
    raise ImportFailure(f"{value.place} is neither a number nor a text.")


def _result(output: Json) -> Result:
    kind, value = output.only()
    given = argument(output)
    if isinstance(given, tuple):
        return tuple(item.name for item in given if isinstance(item, Ref))
    if given is not None and not isinstance(given, Ref):
        raise ImportFailure(f"{value.place}: {kind} is no result.")
    return None if given is None else given.name


def meta_of(value: Json) -> Meta:
    """The type of a tensor."""
    code = value.get("dtype").whole()
    shape, strides = (
        tuple(_size(size) for size in value.get(name).items()) for name in ("sizes", "strides")
    )
    if any(isinstance(size, int) and size < 0 for size in shape):
        raise ImportFailure(f"{value.place} has the impossible shape {list(shape)}.")
    if len(strides) != len(shape):
        raise ImportFailure(f"{value.place} has {len(shape)} sizes and {len(strides)} strides.")
    start = _size(value.get("storage_offset"))
    return Meta(NAMES.get(code, f"of number {code}"), shape, strides, start)


def _size(size: Json) -> int | SizeOf:
    kind, value = size.only()
    return value.whole() if kind == "as_int" else SizeOf(value.get("expr_str").text())


# The schema's major version; torch raises it with every change that an old reader misunderstands.
MAJOR = 8
# Beyond it torch means "without bound".
_NO_BOUND = 1 << 60

_WEIGHTS = {
    "parameter": "parameter_name",
    "buffer": "buffer_name",
    "tensor_constant": "tensor_constant_name",
}
# What an output is besides one of the user's, and what names it.
_BUFFER_MUTATION = "buffer_mutation"
_MUTATIONS = {_BUFFER_MUTATION: "buffer_name", "user_input_mutation": "user_input_name",
              "parameter_mutation": "parameter_name"}  # fmt: skip


def read_archive(path: Path) -> Program:
    """The program that torch.export.save wrote. Raises ImportFailure."""
    archive = Archive(path)
    if archive.has(EARLY) or any(archive.names("data/weights/", ".pt")):
        raise ImportFailure(
            f"{path} has its weights as pickled objects of Python, which import does not run; "
            "PyTorch before 2.9 wrote such archives. Export it with 2.9 to 2.13, or in process "
            "with spirloom.torch.export."
        )
    if archive.has("byteorder") and archive.text("byteorder") != "little":
        raise ImportFailure(f"{path} is not of a little-endian machine; export it on one.")
    models = archive.names("models/", ".json")
    if len(models) != 1:
        raise ImportFailure(
            f"{path} has {len(models)} exported programs ({', '.join(models) or 'none'}); import "
            "takes archives of torch.export.save with one."
        )
    model = Json(archive.json(models[0]), f"{path}: {models[0]}: model")
    major = model.get("schema_version").get("major").whole()
    if major != MAJOR:
        raise ImportFailure(
            f"{path} is of version {major} of torch.export's format, and {MAJOR} is supported: "
            "export it with PyTorch 2.9 to 2.13, or in process with spirloom.torch.export."
        )
    module = model.get("graph_module")
    graph = module.get("graph")
    signature = module.get("signature")
    outputs, mutated, updates = _outputs(signature)
    return Program(
        where=str(path),
        inputs=tuple(_input(spec) for spec in signature.get("input_specs").items()),
        outputs=outputs,
        calls=tuple(call_of(node) for node in graph.get("nodes").items()),
        metas={name: meta_of(value) for name, value in graph.get("tensor_values").entries()},
        symbols={name: _range(r) for name, r in model.get("range_constraints").entries()},
        weights=Weights(archive, _entries(archive)),
        mutated=mutated,
        updates=updates,
        version=_version(model),
    )


def _version(model: Json) -> str:
    found = model.find("torch_version")
    return found.text().partition("+")[0] if found is not None else ""


def _entries(archive: Archive) -> dict[str, Json]:
    entries: dict[str, Json] = {}
    for folder in ("weights", "constants"):
        for name in archive.names(f"data/{folder}/", "_config.json"):
            config = Json(archive.json(name), f"{archive.path}: {name}")
            entries.update(config.get("config").entries())
    return entries


def _input(spec: Json) -> Input:
    kind, value = spec.only()
    if kind in _WEIGHTS:
        return Input(_name(value.get("arg")), Kind.WEIGHT, value.get(_WEIGHTS[kind]).text())
    if kind == "user_input":
        given = argument(value.get("arg"))
        if isinstance(given, Ref):
            return Input(given.name, Kind.USER)
        return Input("", Kind.USER, fixed=given)
    if kind == "constant_input":
        return Input(value.get("name").text(), Kind.USER, fixed=given_of(value.get("value")))
    return Input("", Kind.OTHER, kind)


def _outputs(signature: Json) -> tuple[tuple[Given, ...], tuple[str, ...], dict[str, Ref]]:
    outputs: list[Given] = []
    mutated: list[str] = []
    updates: dict[str, Ref] = {}
    for spec in signature.get("output_specs").items():
        kind, value = spec.only()
        if kind == "user_output":
            outputs.append(argument(value.get("arg")))
        elif kind in _MUTATIONS:
            mutated.append(value.get(_MUTATIONS[kind]).text())
            if kind == _BUFFER_MUTATION:
                updates[mutated[-1]] = Ref(_name(value.get("arg")))
        elif kind != "token":
            raise ImportFailure(f"{spec.place} is a {kind}, and only outputs are supported.")
    return tuple(outputs), tuple(mutated), updates


def _name(arg: Json) -> str:
    return arg.get("name").text()


def _range(constraint: Json) -> Range:
    least, greatest = (constraint.find(key) for key in ("min_val", "max_val"))
    ends = [None if e is None or not isinstance(e.value, int) else e.whole()
            for e in (least, greatest)]  # fmt: skip
    return Range(*(None if e is None or abs(e) >= _NO_BOUND else e for e in ends))
