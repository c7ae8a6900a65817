"""`python -m benchmarks.gpu.export FOLDER [NAME…]`: graph files of published.py's networks.

Requires PyTorch 2 (.venv-torch). Weights take no memory here: they are generated on the device at
load time.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from spirloom import graph_file
from spirloom.ir import Graph
from spirloom.op_library import OpLibrary
from spirloom.torch.build import build
from spirloom.torch.export import decompose, program_of
from spirloom.torch.options import Options

from benchmarks.gpu.published import PUBLISHED
from benchmarks.gpu.weights import with_synthetic_weights

DTYPES = ("f32", "f16")


def without_weights(module: torch.nn.Module) -> torch.nn.Module:
    """Modifies and returns a module of the meta device. Matrices become broadcast scalars; these
    differ, because equal constants would be stored once. Vectors become random values around 1,
    because passes recognize norms whose weights are ones and zeros."""
    generator = torch.Generator().manual_seed(0)
    found: dict[str, torch.Tensor] = {}
    for index, (name, parameter) in enumerate(module.named_parameters()):
        if parameter.dim() > 1:
            depth = math.prod(parameter.shape[1:])
            scale = 2.0 ** -math.ceil(math.log2(depth))  # small ones are kept as they are
            found[name] = torch.tensor(scale * (1 + index / 1024)).expand(parameter.shape)
        else:
            found[name] = 0.5 + torch.rand(parameter.shape, generator=generator)
    for name, value in found.items():
        owner, _, member = name.rpartition(".")
        setattr(module.get_submodule(owner), member, torch.nn.Parameter(value, False))
    return module


def graphs(make: Any, shapes: dict[str, tuple[int, ...]]) -> Iterator[Graph]:
    """The optimized graphs of a network in f32 and f16."""
    library = OpLibrary()
    with torch.device("meta"):
        module = make().eval()
    module = without_weights(module)
    inputs = tuple(torch.rand(shape) for shape in shapes.values())
    with torch.no_grad():
        exported = torch.export.export(module, inputs, strict=False)
        program = program_of(decompose(exported, library))
    for fp16 in (False, True):
        yield with_synthetic_weights(build(program, library, Options(fp16=fp16)))


def write(name: str, folder: Path) -> None:
    """Writes the network's graph files."""
    for dtype, graph in zip(DTYPES, graphs(*PUBLISHED[name]), strict=True):
        graph_file.save(graph, folder / f"{name}-1-{dtype}.slg")


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gpu.export", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", default=list(PUBLISHED), metavar="NAME")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name in arguments.names:
        write(name, arguments.folder)


if __name__ == "__main__":
    main()
