"""A hundred published architectures, each small, imported in both precisions.

A sample runs (tests/sample.py). SPIRLOOM_REAL_NETWORKS selects names, separated by commas.
"""

from __future__ import annotations

import os
import random
from dataclasses import replace
from importlib import import_module

import pytest
import torch
from spirloom.op_library import OpLibrary
from spirloom.torch.build import build
from spirloom.torch.export import decompose, program_of
from spirloom.torch.options import Options

from spec_model.interval import Interval
from tests.sample import runs_all, seed
from tests.torch.networks import initialized
from tests.torch.published.registry import PUBLISHED, Example
from tests.torch.test_real_networks import error

for _name in ("audio", "depth", "detection", "diffusion", "encoders", "images", "language"):
    import_module(f"tests.torch.published.{_name}")

LIBRARY = OpLibrary()
# Maximum error, relative to the maximum of the result. Routers of experts choose others in fp16.
TOLERANCES = {"f32": 1e-4, "fp16": 4e-2}
SAMPLE = 5
# Scores of the initial weights are equal up to rounding, or all activations are negative.
_RANDOM_WEIGHTS = ("depth_anything", "dfine", "dpt")


def selected() -> list[str]:
    """The names of the selected networks."""
    chosen = os.environ.get("SPIRLOOM_REAL_NETWORKS", "")
    if not chosen and not runs_all():
        return random.Random(seed()).sample(sorted(PUBLISHED), SAMPLE)
    return [name for name in PUBLISHED if runs_all() or name in chosen.split(",")]


def made(name: str) -> Example:
    """The module of a network in eval mode, and its arguments; deterministic."""
    module, inputs = initialized(PUBLISHED[name], std=0.1)
    for layer in module.modules() if name in _RANDOM_WEIGHTS else ():
        for weight in layer.parameters(recurse=False):
            if weight.dim() > 1:
                weight.normal_(std=(2 / weight[0].numel()) ** 0.5)
        if isinstance(layer, torch.nn.BatchNorm2d):
            layer.weight.fill_(1)
    return module, inputs


@pytest.mark.parametrize("name", selected())
def test_equals_pytorch(name: str) -> None:
    module, inputs = made(name)
    with torch.no_grad():
        wanted = module(**inputs)
    assert wanted.std() > 1e-4  # equal values would compare nothing
    exported = torch.export.export(module, (), dict(inputs), strict=False)
    program = program_of(decompose(exported, LIBRARY))
    ranges = {
        key: Interval(0, 1)
        for key, tensor in inputs.items()
        if key == "attention_mask" and not tensor.is_floating_point()
    }
    options = Options(ranges=ranges, assume_int32=True, float64_as_float32=True)
    errors = {}
    for dtype in TOLERANCES:
        graph = build(program, LIBRARY, replace(options, fp16=dtype == "fp16"))
        errors[dtype] = error(graph, inputs, wanted)
    assert all(errors[dtype] < bound for dtype, bound in TOLERANCES.items()), errors
