"""Compares the ExecuTorch mappings of the specs with PyTorch's schemas."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from spirloom.torch.argument_binding import arg_for

from spec_model import Op, load_library
from spec_model.spec import Exactly, ExecutorchMapping
from spec_model.templates import ROOT

LIBRARY = load_library([ROOT / "op_specs"], [ROOT / "templates" / "glsl"])

# Arguments that are intentionally not bound by position: (name, argument of the schema).
OTHERWISE = {
    ("aten.full_like", "self"),  # bound to the result's shape
    ("aten.ones_like", "self"),
    ("aten.zeros_like", "self"),
    ("aten.scalar_tensor", "s"),
    ("aten.upsample_bilinear2d.vec", "output_size"),  # bound to the result's shape
    ("aten.upsample_nearest2d.vec", "output_size"),
    ("aten.convolution", "output_padding"),  # only used by transposed convolutions
}


def names() -> Iterator[tuple[Op, ExecutorchMapping]]:
    for op in LIBRARY.ops.values():
        for mapping in op.executorch:
            if mapping.name.startswith("aten."):
                yield op, mapping


def schema_of(name: str) -> Any:
    _, packet, *overload = name.split(".")
    try:
        found = getattr(getattr(torch.ops.aten, packet), overload[0] if overload else "default")
    except AttributeError:
        return None
    return found._schema


KNOWN = [(op, mapping) for op, mapping in names() if schema_of(mapping.name) is not None]


@pytest.mark.parametrize(
    ("op", "mapping"), KNOWN, ids=[f"{op.name}-{mapping.name}" for op, mapping in KNOWN]
)
def test_arguments_bind_by_position(op: Op, mapping: ExecutorchMapping) -> None:
    schema = schema_of(mapping.name)
    for position, argument in enumerate(schema.arguments):
        expected = arg_for(op.args, position, argument.name)
        given = mapping.call_args[position] if position < len(mapping.call_args) else None
        if expected is None or isinstance(given, Exactly | tuple):
            continue
        if (mapping.name, argument.name) in OTHERWISE or argument.name == "dtype":
            continue
        assert given == expected.name, f"{argument.name} is {expected.name}, not {given}"


def delegated() -> set[str]:
    """The operators that ExecuTorch's Vulkan partitioner delegates: the keys of its registry."""
    from executorch.backends.vulkan import custom_ops_lib  # noqa: F401  registers et_vk::*
    from executorch.backends.vulkan.op_registry import vulkan_supported_ops

    keys = (key if isinstance(key, str) else key.__name__ for key in vulkan_supported_ops)
    return {key.replace("::", ".").removesuffix(".default") for key in keys}


def test_the_document_lists_unsupported_operators() -> None:
    supported = {mapping.name for op in LIBRARY.ops.values() for mapping in op.executorch}
    source = (ROOT / "integrations/executorch/lower/call_handlers.cpp").read_text()
    supported |= set(re.findall(r'Row\{"([^"]+)"', source))
    supported |= {"getitem"}  # selects a result of a call
    known = delegated()
    missing = {n for n in known if n not in supported and n.removeprefix("llama.") not in supported}
    text = (ROOT / "docs/reference/executorch.md").read_text()
    count, listed = re.findall(r"Of its (\d+) names these .*?: (.*?)\.\n", text, re.DOTALL)[0]
    assert (int(count), set(re.findall(r"`([^`]+)`", listed))) == (len(known), missing)


def test_every_aten_name_exists() -> None:
    missing = {mapping.name for _, mapping in names() if schema_of(mapping.name) is None}
    assert not missing
