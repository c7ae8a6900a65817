"""PyTorch's counterparts of operators whose arguments differ, as functions of the spec's args."""

from __future__ import annotations

from tests.reference.counterparts import (
    indexing,
    int64,
    kv_cache,
    layers,
    pointwise,
    quantized,
    reductions,
    resampling,
)

COUNTERPARTS = (
    pointwise.COUNTERPARTS
    | reductions.COUNTERPARTS
    | layers.COUNTERPARTS
    | indexing.COUNTERPARTS
    | int64.COUNTERPARTS
    | resampling.COUNTERPARTS
    | quantized.COUNTERPARTS
    | kv_cache.COUNTERPARTS
)

# Operators without a counterpart in PyTorch, and the reason. Other tests cover them.
NO_COUNTERPART = {
    "spirloom.choose_qparams": "an operator of torchao; tests/torch/test_quantized.py compares it",
    "spirloom.convolution_k_slices": "sums of a convolution, which is compared end to end",
    "spirloom.copy": "copies between storages, which PyTorch does not have",
    "spirloom.gru_layer": "part of a layer; the importer's tests compare layers with torch.nn",
    "spirloom.linear_k_slices": "sums of a linear layer, which is compared end to end",
    "spirloom.linear_recurrence": "tests/fusion compares it with the unrolled loop",
    "spirloom.lstm_layer": "as spirloom.gru_layer",
    "spirloom.nms": "an operator of torchvision; tests/torch/test_onnx_nms.py compares it",
    "spirloom.pack_channels": "a weight layout of Spirloom's kernels",
    "spirloom.pack_column_tiles": "a weight layout of Spirloom's kernels",
    "spirloom.pack_conv2d_weight": "a weight layout of Spirloom's kernels",
    "spirloom.pack_filter_tiles": "a weight layout of Spirloom's kernels",
    "spirloom.pack_filters": "a weight layout of Spirloom's kernels",
    "spirloom.pack_linear_weight": "a weight layout of Spirloom's kernels",
    "spirloom.pack_quantized": "a weight layout of Spirloom's kernels",
    "spirloom.pack_quantized_activations": "a weight layout of Spirloom's kernels",
    "spirloom.pack_recurrent_weight": "a weight layout of Spirloom's kernels",
    "spirloom.pack_row_tiles": "a weight layout of Spirloom's kernels",
    "spirloom.pack_stored_floats": "a weight layout of Spirloom's kernels",
    "spirloom.random_uniform": "a generator of its own; test_sampling.py has known values",
    "spirloom.rnn_layer": "as spirloom.gru_layer",
    "spirloom.winograd_input": "a step of the Winograd convolution, which is compared end to end",
    "spirloom.winograd_gemm": "as spirloom.winograd_input",
    "spirloom.winograd_weight": "as spirloom.winograd_input",
}
