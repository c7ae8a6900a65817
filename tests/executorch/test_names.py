"""What the specs say of ExecuTorch's names agrees with PyTorch's schemas."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from spirloom.torch.argument_binding import arg_for

from codegen import Op, load_library
from codegen.library import ROOT
from codegen.spec import Exactly, ForeignName

LIBRARY = load_library([ROOT / "op_specs"], [ROOT / "templates" / "glsl"])

# What is bound otherwise than by place, on purpose: (name, argument of the schema).
OTHERWISE = {
    ("aten.full_like", "self"),  # its size is the result's
    ("aten.ones_like", "self"),
    ("aten.zeros_like", "self"),
    ("aten.scalar_tensor", "s"),
    ("aten.upsample_bilinear2d.vec", "output_size"),  # the result's
    ("aten.upsample_nearest2d.vec", "output_size"),
    ("aten.convolution", "output_padding"),  # says nothing unless it is transposed
}


def names() -> Iterator[tuple[Op, ForeignName]]:
    for op in LIBRARY.ops.values():
        for foreign in op.foreign:
            if foreign.name.startswith("aten."):
                yield op, foreign


def schema_of(name: str) -> Any:
    _, packet, *overload = name.split(".")
    try:
        found = getattr(getattr(torch.ops.aten, packet), overload[0] if overload else "default")
    except AttributeError:
        return None
    return found._schema


KNOWN = [(op, foreign) for op, foreign in names() if schema_of(foreign.name) is not None]


@pytest.mark.parametrize(
    ("op", "foreign"), KNOWN, ids=[f"{op.name}-{foreign.name}" for op, foreign in KNOWN]
)
def test_arguments_bind_by_place(op: Op, foreign: ForeignName) -> None:
    schema = schema_of(foreign.name)
    for place, argument in enumerate(schema.arguments):
        wanted = arg_for(op.args, place, argument.name)
        given = foreign.places[place] if place < len(foreign.places) else None
        if wanted is None or isinstance(given, Exactly | tuple):
            continue
        if (foreign.name, argument.name) in OTHERWISE or argument.name == "dtype":
            continue
        assert given == wanted.name, f"{argument.name} is {wanted.name}, not {given}"


def delegated() -> set[str]:
    """The names of what ExecuTorch's Vulkan partitioner delegates: the keys of its registry."""
    from executorch.backends.vulkan import custom_ops_lib  # noqa: F401  registers et_vk::*
    from executorch.backends.vulkan.op_registry import vulkan_supported_ops

    keys = (key if isinstance(key, str) else key.__name__ for key in vulkan_supported_ops)
    return {key.replace("::", ".").removesuffix(".default") for key in keys}


def test_the_document_lists_what_is_not_served() -> None:
    served = {foreign.name for op in LIBRARY.ops.values() for foreign in op.foreign}
    rules = (ROOT / "integrations/executorch/lower/structure.cpp").read_text()
    served |= set(re.findall(r'Row\{"([^"]+)"', rules))
    served |= {"getitem"}  # a result of a call: no call itself
    known = delegated()
    missing = {n for n in known if n not in served and n.removeprefix("llama.") not in served}
    text = (ROOT / "docs/reference/executorch.md").read_text()
    count, said = re.findall(r"Of its (\d+) names these .*?: (.*?)\.\n", text, re.DOTALL)[0]
    assert (int(count), set(re.findall(r"`([^`]+)`", said))) == (len(known), missing)


def test_every_name_of_pytorchs_exists() -> None:
    missing = {foreign.name for _, foreign in names() if schema_of(foreign.name) is None}
    assert not missing
