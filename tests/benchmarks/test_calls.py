"""The benchmarked calls: every template has one, and the work per call is counted correctly."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.calls import NOT_TIMED, TABLES, Call, calls_of, library
from spec_model import Library, SpecError


@pytest.fixture(scope="module")
def ops() -> Library:
    return library()


@pytest.fixture(scope="module")
def calls(ops: Library) -> list[Call]:
    return [call for call, _ in calls_of(ops, TABLES)]


def test_every_template_is_timed(ops: Library, calls: list[Call]) -> None:
    used = {kernel.template.removesuffix(".glsl.j2") for op in ops.ops.values()
            for kernel in op.kernels}  # fmt: skip
    timed = {call.family for call in calls}
    missing = sorted(used - timed - set(NOT_TIMED))
    assert not missing, f"templates without a call in benchmarks/kernels.yaml: {missing}"
    assert not timed & set(NOT_TIMED)


def test_call_ids_are_unique(calls: list[Call]) -> None:
    assert len({call.id for call in calls}) == len(calls)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            "unary:\n  - {op: aten.nothing, call: {}}\n",
            ":2:10: error: Operator 'aten.nothing' has no spec.",
        ),
        (
            "binary:\n  - {op: aten.relu, call: {x: [4]}}\n",
            ":2:27: error: No kernel of aten.relu with template binary.glsl.j2 computes the "
            "call in f32 and buffer.",
        ),
        (
            "unary:\n  - {op: aten.relu, call: {x: [4]}, dtype: b8}\n",
            ":2:27: error: No kernel of aten.relu with template unary.glsl.j2 computes the call",
        ),
        ("unary:\n  - {op: aten.relu, call: {x: [4]}, size: 3}\n", "Key 'size' is unknown"),
    ],
)
def test_an_invalid_row_is_reported(ops: Library, tmp_path: Path, table: str, message: str) -> None:
    path = tmp_path / "calls.yaml"
    path.write_text(table, encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        list(calls_of(ops, (path,)))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("row", "count"),
    [
        ("{op: aten.mm, call: {a: [3, 5], b: [5, 7], kernel: mm}}", 3 * 5 * 7),
        ("{op: aten.linear, call: {x: [2, 5], weight: [7, 5], bias: [7]}}", 2 * 5 * 7),
        ("{op: aten.convolution, call: {x: [1, 4, 6, 6], weight: [8, 4, 3, 3], bias: null}}",
         8 * 4 * 4 * 4 * 9),
        ("{op: aten.convolution, call: {x: [1, 4, 6, 6], weight: [4, 1, 3, 3], bias: null, "
         "groups: 4}}", 4 * 4 * 4 * 9),
        ("{op: aten.conv_transpose2d.input, call: {x: [1, 4, 5, 5], weight: [4, 6, 2, 2], "
         "bias: null, stride: [2, 2]}}", 4 * 5 * 5 * 6 * 4),
        ("{op: aten.scaled_dot_product_attention, call: {query: [1, 2, 3, 4], "
         "key: [1, 2, 5, 4], value: [1, 2, 5, 6]}}", 2 * 3 * 5 * (4 + 6)),
        ("{op: spirloom.strided_attention, call: {query: [3, 8], key: [5, 8], value: [5, 12], "
         "batches: 1, heads: 2, kv_heads: 2, queries: 3, keys: 5, depth: 4, width: 6, "
         "query_strides: [0, 0, 4, 8], key_strides: [0, 0, 4, 8], value_strides: [0, 0, 6, 12]}}",
         2 * 3 * 5 * (4 + 6)),
        ("{op: aten.relu, call: {x: [4]}}", 0),
        ("{op: bench.multiply_add, call: {x: [4], rounds: 16}}", 4 * 16 * 8),
    ],
)  # fmt: skip
def test_multiply_adds_are_counted(ops: Library, tmp_path: Path, row: str, count: int) -> None:
    families = ("matmul", "matmul_subgroup", "conv2d_direct", "conv2d_depthwise_strip",
                "conv2d_transposed", "conv_transposed_nd", "attention", "unary", "conv2d_subgroup",
                "conv2d_depthwise", "multiply_add")  # fmt: skip
    found = set()
    for family in families:  # the template that supports the call
        path = tmp_path / "calls.yaml"
        path.write_text(f"{family}:\n  - {row}\n", encoding="utf-8")
        try:
            found |= {call.multiply_adds for call, _ in calls_of(ops, (path,))}
        except SpecError as error:
            assert "No kernel of" in str(error)
    assert found == {count}


def test_bytes_count_operands_and_results(calls: list[Call]) -> None:
    by_id = {call.id: call for call in calls}
    assert by_id["relu_f32_buffer/1x64x112x112"].bytes == 2 * 4 * 64 * 112 * 112
    load = by_id["load_f32_buffer/4096_rounds64_count65536"]
    assert load.bytes == 16 * 64 * 65536
    assert by_id["add_f16_buffer/1x64x112x112_1x64x112x112"].bytes == 3 * 2 * 64 * 112 * 112
