"""Programs with damaged delegates or unknown operators are rejected with a message."""

from __future__ import annotations

import random

import pytest
import spirloom.executorch
import torch

from tests.executorch.programs import Lowered, Module, load


@pytest.fixture(scope="module")
def program() -> bytes:
    module = Module(lambda x, y: torch.relu(x + y) * 2.0)
    return Lowered(module, (torch.randn(2, 3), torch.randn(2, 3))).buffer


def test_an_unknown_operator(program: bytes) -> None:
    assert program.count(b"aten.relu.default\0") == 1
    with pytest.raises(RuntimeError, match=r"Operator 'aten\.rely' is not in the library"):
        load(program.replace(b"aten.relu.default\0", b"aten.rely.default\0"))


def test_another_format(program: bytes) -> None:
    with pytest.raises(RuntimeError, match="'VH00' is missing"):
        load(program.replace(b"VH00", b"VH99"))
    with pytest.raises(RuntimeError, match="verification as 'VK00' fails"):
        load(program.replace(b"VK00", b"VK99"))


def test_damaged_bytes(program: bytes) -> None:
    start = program.index(b"VH00") - 4
    size = 32 + int.from_bytes(program[start + 14 : start + 18], "little")
    chance = random.Random(1)
    rejected = 0
    for _ in range(400):
        damaged = bytearray(program)
        for _ in range(chance.randint(1, 3)):
            damaged[start + chance.randrange(size)] = chance.randrange(256)
        try:
            load(bytes(damaged))
        except RuntimeError:
            rejected += 1
            assert spirloom.executorch.last_error()
    assert rejected > 40
