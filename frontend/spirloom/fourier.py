"""Discrete Fourier transforms as real matrices: a transform is a linear layer.

A complex value is a pair of numbers, next to each other.
"""

from __future__ import annotations

import numpy as np

from spirloom.ir import Array


def dft_matrix(length: int, outputs: int, parts: int, inverse: bool = False) -> Array:
    """The first `outputs` of the DFT of `length` values, [outputs · 2, length · parts], unscaled.
    `parts` is 1 for real input, 2 for complex input.
    """
    factor = np.exp((2j if inverse else -2j) * np.pi * _phase(outputs, length, length))
    of_real = np.stack([factor.real, factor.imag], axis=1)
    of_imaginary = np.stack([-factor.imag, factor.real], axis=1)
    matrix = np.stack([of_real, of_imaginary][:parts], axis=-1)
    return np.asarray(matrix.reshape(outputs * 2, length * parts))


def real_inverse_matrix(length: int, inputs: int) -> Array:
    """The inverse DFT to `length` real values, unscaled, [length, inputs · 2], from the first
    `inputs` = length // 2 + 1 values: the others are their conjugates.
    """
    phase = 2 * np.pi * _phase(length, inputs, length)
    times = np.full(inputs, 2.0)
    times[0] = 1
    if length % 2 == 0:
        times[-1] = 1
    pairs = np.stack([np.cos(phase) * times, -np.sin(phase) * times], axis=-1)
    return np.asarray(pairs.reshape(length, inputs * 2))


def _phase(rows: int, columns: int, length: int) -> Array:
    """row · column / length, without its integer part, exact before the division."""
    return np.asarray(np.outer(np.arange(rows), np.arange(columns)) % length / length)
