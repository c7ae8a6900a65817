"""The states of a language model: full, reset, saved and taken up, and those of two conversations
over the same weights."""

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
    folder = tmp_path_factory.mktemp("conversations")
    (folder / "m.gguf").write_bytes(file_bytes(tiny_metadata(), tiny_tensors()))
    graph_file.save(import_gguf(folder / "m.gguf", prompt=CHUNK), folder / "m.slg")
    return folder / "m.slg"


def loaded(runtime: spirloom.Runtime, path: Path, beside: spirloom.Model | None = None) -> Methods:
    """Both methods; `beside`: those of a second conversation over the weights of that one."""
    if beside is None:
        prefill = runtime.load(path, method="prefill")
    else:
        prefill = runtime.load(path, method="prefill", shares=beside, own_states=True)
    return prefill, runtime.load(path, method="decode", shares=prefill)


def read(methods: Methods, prompt: list[int]) -> None:
    for start in range(0, len(prompt), CHUNK):
        methods[0](np.array([prompt[start : start + CHUNK]], np.int32))


def said(methods: Methods, begin: int, count: int) -> list[int]:
    """Tokens behind `begin` others, the first of which the run before has chosen."""
    methods[1].submit_steps(count - 1).result()
    found: list[int] = methods[1].states["tokens"][begin : begin + count].tolist()
    return found


def alone(runtime: spirloom.Runtime, path: Path, prompt: list[int], count: int) -> list[int]:
    methods = loaded(runtime, path)
    read(methods, prompt)
    return said(methods, len(prompt), count)


def copied(model: spirloom.Model) -> dict[str, Array]:
    return {name: value.copy() for name, value in model.states.items()}


def test_a_saved_conversation_goes_on_elsewhere(
    runtime: spirloom.Runtime, path: Path, tmp_path: Path
) -> None:
    wanted = alone(runtime, path, PROMPT, 12)
    first = loaded(runtime, path)
    read(first, PROMPT)
    assert said(first, len(PROMPT), 5) == wanted[:5]
    np.savez(tmp_path / "kept.npz", **first[0].states)
    for beside in (None, first[0]):
        second = loaded(runtime, path, beside)
        with np.load(tmp_path / "kept.npz") as kept:
            assert set(kept) == set(second[0].states)
            for name in kept:
                second[0].states[name] = kept[name]
        assert second[1].states["position"].tolist() == [len(PROMPT) + 4]
        second[1].submit_steps(7).result()
        tokens = second[1].states["tokens"]
        assert tokens[len(PROMPT) : len(PROMPT) + 12].tolist() == wanted


def test_two_conversations_over_the_same_weights(runtime: spirloom.Runtime, path: Path) -> None:
    wanted = [alone(runtime, path, prompt, 9) for prompt in (PROMPT, OTHER)]
    assert wanted[0] != wanted[1]
    first = loaded(runtime, path)
    second = loaded(runtime, path, first[0])
    assert first[0].stats.constant_bytes > 0
    assert second[0].stats.constant_bytes == second[1].stats.constant_bytes == 0
    assert second[0].stats.state_bytes == first[0].stats.state_bytes
    for methods, prompt in zip((first, second), (PROMPT, OTHER), strict=True):
        read(methods, prompt)
    for _ in range(8):  # in turns
        for methods in (first, second):
            methods[1].submit_steps(1).result()
    found = [
        methods[1].states["tokens"][len(prompt) : len(prompt) + 9].tolist()
        for methods, prompt in zip((first, second), (PROMPT, OTHER), strict=True)
    ]
    assert found == wanted


def test_a_reset_is_of_both_methods_and_of_one_conversation(
    runtime: spirloom.Runtime, path: Path
) -> None:
    first = loaded(runtime, path)
    second = loaded(runtime, path, first[0])
    new = copied(first[0])
    for methods in (first, second):
        read(methods, PROMPT)
    wanted = said(first, len(PROMPT), 6)
    first[1].reset_states()
    for name, value in new.items():
        np.testing.assert_array_equal(first[0].states[name], value)
    assert said(second, len(PROMPT), 6) == wanted, "the other one goes on"
    read(first, PROMPT)
    assert said(first, len(PROMPT), 6) == wanted


def test_steps_beyond_a_full_context_harm_nothing(runtime: spirloom.Runtime, path: Path) -> None:
    """Rows and tokens that are in it stay as they are, and a reset begins anew."""
    wanted = alone(runtime, path, PROMPT, CONTEXT - len(PROMPT))
    methods = loaded(runtime, path)
    read(methods, PROMPT)
    assert said(methods, len(PROMPT), CONTEXT - len(PROMPT)) == wanted
    methods[1].submit_steps(1).result()  # the last token's own row
    full = copied(methods[1])
    assert full["position"].tolist() == [CONTEXT]
    methods[1].submit_steps(3).result()
    methods[0](np.array([PROMPT[:CHUNK]], np.int32))
    for name, value in methods[1].states.items():
        if name.startswith(("keys.", "values.", "tokens")):
            np.testing.assert_array_equal(value, full[name], name)
    methods[0].reset_states()
    read(methods, PROMPT)
    assert said(methods, len(PROMPT), CONTEXT - len(PROMPT)) == wanted
