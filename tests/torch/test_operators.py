"""Every operator from a module of PyTorch to its result on the device, against eager PyTorch."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import pytest
import spirloom
import torch
from spirloom import graph_file
from spirloom.errors import ImportFailure
from spirloom.ir import Graph
from spirloom.ops import OpLibrary
from spirloom.passes import optimize
from spirloom.torch.export import decompose, program_of
from spirloom.torch.importer import import_program
from spirloom.torch.options import Options

from tests.reference.library import LIBRARY
from tests.torch.operators import Example, examples

IMPORTER = OpLibrary()
# Test calls of a spec that are tried until one becomes the operator.
TRIED = 6

_LAYOUT = "the layout of our own kernels"
_STEP = "a step of Winograd's convolution, which the runtime takes"
_QUANTISED = "tests/torch/test_quantised.py gets there from torchao"
_STATIC = "tests/torch/test_static_int8.py gets there from torchao"
_FAMILY = "what a language model is described by: tests/torch/test_language_models.py"
UNREACHED = {
    "spirloom.add_i8": _STATIC,
    "spirloom.average_pool_i8": _STATIC,
    "spirloom.cache_update": _FAMILY,
    "spirloom.cached_attention": _FAMILY,
    "spirloom.cached_attention_parts": _FAMILY,
    "spirloom.choose_qparams": _QUANTISED,
    "spirloom.convolution_i8": _STATIC,
    "spirloom.copy": "what the runtime puts between storages",
    "spirloom.decode_attention": _FAMILY,
    "spirloom.dequantize": _QUANTISED,
    "spirloom.embedding_bf16": _FAMILY,
    "spirloom.embedding_q4": _QUANTISED,
    "spirloom.embedding_q8": _QUANTISED,
    "spirloom.gated_linear": _FAMILY,
    "spirloom.gated_linear_bf16": _FAMILY,
    "spirloom.gated_linear_q4": _FAMILY,
    "spirloom.gated_linear_q8": _FAMILY,
    "spirloom.join_attention": _FAMILY,
    "spirloom.linear_bf16": _FAMILY,
    "spirloom.linear_dq8_q4": _QUANTISED,
    "spirloom.linear_dq8_q8": _QUANTISED,
    "spirloom.linear_i8": _STATIC,
    "spirloom.linear_q4": _QUANTISED,
    "spirloom.linear_q8": _QUANTISED,
    "spirloom.local_response_norm": "PyTorch spells it out: padding, a mean of windows, a division",
    "spirloom.lp_pool": "PyTorch spells it out: powers and a mean of windows",
    "spirloom.pack_channels": _LAYOUT,
    "spirloom.pack_column_tiles": _LAYOUT,
    "spirloom.pack_conv2d_weight": _LAYOUT,
    "spirloom.pack_filters": _LAYOUT,
    "spirloom.pack_linear_weight": _LAYOUT,
    "spirloom.pack_quantised": _LAYOUT,
    "spirloom.pack_quantised_rows": _LAYOUT,
    "spirloom.pack_recurrent_weight": _LAYOUT,
    "spirloom.pack_row_tiles": _LAYOUT,
    "spirloom.quantize": _QUANTISED,
    "spirloom.rescale_i8": _STATIC,
    "spirloom.rotary_at": _FAMILY,
    "spirloom.rotary_cache": _FAMILY,
    "spirloom.sample_token": _FAMILY,
    "spirloom.strided_attention": "tests/torch/test_patterns.py gets there from slices",
    "spirloom.tied_embedding": _FAMILY,
    "spirloom.winograd_input": _STEP,
    "spirloom.winograd_product": _STEP,
    "spirloom.winograd_weight": _STEP,
}


def test_so_many_are_reached() -> None:
    assert set(UNREACHED) <= set(LIBRARY.ops)
    assert len(LIBRARY.ops) - len(UNREACHED) >= 235


@pytest.mark.parametrize("name", sorted(set(LIBRARY.ops) - set(UNREACHED)))
def test_operator(name: str) -> None:
    problems = []
    for example in islice(examples(LIBRARY.ops[name]), TRIED):
        problem = _problem(name, example)
        if problem is None:
            return
        problems.append(f"{example.name}: {problem}")
    pytest.fail("\n".join(problems) or "the spec has no test call that PyTorch takes")


def _problem(name: str, example: Example) -> str | None:
    """Why a module does not become the operator; AssertionError if it gives something else."""
    try:
        wanted = example.module(*example.inputs)
        exported = torch.export.export(example.module, example.inputs, strict=False)
    except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError) as error:
        return f"PyTorch: {error}"
    problem = ""
    # Decomposition takes apart what torch holds for composed, although we have it.
    for program in (decompose(exported, IMPORTER), exported):
        try:
            graph, used = _imported(program)
        except ImportFailure as error:
            problem = str(error)
            continue
        if name in used:
            _compare(graph, example, wanted)
            return None
        problem = f"it becomes {sorted(used)}"
    return problem


def _imported(exported: Any) -> tuple[Graph, set[str]]:
    """The graph, and its operators before and after the passes."""
    program = program_of(exported)
    wide = {
        given.name: (-(1 << 20), 1 << 20)
        for given in program.inputs
        if given.kind == "user input"
        and given.name in program.metas
        and program.metas[given.name].dtype == "int64"
    }
    graph = import_program(program, IMPORTER, Options.of({}, wide), {})
    used = {node.op for node in graph.nodes}
    optimize(graph, IMPORTER)
    return graph, used | {node.op for node in graph.nodes}


def _compare(graph: Graph, example: Example, wanted: Any) -> None:
    model = spirloom.load(graph_file.to_bytes(graph))
    by_name = dict(zip((t.name for t in graph.inputs), example.inputs, strict=True))
    arrays = {t.name: by_name[t.name].numpy().astype(t.dtype.numpy) for t in graph.inputs}
    given = model(**arrays)
    results = given if isinstance(given, tuple | list) else (given,)
    expected = wanted if isinstance(wanted, tuple | list) else (wanted,)
    for result, tensor in zip(results, expected, strict=False):
        np.testing.assert_allclose(
            np.asarray(result).astype(np.float64), tensor.numpy().astype(np.float64),
            rtol=1e-4, atol=1e-4,
        )  # fmt: skip
