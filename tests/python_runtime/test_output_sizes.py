"""The attachment of sizes that depend on the data: files of untrusted origin."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest
from spirloom.runtime import InvalidFile
from spirloom.runtime.output_sizes import OutputSizes, parse_output_sizes
from spirloom.runtime.tensors import TensorInfo


def info(name: str, shape: tuple[int, ...], dtype: str) -> TensorInfo:
    return TensorInfo(name, np.dtype(dtype), shape, tuple(map(str, shape)), 4, 0, 0)


OUTPUTS = (info("y", (2, 6), "int64"), info("count", (), "int32"), info("z", (3,), "float32"))


def test_a_valid_attachment() -> None:
    assert parse_output_sizes(b'{"y": [1, "count"]}', OUTPUTS) == OutputSizes(((0, 1, 1),))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[", "is no JSON"),
        ("[" * 100_000, "is no JSON"),
        ("[]", "is not an object"),
        ("null", "is not an object"),
        ('{"nope": [0, "count"]}', "names 'nope', which is not an output"),
        ('{"y": 5}', r"has '5' for 'y'; expected \[axis, output\]"),
        ('{"y": [0.5, "count"]}', "expected"),
        ('{"y": [true, "count"]}', "expected"),
        ('{"y": [0, 1]}', "expected"),
        ('{"y": [-1, "count"]}', "has axis -1 for 'y' of rank 2"),
        ('{"y": [1000000000, "count"]}', "has axis 1000000000 for 'y' of rank 2"),
        ('{"y": [1, "nope"]}', "names 'nope', which is not an output"),
        ('{"y": [1, "y"]}', "names 'y' as a size, which is y: int64"),
        ('{"y": [1, "z"]}', "expected one integer"),
    ],
)
def test_damaged_attachments_are_refused(text: str, reason: str) -> None:
    with pytest.raises(InvalidFile, match=reason):
        parse_output_sizes(text.encode(), OUTPUTS)


def test_random_attachments_are_read_or_refused() -> None:
    choose = random.Random(1)
    words = [b"{", b"}", b"[", b"]", b",", b":", b'"y"', b'"count"', b"0", b"1", b"-1", b"null"]
    for _ in range(2000):
        text = b"".join(choose.choices(words, k=choose.randrange(1, 9)))
        try:
            read = parse_output_sizes(text, OUTPUTS)
        except InvalidFile:
            continue
        assert isinstance(json.loads(text), dict)
        arrays = [np.zeros((2, 6)), np.array(3), np.zeros(3)]
        assert len(read.cut(arrays)) <= 3
