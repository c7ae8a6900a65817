"""The states of a language model: full context, reset, save and restore, and two conversations
with shared weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import spirloom
from spirloom import graph_file
from spirloom.gguf import import_gguf
from spirloom.ir import Array

from tests.frontend.gguf_writer import SIZES, file_bytes, tiny_metadata, tiny_tensors

CONTEXT, CHUNK = SIZES["context_length"], 4
PROMPT, OTHER = [3, 1, 4, 15, 9, 2], [8, 30, 7, 9]
Methods = tuple[spirloom.Model, spirloom.Model]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("conversations")
    (directory / "m.gguf").write_bytes(file_bytes(tiny_metadata(), tiny_tensors()))
    graph_file.save(import_gguf(directory / "m.gguf", max_prefill=CHUNK), directory / "m.slg")
    return directory / "m.slg"


def loaded(runtime: spirloom.Runtime, path: Path, other: spirloom.Model | None = None) -> Methods:
    """Both methods. With `other`, a second conversation that shares the weights of `other`."""
    prefill = runtime.load(path, method="prefill") if other is None else other.context()
    return prefill, prefill.context("decode", share_states=True)


def read(methods: Methods, prompt: list[int]) -> None:
    for start in range(0, len(prompt), CHUNK):
        methods[0](np.array([prompt[start : start + CHUNK]], np.int32))


def generated(methods: Methods, begin: int, count: int) -> list[int]:
    """`count` tokens from index `begin`; the first one was chosen by the previous run."""
    methods[1].submit_repeated(count - 1).result()
    found: list[int] = methods[1].states["tokens"][begin : begin + count].tolist()
    return found


def alone(runtime: spirloom.Runtime, path: Path, prompt: list[int], count: int) -> list[int]:
    methods = loaded(runtime, path)
    read(methods, prompt)
    return generated(methods, len(prompt), count)


def copied(model: spirloom.Model) -> dict[str, Array]:
    return {name: value.copy() for name, value in model.states.items()}


def test_a_saved_conversation_continues_in_another_model(
    runtime: spirloom.Runtime, path: Path, tmp_path: Path
) -> None:
    expected = alone(runtime, path, PROMPT, 12)
    first = loaded(runtime, path)
    read(first, PROMPT)
    assert generated(first, len(PROMPT), 5) == expected[:5]
    np.savez(tmp_path / "kept.npz", **first[0].states)  # type: ignore[arg-type]
    for other in (None, first[0]):
        second = loaded(runtime, path, other)
        with np.load(tmp_path / "kept.npz") as kept:
            assert set(kept) == set(second[0].states)
            for name in kept:
                second[0].states[name] = kept[name]
        assert second[1].states["position"].tolist() == [len(PROMPT) + 4]
        second[1].submit_repeated(7).result()
        tokens = second[1].states["tokens"]
        assert tokens[len(PROMPT) : len(PROMPT) + 12].tolist() == expected


def test_two_conversations_share_weights(runtime: spirloom.Runtime, path: Path) -> None:
    expected = [alone(runtime, path, prompt, 9) for prompt in (PROMPT, OTHER)]
    assert expected[0] != expected[1]
    first = loaded(runtime, path)
    second = loaded(runtime, path, first[0])
    assert first[0].stats.constant_bytes > 0
    assert second[0].stats.constant_bytes == second[1].stats.constant_bytes == 0
    assert second[0].stats.state_bytes == first[0].stats.state_bytes
    for methods, prompt in zip((first, second), (PROMPT, OTHER), strict=True):
        read(methods, prompt)
    for _ in range(8):  # alternating
        for methods in (first, second):
            methods[1].submit_repeated(1).result()
    found = [
        methods[1].states["tokens"][len(prompt) : len(prompt) + 9].tolist()
        for methods, prompt in zip((first, second), (PROMPT, OTHER), strict=True)
    ]
    assert found == expected


def test_a_reset_affects_both_methods_and_one_conversation(
    runtime: spirloom.Runtime, path: Path
) -> None:
    first = loaded(runtime, path)
    second = loaded(runtime, path, first[0])
    new = copied(first[0])
    for methods in (first, second):
        read(methods, PROMPT)
    expected = generated(first, len(PROMPT), 6)
    first[1].reset_states()
    for name, value in new.items():
        np.testing.assert_array_equal(first[0].states[name], value)
    assert generated(second, len(PROMPT), 6) == expected, "the other conversation is unaffected"
    read(first, PROMPT)
    assert generated(first, len(PROMPT), 6) == expected


def test_steps_beyond_a_full_context_change_nothing(runtime: spirloom.Runtime, path: Path) -> None:
    """The KV cache and the tokens remain unchanged, and a reset starts a new conversation."""
    expected = alone(runtime, path, PROMPT, CONTEXT - len(PROMPT))
    methods = loaded(runtime, path)
    read(methods, PROMPT)
    assert generated(methods, len(PROMPT), CONTEXT - len(PROMPT)) == expected
    methods[1].submit_repeated(1).result()  # the KV-cache entry of the last token
    full = copied(methods[1])
    assert full["position"].tolist() == [CONTEXT]
    methods[1].submit_repeated(3).result()
    methods[0](np.array([PROMPT[:CHUNK]], np.int32))
    for name, value in methods[1].states.items():
        if name.startswith(("k_cache.", "v_cache.", "tokens")):
            np.testing.assert_array_equal(value, full[name], name)
    methods[0].reset_states()
    read(methods, PROMPT)
    assert generated(methods, len(PROMPT), CONTEXT - len(PROMPT)) == expected
