"""Imports a PyTorch module for each operator and compares the device with eager PyTorch."""

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
from spirloom.op_library import OpLibrary
from spirloom.passes import optimize
from spirloom.torch.export import decompose, program_of
from spirloom.torch.importer import import_program
from spirloom.torch.options import Options

from tests.reference.library import LIBRARY
from tests.torch.operators import Example, examples

IMPORTER = OpLibrary()
# Maximum number of test calls that are tried until one becomes the operator.
TRIED = 6

_LAYOUT = "packs weights for our kernels"
_SLICES = "partial sums of a convolution or a linear layer, which the runtime inserts"
_STEP = "a step of Winograd's convolution, which the runtime inserts"
_PARTIAL = "partial results of long rows, which the runtime inserts"
_SCATTER = "sorted points of scatters, which the runtime inserts"
_QUANTIZED = "imported from torchao in tests/torch/test_quantized.py"
_STATIC = "imported from torchao in tests/torch/test_static_int8.py"
_FLOAT8 = "imported from torch.float8 weights in tests/torch/test_float8.py"
_DEVICE = "called by PyTorch's device: tests/torch_device"
_FAMILY = "part of language models: tests/torch/test_language_models.py"
UNREACHED = {
    "spirloom.add_i8": _STATIC,
    "spirloom.average_pool_i8": _STATIC,
    "spirloom.cache_update": _FAMILY,
    "spirloom.cached_attention": _FAMILY,
    "spirloom.choose_qparams": _QUANTIZED,
    "spirloom.convolution_i8": _STATIC,
    "spirloom.convolution_k_slices": _SLICES,
    "spirloom.copy": "inserted by the runtime between storages",
    "spirloom.decode_attention": _FAMILY,
    "spirloom.decode_attention_partials": _PARTIAL,
    "spirloom.dequantize_kv": _PARTIAL,
    "spirloom.dequantize": _QUANTIZED,
    "spirloom.embedding_bf16": _FAMILY,
    "spirloom.embedding_f8": _FLOAT8,
    "spirloom.embedding_w4": _QUANTIZED,
    "spirloom.embedding_w8": _QUANTIZED,
    "spirloom.gated_linear": _FAMILY,
    "spirloom.gated_linear_bf16": _FAMILY,
    "spirloom.gated_linear_f8": _FAMILY,
    "spirloom.gated_linear_w4": _FAMILY,
    "spirloom.gated_linear_w8": _FAMILY,
    "spirloom.linear_bf16": _FAMILY,
    "spirloom.linear_a8w4": _QUANTIZED,
    "spirloom.linear_a8w8": _QUANTIZED,
    "spirloom.linear_f8": _FLOAT8,
    "spirloom.linear_i8": _STATIC,
    "spirloom.linear_k_slices": _SLICES,
    "spirloom.linear_recurrence": "fused from unrolled loops: tests/fusion",
    "spirloom.linear_w4": _QUANTIZED,
    "spirloom.linear_w8": _QUANTIZED,
    "spirloom.local_response_norm": "PyTorch decomposes it: padding, average pooling, a division",
    "spirloom.lp_pool": "PyTorch decomposes it: powers and average pooling",
    "spirloom.nms": "imported from ONNX in tests/torch/test_onnx_nms.py",
    "spirloom.pack_channels": _LAYOUT,
    "spirloom.pack_column_tiles": _LAYOUT,
    "spirloom.pack_conv2d_weight": _LAYOUT,
    "spirloom.pack_filter_tiles": _LAYOUT,
    "spirloom.pack_filters": _LAYOUT,
    "spirloom.pack_linear_weight": _LAYOUT,
    "spirloom.pack_quantized": _LAYOUT,
    "spirloom.pack_quantized_activations": _LAYOUT,
    "spirloom.pack_recurrent_weight": _LAYOUT,
    "spirloom.pack_row_tiles": _LAYOUT,
    "spirloom.pack_stored_floats": _LAYOUT,
    "spirloom.last_points": _SCATTER,
    "spirloom.partial_argmax": _PARTIAL,
    "spirloom.partial_reduce": _PARTIAL,
    "spirloom.quantize": _QUANTIZED,
    "spirloom.rescale_i8": _STATIC,
    "spirloom.rotary_at_positions": _FAMILY,
    "spirloom.rotary_cache": _FAMILY,
    "spirloom.row_moments": _PARTIAL,
    "spirloom.sample_token": _FAMILY,
    "spirloom.scatter_blocks": _SCATTER,
    "spirloom.scatter_order": _SCATTER,
    "spirloom.scatter_sums": _SCATTER,
    "spirloom.softmax_parts": _PARTIAL,
    "spirloom.sort_blocks": _PARTIAL,
    "spirloom.sort_order": _PARTIAL,
    "spirloom.strided_attention": "fused from slices in tests/torch/test_patterns.py",
    "spirloom.tied_embedding": _FAMILY,
    "spirloom.topk_parts": _PARTIAL,
    "spirloom.topk_parts_refined": _PARTIAL,
    "spirloom.winograd_input": _STEP,
    "spirloom.winograd_gemm": _STEP,
    "spirloom.random_uniform": _DEVICE,
    "spirloom.strided_store": _DEVICE,
    "spirloom.winograd_weight": _STEP,
    **{name: _DEVICE for name in LIBRARY.ops if name.startswith("spirloom.int64_")},
}


def test_number_of_reached_operators() -> None:
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
    pytest.fail("\n".join(problems) or "the spec has no test call that PyTorch accepts")


def _problem(name: str, example: Example) -> str | None:
    """Why a module does not become the operator. Raises AssertionError for another result."""
    try:
        wanted = example.module(*example.inputs)
        exported = torch.export.export(example.module, example.inputs, strict=False)
    except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError) as error:
        return f"PyTorch: {error}"
    problem = ""
    # torch may decompose composite operators even if Spirloom supports them.
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
    ranges = {
        given.name: (-(1 << 20), 1 << 20)
        for given in program.inputs
        if given.kind == "user input"
        and given.name in program.metas
        and program.metas[given.name].dtype == "int64"
    }
    graph = import_program(program, IMPORTER, Options.of({}, ranges), {})
    used = {node.op for node in graph.nodes}
    optimize(graph, IMPORTER)
    return graph, used | {node.op for node in graph.nodes}


def _compare(graph: Graph, example: Example, wanted: Any) -> None:
    model = spirloom.load(graph_file.to_bytes(graph))
    by_name = dict(zip((t.name for t in graph.inputs), example.inputs, strict=True))
    arrays = {t.name: by_name[t.name].numpy().astype(t.dtype.numpy) for t in graph.inputs}
    found = model(**arrays)
    results = found if isinstance(found, tuple | list) else (found,)
    expected = wanted if isinstance(wanted, tuple | list) else (wanted,)
    for result, tensor in zip(results, expected, strict=False):
        np.testing.assert_allclose(
            np.asarray(result).astype(np.float64), tensor.numpy().astype(np.float64),
            rtol=1e-4, atol=1e-4,
        )  # fmt: skip
