"""Operators of torch.library and of ONNX domains with specs in the user's directory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from spirloom.errors import ImportFailure
from spirloom.onnx.importer import import_model
from spirloom.onnx.inputs import Shapes
from spirloom.op_library import OpLibrary
from spirloom.torch import decompose, program_of
from spirloom.torch.build import build
from spirloom.torch.options import Options

SPEC = """\
# y = scale x + 1
op: mylib.scaled_plus
args:
  x: tensor
  scale: float = 2.0
outputs:
  y: like x
kernel:
  template: unary.glsl.j2
  dtypes: [f32]
  params: {expr: "x * scale + 1.0"}
  push: {scale: scale}
reference: x * scale + 1
tests:
  - {x: [2, 3], scale: 3.0}
"""


@torch.library.custom_op("mylib::scaled_plus", mutates_args=())  # type: ignore[untyped-decorator]
def scaled_plus(x: torch.Tensor, scale: float = 2.0) -> torch.Tensor:
    return x * scale + 1


@scaled_plus.register_fake  # type: ignore[untyped-decorator]
def _(x: torch.Tensor, scale: float = 2.0) -> torch.Tensor:
    return torch.empty_like(x)


class Model(torch.nn.Module):  # type: ignore[misc]
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = torch.ops.mylib.scaled_plus(torch.relu(x), 3.0)
        return y


@pytest.fixture(scope="module")
def spec_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("specs")
    (directory / "scaled_plus.yaml").write_text(SPEC)
    return directory


def test_binds_to_the_spec_of_its_name(spec_dir: Path) -> None:
    library = OpLibrary.with_dirs([spec_dir])
    exported = torch.export.export(Model(), (torch.ones(2, 3),))
    graph = build(program_of(decompose(exported, library)), library, Options())
    (node,) = (n for n in graph.nodes if n.op == "mylib.scaled_plus")
    assert library.arg(node, "scale") == 3.0


def test_without_the_spec_the_message_names_the_option() -> None:
    exported = torch.export.export(Model(), (torch.ones(2, 3),))
    with pytest.raises(ImportFailure, match=r"mylib.scaled_plus.*--spec-dir"):
        build(program_of(exported), OpLibrary(), Options())


def test_of_an_onnx_domain(spec_dir: Path, tmp_path: Path) -> None:
    info = [onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [2, 3]) for n in "xy"]
    node = onnx.helper.make_node("scaled_plus", ["x"], ["y"], domain="mylib", scale=3.0)
    model = onnx.helper.make_model(
        onnx.helper.make_graph([node], "g", info[:1], info[1:]),
        opset_imports=[onnx.helper.make_opsetid("", 18), onnx.helper.make_opsetid("mylib", 1)],
        ir_version=8,
    )
    onnx.save(model, tmp_path / "net.onnx")
    library = OpLibrary.with_dirs([spec_dir])
    graph = import_model(tmp_path / "net.onnx", library, Shapes())
    (found,) = graph.nodes
    assert (found.op, library.arg(found, "scale")) == ("mylib.scaled_plus", 3.0)
    (result,) = library.compute("mylib.scaled_plus", {"x": np.ones((2, 3)), "scale": 3.0})
    assert result.max() == 4
