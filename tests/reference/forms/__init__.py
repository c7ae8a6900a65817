"""PyTorch's operators as functions of our args, where its own take other ones."""

from __future__ import annotations

from tests.reference.forms import (
    caches,
    indexing,
    layers,
    pointwise,
    quantised,
    reductions,
    resampling,
)

FORMS = (
    pointwise.FORMS
    | reductions.FORMS
    | layers.FORMS
    | indexing.FORMS
    | resampling.FORMS
    | quantised.FORMS
    | caches.FORMS
)

# Why nothing in PyTorch is the same; their own tests compare them with what they stand for.
NO_COUNTERPART = {
    "spirloom.choose_qparams": "torchao's; tests/torch/test_quantised.py compares with it",
    "spirloom.copy": "moves between storages, which PyTorch does not have",
    "spirloom.gru_layer": "part of a layer; the importer's tests compare whole ones with torch.nn",
    "spirloom.lstm_layer": "as spirloom.gru_layer",
    "spirloom.pack_channels": "the layout of our own kernels",
    "spirloom.pack_column_tiles": "the layout of our own kernels",
    "spirloom.pack_conv2d_weight": "the layout of our own kernels",
    "spirloom.pack_filters": "the layout of our own kernels",
    "spirloom.pack_linear_weight": "the layout of our own kernels",
    "spirloom.pack_quantised": "the layout of our own kernels",
    "spirloom.pack_quantised_rows": "the layout of our own kernels",
    "spirloom.pack_recurrent_weight": "the layout of our own kernels",
    "spirloom.pack_row_tiles": "the layout of our own kernels",
    "spirloom.rnn_layer": "as spirloom.gru_layer",
    "spirloom.winograd_input": "a step of Winograd's convolution, which is compared as a whole",
    "spirloom.winograd_product": "as spirloom.winograd_input",
    "spirloom.winograd_weight": "as spirloom.winograd_input",
}
