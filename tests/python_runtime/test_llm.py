"""spirloom.LLM: text generation with greedy decoding and sampling."""

from __future__ import annotations

import dataclasses
import json
import random
import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import spirloom
from spirloom import graph_file, graph_reader
from spirloom.gguf import import_gguf
from spirloom.llm import Sampling, language_model
from spirloom.llm.import_cache import imported
from spirloom.llm.prefill_chunks import Chunk, PrefillLimits, next_chunk
from spirloom.llm.text import StreamDecoder, parse_tokenizer
from spirloom.runtime import FileMissing, InvalidArgument, InvalidFile, Unavailable, Unsupported

from tests.frontend.gguf_writer import SIZES, file_bytes, tiny_metadata, tiny_tensors
from tests.python_runtime.conftest import relu_graph, spirloom_run

PROMPT = [3, 1, 4, 15, 9, 2]
CONTEXT = SIZES["context_length"]


class Letters:
    """A tokenizer with one letter per token."""

    def encode(self, text: str) -> Sequence[int]:
        return [ord(letter) - ord("A") for letter in text]

    def decode(self, tokens: Sequence[int]) -> str:
        return "".join(chr(ord("A") + token) for token in tokens)


class Recorded:
    """A model that records the lengths of its runs."""

    def __init__(self, model: spirloom.Model, lengths: set[int]) -> None:
        self._model = model
        self._lengths = lengths

    def __call__(self, tokens: npt.NDArray[np.int32]) -> Sequence[Any]:
        self._lengths.add(tokens.shape[1])
        return self._model(tokens)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)


class Bytes:
    """A tokenizer with one byte per token."""

    def encode(self, text: str) -> Sequence[int]:
        return list(text.encode())

    def decode(self, tokens: Sequence[int]) -> str:
        return bytes(tokens).decode(errors="replace")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("llm")
    (directory / "m.gguf").write_bytes(file_bytes(tiny_metadata(), tiny_tensors()))
    graph_file.save(import_gguf(directory / "m.gguf", max_prefill=4), directory / "m.slg")
    return directory / "m.slg"


@pytest.fixture(scope="module")
def llm(runtime: spirloom.Runtime, path: Path) -> spirloom.LLM:
    return spirloom.LLM(path, tokenizer=Letters(), runtime=runtime)


def test_greedy_tokens_have_the_maximum_logits(
    llm: spirloom.LLM, runtime: spirloom.Runtime, path: Path
) -> None:
    """Compared with a prefill of all previous tokens, without the KV cache of decoding."""
    prefill, expected = runtime.load(path, method="prefill"), list(PROMPT)
    while len(expected) < CONTEXT:
        prefill.reset_states()
        for start in range(0, len(expected), 4):
            (scores,) = prefill(np.array([expected[start : start + 4]], np.int32))
        expected.append(int(scores[0].argmax()))
    assert len(set(expected[len(PROMPT) :])) > 3
    count = CONTEXT - len(PROMPT)
    assert list(llm.generate_tokens(PROMPT, tokens=count)) == expected[len(PROMPT) :]
    for fewer in (1, 2, 9):
        assert list(llm.generate_tokens(PROMPT, tokens=fewer)) == expected[len(PROMPT) :][:fewer]
    almost = Sampling(temperature=1e-6, seed=1)
    assert list(llm.generate_tokens(PROMPT, tokens=count, sampling=almost)) == expected[-count:]
    text = "".join(llm.generate(Letters().decode(PROMPT), tokens=count))
    assert text == Letters().decode(expected[len(PROMPT) :])


