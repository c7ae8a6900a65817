"""The activation functions that other operators fuse: the rows of activations.inc."""

from __future__ import annotations

from enum import IntEnum

from spec_model.table import rows


class Activation(IntEnum):
    """The codes of the argument `activation` of layers."""

    # Rows of activations.inc: {id} = {code}
    NONE = 0
    RELU = 1
    CLAMP = 2
    HARDSWISH = 3
    HARDSIGMOID = 4
    SIGMOID = 5
    SILU = 6
    TANH = 7
    LEAKY_RELU = 8
    GELU = 9
    GELU_TANH = 10
    # End of rows.


class RnnActivation(IntEnum):
    """The codes of the activations of recurrent cells."""

    # Rows SPIRLOOM_RNN_ACTIVATION of activations.inc: {id} = {code}
    SIGMOID = 0
    TANH = 1
    RELU = 2
    HARD_SIGMOID = 3
    SOFTSIGN = 4
    SOFTPLUS = 5
    ELU = 6
    LEAKY_RELU = 7
    # End of rows.


_ROWS = rows("activations.inc", "SPIRLOOM_ACTIVATION")
_RNN_ROWS = rows("activations.inc", "SPIRLOOM_RNN_ACTIVATION")

# Operator without further arguments → the activation that it computes.
ACTIVATION_OF_OP = {row["op"]: Activation(int(row["code"])) for row in _ROWS if row["op"]}
# Name in ONNX → activation of a cell.
ACTIVATION_OF_ONNX = {row["onnx"]: RnnActivation(int(row["code"])) for row in _RNN_ROWS}

# Name → code, for templates.
ACTIVATION_CODES = {row["name"]: int(row["code"]) for row in _ROWS}
RNN_ACTIVATION_CODES = {row["name"]: int(row["code"]) for row in _RNN_ROWS}
