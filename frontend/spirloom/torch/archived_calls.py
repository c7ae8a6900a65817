"""The calls in an archive's JSON."""

from __future__ import annotations

from math import inf, nan

from spirloom.errors import ImportFailure
from spirloom.torch.element_types import NAMES
from spirloom.torch.json_fields import Json
from spirloom.torch.module_paths import module_path
from spirloom.torch.program import (
    Argument,
    Call,
    Given,
    Meta,
    Plain,
    Ref,
    Result,
    TypeName,
    Word,
)
from spirloom.torch.size_of import SizeOf

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