def test_models_are_imported_on_first_use(
    llm: spirloom.LLM,
    runtime: spirloom.Runtime,
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    source, expected = path.with_suffix(".gguf"), list(llm.generate_tokens(PROMPT, tokens=5))

    def cached() -> list[Path]:
        return sorted((tmp_path / "spirloom/models").glob("*.slg"))

    def generated(context: int | None = None) -> list[int]:
        made = spirloom.LLM(source, tokenizer=Letters(), runtime=runtime, context=context)
        assert made.context == (context or CONTEXT)
        return list(made.generate_tokens(PROMPT, tokens=5))

    assert generated() == expected
    (first,) = cached()
    written = first.stat().st_mtime_ns
    assert generated() == expected and cached()[0].stat().st_mtime_ns == written
    assert generated(context=16) == expected
    assert len(cached()) == 2, "the options are part of the key"
    copy = tmp_path / "copy.gguf"
    copy.write_bytes(source.read_bytes())
    assert imported(copy) == first, "the name is not"
    changed = bytearray(copy.read_bytes())
    changed[-1] ^= 1
    copy.write_bytes(changed)
    assert imported(copy) != first
    with pytest.raises(InvalidArgument, match="whose context is set when it is imported"):
        spirloom.LLM(path, runtime=runtime, context=16)
    assert "no attachment 'tokenizer.json'" in spirloom_run(tmp_path, source, "-p", "w1", code=2)


@pytest.mark.parametrize("can_pad", [True, False])
def test_prompts_of_all_lengths_have_few_prefill_shapes(
    runtime: spirloom.Runtime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, can_pad: bool
) -> None:
    """Compared with runs of one token each."""
    (tmp_path / "m.gguf").write_bytes(file_bytes(tiny_metadata(), tiny_tensors()))
    graph_file.save(import_gguf(tmp_path / "m.gguf", max_prefill=20), tmp_path / "m.slg")
    llm = spirloom.LLM(tmp_path / "m.slg", runtime=runtime)
    limits = dataclasses.replace(llm._limits, can_pad=can_pad)
    monkeypatch.setattr(llm, "_limits", limits)
    prompt = [(7 * i * i + 3) % 40 for i in range(CONTEXT)]
    single, expected = runtime.load(tmp_path / "m.slg", method="prefill"), []
    for token in prompt:
        (scores,) = single(np.array([[token]], np.int32))
        expected.append(int(scores[0].argmax()))
    lengths: set[int] = set()
    monkeypatch.setattr(llm, "_prefill", Recorded(llm._prefill, lengths))
    for count in range(1, CONTEXT):
        assert list(llm.generate_tokens(prompt[:count], tokens=1)) == [expected[count - 1]]
    at_the_end = {2}  # padding would exceed the context
    assert lengths == ({8, 16, 20} | at_the_end if can_pad else {2, 4, 8, 16, 20})


def test_chunks_of_a_prompt() -> None:
    limits = PrefillLimits(max_prefill=512, context=1024, can_pad=True)
    assert next_chunk(700, 0, limits) == Chunk(512, 512)
    assert next_chunk(188, 512, limits) == Chunk(187, 256)
    assert next_chunk(1, 699, limits) == Chunk(1, 0)
    assert next_chunk(64, 0, limits) == Chunk(64, 64)
    assert next_chunk(3, 0, limits) == Chunk(2, 8)
    assert next_chunk(20, 1000, limits) == Chunk(16, 16), "padding exceeds the context"
    exact = dataclasses.replace(limits, can_pad=False)
    assert next_chunk(188, 512, exact) == Chunk(128, 128)


def test_a_seed_repeats_a_text(llm: spirloom.LLM) -> None:
    def text(**how: float) -> str:
        return "".join(llm.generate("ABC", tokens=16, **how))  # type: ignore[arg-type]

    hot = text(temperature=2.0, seed=1)
    assert hot == text(temperature=2.0, seed=1) != text(temperature=2.0, seed=2)
    assert text(temperature=2.0, seed=1, top_k=1) == text()
    wide = (-1, 1 << 31, (1 << 63) - 1, -(1 << 63))
    assert len({text(temperature=9.0, seed=seed) for seed in (*wide, *wide)}) == len(wide)
    assert text(temperature=2.0, seed=1, top_p=1e-9) == text()


def test_a_text_ends_at_a_stop_token(llm: spirloom.LLM) -> None:
    whole = list(llm.generate_tokens(PROMPT, tokens=12))
    last = next(token for token in whole[3:] if whole.index(token) >= 3)
    found = list(llm.generate_tokens(PROMPT, tokens=12, stop={last}))
    assert found == whole[: whole.index(last)]
    abandoned = llm.generate_tokens(PROMPT, tokens=12)
    assert list(islice(abandoned, 2)) == whole[:2], "an abandoned generator"
    assert list(llm.generate_tokens(PROMPT, tokens=12)) == whole


def test_invalid_arguments_are_rejected_immediately(llm: spirloom.LLM) -> None:
    message = "A prompt of 6 tokens and 19 new tokens exceed the context of 24. Request fewer"
    with pytest.raises(InvalidArgument, match=message):
        llm.generate_tokens(PROMPT, tokens=19)
    with pytest.raises(InvalidArgument, match=r"token 40 is not in 0 … 39. The tokenizer"):
        llm.generate_tokens([1, 40, -1])
    with pytest.raises(InvalidArgument, match="The prompt is empty"):
        llm.generate("")
    with pytest.raises(InvalidArgument, match=r"tokens \(0\) must be at least 1"):
        llm.generate("A", tokens=0)
    with pytest.raises(InvalidArgument, match=r"top_p \(0\) must be above 0 and at most 1"):
        llm.generate("A", top_p=0)
    with pytest.raises(InvalidArgument, match=r"temperature \(-1\) must be between 0 and 3.40"):
        llm.generate("A", temperature=-1)
    with pytest.raises(
        InvalidArgument, match=r"top_k \(-1\) must be between 0, for all tokens, and"
    ):
        llm.generate("A", top_k=-1)
    with pytest.raises(InvalidArgument, match="must be between -9223372036854775808 and 92"):
        llm.generate("A", seed=1 << 63)


def test_graphs_that_are_not_language_models(
    runtime: spirloom.Runtime, path: Path, tmp_path: Path
) -> None:
    with pytest.raises(InvalidFile, match=r"m.slg has no attachment tokenizer.json. Import the"):
        spirloom.LLM(path, runtime=runtime).generate("A")
    with pytest.raises(FileMissing, match="There is no .*no.json"):
        spirloom.LLM(path, tokenizer=tmp_path / "no.json", runtime=runtime).generate("A")
    graphs = graph_reader.load_methods(path)
    for state in (state for graph in graphs for state in graph.states):
        state.tensor.name = state.tensor.name.replace("top_k", "other")
    graph_file.save(graphs, tmp_path / "old.slg")
    with pytest.raises(
        InvalidFile, match="old.slg is not a language model: it has no state 'top_k"
    ):
        spirloom.LLM(tmp_path / "old.slg", runtime=runtime)
    (tmp_path / "relu.slg").write_bytes(relu_graph())
    with pytest.raises(spirloom.SpirloomError, match="prefill"):
        spirloom.LLM(tmp_path / "relu.slg", runtime=runtime)


def test_samples_follow_the_softmax_of_the_logits(
    llm: spirloom.LLM, runtime: spirloom.Runtime, path: Path
) -> None:
    """The first tokens of many seeds follow the softmax of the logits of a two-chunk prompt."""
    prefill = runtime.load(path, method="prefill")
    for part in (PROMPT[:4], PROMPT[4:]):
        ((scores,),) = prefill(np.array([part], np.int32))
    scores = scores.astype(np.float64)
    order = np.argsort(-scores)
    draws = 400

    def shares(sampling: dict[str, Any], kept: int) -> None:
        weights = np.exp((scores - scores.max()) / sampling["temperature"])
        expected = np.zeros_like(weights)
        expected[order[:kept]] = weights[order[:kept]] / weights[order[:kept]].sum()
        found = np.zeros_like(expected)
        for seed in range(draws):
            how = Sampling(**sampling, seed=seed)
            found[list(llm.generate_tokens(PROMPT, tokens=1, sampling=how))] += 1 / draws
        assert (found[expected == 0] == 0).all(), "excluded tokens are never sampled"
        assert np.abs(found - expected).max() < 5 * 0.5 / np.sqrt(draws)
        assert np.abs(found - expected).sum() < 0.5 and (found > 0).sum() > 1

    probabilities = np.exp(scores[order] - scores.max())
    probabilities /= probabilities.sum()
    shares({"temperature": 1.0}, len(scores))
    shares({"temperature": 2.0, "top_k": 3}, 3)
    two = float(probabilities[0] + probabilities[1] / 2)
    shares({"temperature": 1.0, "top_p": two}, 2)


def test_sampled_tokens_are_the_states(llm: spirloom.LLM) -> None:
    """Sampled tokens are stored in the state `tokens`, and decoding continues from them."""
    how = Sampling(temperature=2.0, seed=4)
    found = list(llm.generate_tokens(PROMPT, tokens=13, sampling=how))
    again = list(llm.generate_tokens([*PROMPT, *found[:5]], tokens=8, sampling=how))
    assert again == found[5:], "samples depend only on seed and position"
    different = {tuple(llm.generate_tokens(PROMPT, tokens=13, sampling=Sampling(2.0)))
                 for _ in range(3)}  # fmt: skip
    assert len(different) == 3, "without a seed each text differs"


def test_common_prefixes_of_prompts_are_reused(
    llm: spirloom.LLM, runtime: spirloom.Runtime, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tokens are the same as without reuse."""
    reusing = spirloom.LLM(path, tokenizer=Letters(), runtime=runtime, reuse=True)
    read: list[int] = []

    def recording(remaining: int, position: int, limits: PrefillLimits) -> Chunk:
        chunk = next_chunk(remaining, position, limits)
        read.extend(range(position, position + chunk.tokens))
        return chunk

    def check(prompt: list[int], tokens: int, count: int, how: Sampling, unread: int) -> None:
        expected = list(llm.generate_tokens(prompt, tokens=tokens, sampling=how))[:count]
        with monkeypatch.context() as patched:
            patched.setattr(language_model, "next_chunk", recording)
            found = list(
                islice(reusing.generate_tokens(prompt, tokens=tokens, sampling=how), count)
            )
        assert found == expected, prompt
        assert read == list(range(unread, len(prompt)))
        read.clear()

    greedy, drawn = Sampling(), Sampling(temperature=2.0, seed=3)
    generated = list(llm.generate_tokens(PROMPT, tokens=12))
    check(PROMPT, 12, 12, greedy, 0)
    check(PROMPT, 12, 12, greedy, len(PROMPT) - 1)
    check(
        [*PROMPT, *generated, 7], 3, 3, drawn, len(PROMPT) + 11
    )  # the last token has no KV-cache entry
    check([*PROMPT[:4], 8, 9], 12, 2, greedy, 4)  # abandoned after two tokens
    check([*PROMPT[:4], 8, 9, 30], 9, 9, drawn, 6)
    check([5], 4, 4, greedy, 0)
    choose, before = random.Random(2), [5]
    for _ in range(40):
        prompt = [*before[: choose.randrange(len(before) + 1)], *choose.choices(range(40), k=2)]
        how = Sampling(temperature=choose.choice((0.0, 2.0)), seed=1)
        expected = list(llm.generate_tokens(prompt, tokens=6, sampling=how))
        found = list(reusing.generate_tokens(prompt, tokens=6, sampling=how))
        assert found == expected
        before = [*prompt, *found][:14]


CHAT = {
    "beginning": "A", "system": {"before": "B", "after": "C"},
    "user": {"before": "D", "after": "E"}, "assistant": {"before": "F", "after": "G"},
    "generate": "H", "trim": True,
}  # fmt: skip


def with_configuration(path: Path, directory: Path, configuration: dict[str, Any] | bytes) -> Path:
    """The same model with another chat configuration."""
    graphs = graph_reader.load_methods(path)
    data = configuration if isinstance(configuration, bytes) else json.dumps(configuration).encode()
    graphs[0].attachments = {"language_model.json": data}
    graph_file.save(graphs, directory / "with.slg")
    return directory / "with.slg"


def test_the_file_defines_end_tokens_and_chat_template(
    llm: spirloom.LLM, runtime: spirloom.Runtime, path: Path, tmp_path: Path
) -> None:
    talk = [("system", " I "), ("user", "J"), ("assistant", "K"), ("user", "L\n")]
    messages = [{"role": role, "content": content} for role, content in talk]
    how: dict[str, Any] = {"tokens": 9, "temperature": 3.0, "seed": 2}
    expected = "".join(llm.generate("BICDJEFKGDLEH", **how))
    end_index = max(expected.index(letter) for letter in expected)
    assert end_index > 0
    end = ord(expected[end_index]) - ord("A")
    changed_path = with_configuration(path, tmp_path, {"eos": [end], "chat": CHAT})
    configured = spirloom.LLM(changed_path, tokenizer=Letters(), runtime=runtime)
    assert "".join(configured.chat(messages, **how, stop=())) == expected
    assert "".join(configured.chat(messages, **how)) == expected[:end_index]
    alone = "".join(configured.chat([{"role": "user", "content": "J"}], **how, stop=()))
    assert alone == "".join(llm.generate("ADJEH", **how))
    with pytest.raises(Unsupported, match="The graph file has no chat template"):
        llm.chat(messages)
    rejected: list[tuple[list[dict[str, str]], str]] = [
        ([], "The conversation has no messages"),
        ([{"role": "tool", "content": "x"}], "Message 0 is .*'tool'.*; expected a 'role'"),
        ([{"role": "user"}], "Message 0 is .*; expected a 'role'"),
        ([messages[1], messages[0]], "Message 1 has the role system, which only the first"),
    ]
    for wrong, message in rejected:
        with pytest.raises(InvalidArgument, match=message):
            configured.chat(wrong)
    changed_path = with_configuration(path, tmp_path, {"eos": [], "chat": {**CHAT, "system": None}})
    with pytest.raises(Unsupported, match="chat template has no system message"):
        spirloom.LLM(changed_path, tokenizer=Letters(), runtime=runtime).chat(messages)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"[", "cannot be read"),
        (b"[]", "cannot be read"),
        (b'{"eos": [-1]}', "'eos' is not a list of token ids"),
        (b'{"eos": [], "add_bos": true}', "'bos' is not a token id"),
        (b'{"eos": [], "chat": {}}', "cannot be read: 'beginning'"),
        (json.dumps({"eos": [], "chat": {**CHAT, "trim": 1}}).encode(), "'trim' is not a boolean"),
        (json.dumps({"eos": [], "chat": {**CHAT, "user": 7}}).encode(), "cannot be read"),
    ],
)
def test_invalid_chat_configurations(
    runtime: spirloom.Runtime, path: Path, tmp_path: Path, data: bytes, message: str
) -> None:
    with pytest.raises(InvalidFile, match=message):
        spirloom.LLM(with_configuration(path, tmp_path, data), runtime=runtime)


def test_text_is_emitted_in_complete_characters() -> None:
    text = "naïve 🙂 café"
    streamed = StreamDecoder(Bytes())
    pieces = [streamed.add(byte) for byte in text.encode()]
    assert "".join(pieces) == text and "�" not in pieces and pieces.count("") == 5
    assert streamed.finish() == ""
    streamed.add("é".encode()[0])
    assert streamed.finish() == "�", "an incomplete character is emitted at the end"


def test_without_the_package_tokenizers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(Unavailable) as caught:
        parse_tokenizer(b"{}", "The tokenizer.json in net.slg")
    assert str(caught.value).startswith(
        "The tokenizer.json in net.slg requires the Python module 'tokenizers'. Install it: "
    )
