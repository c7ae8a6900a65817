"""Runs the operator of docs/tutorials/first-operator.md in a PyTorch model on the device."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import spirloom
import torch
from spirloom import graph_file
from spirloom.op_library import OWN_TEMPLATES, OpLibrary
from spirloom.runtime import Runtime
from spirloom.torch import decompose, program_of
from spirloom.torch.archived_program import read_archive
from spirloom.torch.build import build
from spirloom.torch.options import Options

from codegen import cli
from tests.torch.archives import needs_archives
from tests.tutorial import document

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/tutorials/first-operator.md"


@torch.library.custom_op("custom::leaky_sum", mutates_args=())  # type: ignore[untyped-decorator]
def leaky_sum(a: torch.Tensor, x: torch.Tensor, dim: int) -> torch.Tensor:
    steps = zip(a.unbind(dim), x.unbind(dim), strict=True)
    states = [torch.zeros_like(x.select(dim, 0))]
    for factor, value in steps:
        states.append(factor * states[-1] + value)
    return torch.stack(states[1:], dim)


@leaky_sum.register_fake  # type: ignore[untyped-decorator]
def _(a: torch.Tensor, x: torch.Tensor, dim: int) -> torch.Tensor:
    return torch.empty_like(x)


class Model(torch.nn.Module):  # type: ignore[misc]
    """The operator between other layers."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(6, 2 * 6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a, values = self.layer(x).chunk(2, -1)
        y: torch.Tensor = torch.ops.custom.leaky_sum(torch.sigmoid(a), values, 1)
        return y.sum(-1)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the page."""
    directory = tmp_path_factory.mktemp("project")
    for block in document.section(PAGE, "In a project of your own"):
        if len(block.words) == 2 and block.words != ("sh", "fails"):
            path = directory / block.words[1]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
    return directory


@pytest.fixture(scope="module")
def kernels(project: Path) -> Path:
    """Its shader pack, built with CMake's commands."""
    out = project / "build"
    pack = out / "shaders.slpack"
    template_dirs: list[str | Path] = [
        "--template-dir",
        OWN_TEMPLATES[0],
        "--template-dir",
        "templates",
    ]
    generate: list[str | Path] = [
        sys.executable,
        "-m",
        str(cli.__package__),
        "generate",
        "--spec-dir",
        "op_specs",
        *template_dirs,
    ]
    shaderc = ROOT / "build" / "release" / "bin" / "spirloom-shaderc"
    compiled: list[str | Path] = [shaderc, "--manifest", out / "manifest.json", "--output", pack]
    for command in ([*generate, "--out", out], compiled):
        subprocess.run(command, cwd=project, check=True, stdout=subprocess.DEVNULL)
    return pack


@pytest.mark.parametrize("archived", [False, pytest.param(True, marks=needs_archives)])
def test_it_runs_in_an_imported_model(
    project: Path, kernels: Path, tmp_path: Path, archived: bool
) -> None:
    """In process and from an archive, with dynamic sizes."""
    torch.manual_seed(3)
    model, library = Model().eval(), OpLibrary.with_dirs([project / "op_specs"])
    length = torch.export.Dim("length", min=2, max=40)
    exported = torch.export.export(
        model, (torch.randn(2, 7, 6),), dynamic_shapes=({1: length},), strict=False
    )
    exported = decompose(exported, library)
    program = program_of(exported)
    if archived:
        torch.export.save(exported, tmp_path / "net.pt2")
        program = read_archive(tmp_path / "net.pt2")
    graph = build(program, library, Options())
    (node,) = (n for n in graph.nodes if n.op == "custom.leaky_sum")
    assert library.arg(node, "dim") == 1
    loaded = Runtime(overrides=[kernels]).load(graph_file.to_bytes(graph))
    for size in (7, 40):
        x = torch.randn(2, size, 6)
        with torch.no_grad():
            wanted = model(x).numpy()
        (given,) = loaded(x.numpy())
        np.testing.assert_allclose(given, wanted, rtol=1e-5, atol=1e-5)


def test_the_message_names_missing_kernels(project: Path) -> None:
    library = OpLibrary.with_dirs([project / "op_specs"])
    exported = decompose(torch.export.export(Model(), (torch.randn(2, 7, 6),)), library)
    graph = build(program_of(exported), library, Options())
    with pytest.raises(spirloom.SpirloomError, match=r"custom\.leaky_sum"):
        spirloom.load(graph_file.to_bytes(graph))
