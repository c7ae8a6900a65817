"""Regression tests: damage of exported programs, found by fuzzing, is rejected with a message."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from spirloom.errors import ImportFailure
from spirloom.torch.archived_program import read_archive
from spirloom.torch.build import build
from spirloom.torch.options import Options

from tests.fuzz import torch_import

Graph = dict[str, Any]


def imported(name: str, change: Callable[[Graph], None], folder: Path) -> None:
    """Imports a program of the corpus with a changed graph."""
    path = torch_import.SEEDS / f"{name}.pt2"
    (members,) = (m for m, p in zip(torch_import.seeds(), sorted(torch_import.SEEDS.glob("*.pt2")),
                                    strict=True) if p == path)  # fmt: skip
    members = dict(members)
    (key,) = (key for key in members if key.endswith("models/model.json"))
    model = json.loads(members[key])
    change(model["graph_module"])
    members[key] = json.dumps(model).encode()
    (folder / "m.pt2").write_bytes(torch_import.packed(members, random.Random(0)))
    build(read_archive(folder / "m.pt2"), torch_import.library(), Options())


def node(module: Graph, target: str) -> Graph:
    """The first call of an operator."""
    found: Graph = next(n for n in module["graph"]["nodes"] if target in n["target"])
    return found


def result(call: Graph) -> str:
    """The name of a call's result."""
    name: str = call["outputs"][0]["as_tensor"]["name"]
    return name


def no_weight(module: Graph) -> None:
    spec = next(s for s in module["signature"]["input_specs"] if "parameter" in s)
    spec["parameter"]["parameter_name"] = "other"


def negative_size(module: Graph) -> None:
    module["graph"]["tensor_values"]["ids"]["sizes"][0] = {"as_int": -2}


def other_elements(module: Graph) -> None:
    name = result(node(module, "aten.reshape"))
    module["graph"]["tensor_values"][name]["sizes"][0] = {"as_int": 7}


def other_rank(module: Graph) -> None:
    name = result(node(module, "aten.eye"))
    for key in ("sizes", "strides"):
        module["graph"]["tensor_values"][name][key].append({"as_int": 1})


def no_stride(module: Graph) -> None:
    name = result(node(module, "aten.eye"))
    module["graph"]["tensor_values"][name]["strides"].pop()


def no_argument(module: Graph) -> None:
    call = node(module, "aten.repeat")
    call["inputs"] = [i for i in call["inputs"] if i["name"] != "repeats"]


def a_tensor_for_ints(module: Graph) -> None:
    call = node(module, "aten.repeat")
    (given,) = (i for i in call["inputs"] if i["name"] == "repeats")
    given["arg"] = {"as_tensor": {"name": "x"}}


def a_tensor_for_a_type(module: Graph) -> None:
    call = node(module, "aten.silu")
    call["inputs"].append({"name": "dtype", "arg": call["inputs"][0]["arg"], "kind": 2})


def a_scalar_for_a_tensor(module: Graph) -> None:
    call = node(module, "aten.split")
    call["target"] = "torch.ops.aten.slice.Tensor"
    call["inputs"] = [
        {"name": "self", "arg": {"as_float": 1.0}, "kind": 1},
        {"name": "dim", "arg": {"as_int": 0}, "kind": 1},
    ]


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("decoder", no_weight, "has no weight 'other'"),
        ("decoder", negative_size, r"invalid shape \[-2, 4\]"),
        ("in_place", other_elements, "cannot be reshaped to"),
        ("in_place", other_rank, "expected rank 2"),
        ("in_place", no_stride, "has 2 sizes and 1 strides"),
        ("convolutions", a_scalar_for_a_tensor, "has no dimension 0"),
        ("in_place", no_argument, "aten.repeat"),
        ("in_place", a_tensor_for_ints, "aten.repeat"),
        ("decoder", a_tensor_for_a_type, "its argument 'dtype' .* is not supported"),
    ],
)
def test_damage_is_rejected(
    name: str, change: Callable[[Graph], None], message: str, tmp_path: Path
) -> None:
    imported(name, lambda module: None, tmp_path)
    with pytest.raises(ImportFailure, match=message):
        imported(name, change, tmp_path)
