"""spirloom.LLM: text token by token, chosen greedily or at random."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spirloom
from spirloom import graph_file, graph_reader
from spirloom.gguf import import_gguf
from spirloom.llm import Sampling
from spirloom.llm.text import Streamed
from spirloom.runtime import FileMissing, InvalidArgument, InvalidFile, Unsupported

from tests.frontend.gguf_writer import SIZES, file_bytes, tiny_metadata, tiny_tensors
from tests.python_runtime.conftest import relu_graph

PROMPT = [3, 1, 4, 15, 9, 2]
CONTEXT = SIZES["context_length"]


class Letters:
    """A tokenizer of a letter a token."""

    def encode(self, text: str) -> Sequence[int]:
        return [ord(letter) - ord("A") for letter in text]

    def decode(self, tokens: Sequence[int]) -> str:
        return "".join(chr(ord("A") + token) for token in tokens)


class Bytes:
    """A tokenizer of a byte a token."""

    def encode(self, text: str) -> Sequence[int]:
        return list(text.encode())

    def decode(self, tokens: Sequence[int]) -> str:
        return bytes(tokens).decode(errors="replace")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("llm")
    (folder / "m.gguf").write_bytes(file_bytes(tiny_metadata(), tiny_tensors()))
    graph_file.save(import_gguf(folder / "m.gguf", prompt=4), folder / "m.slg")
    return folder / "m.slg"


@pytest.fixture(scope="module")
def llm(runtime: spirloom.Runtime, path: Path) -> spirloom.LLM:
    return spirloom.LLM(path, tokenizer=Letters(), runtime=runtime)


def test_greedy_tokens_are_those_of_the_greatest_scores(
    llm: spirloom.LLM, runtime: spirloom.Runtime, path: Path
) -> None:
    """Each of a run over all that is before it, without what decoding keeps."""
    prefill, wanted = runtime.load(path, method="prefill"), list(PROMPT)
    while len(wanted) < CONTEXT:
        prefill.reset_states()
        for start in range(0, len(wanted), 4):
            (scores,) = prefill(np.array([wanted[start : start + 4]], np.int32))
        wanted.append(int(scores[0].argmax()))
    assert len(set(wanted[len(PROMPT) :])) > 3
    count = CONTEXT - len(PROMPT)
    assert list(llm.generate_tokens(PROMPT, tokens=count)) == wanted[len(PROMPT) :]
    for fewer in (1, 2, 9):
        assert list(llm.generate_tokens(PROMPT, tokens=fewer)) == wanted[len(PROMPT) :][:fewer]
    almost = Sampling(temperature=1e-6, seed=1)
    assert list(llm.generate_tokens(PROMPT, tokens=count, sampling=almost)) == wanted[-count:]
    text = "".join(llm.generate(Letters().decode(PROMPT), tokens=count))
    assert text == Letters().decode(wanted[len(PROMPT) :])


def test_a_seed_repeats_a_text(llm: spirloom.LLM) -> None:
    def text(**how: float) -> str:
        return "".join(llm.generate("ABC", tokens=16, **how))  # type: ignore[arg-type]

    hot = text(temperature=2.0, seed=1)
    assert hot == text(temperature=2.0, seed=1) != text(temperature=2.0, seed=2)
    assert text(temperature=2.0, seed=1, top_k=1) == text()
    assert text(temperature=2.0, seed=1, top_p=1e-9) == text()


def test_a_text_ends_where_it_is_told(llm: spirloom.LLM) -> None:
    whole = list(llm.generate_tokens(PROMPT, tokens=12))
    last = next(token for token in whole[3:] if whole.index(token) >= 3)
    found = list(llm.generate_tokens(PROMPT, tokens=12, stop={last}))
    assert found == whole[: whole.index(last)]
    begun = llm.generate_tokens(PROMPT, tokens=12)
    assert list(islice(begun, 2)) == whole[:2], "one that is left alone"
    assert list(llm.generate_tokens(PROMPT, tokens=12)) == whole


def test_what_does_not_fit_is_refused_at_once(llm: spirloom.LLM) -> None:
    message = "A prompt of 6 tokens and 19 more do not fit into the context of 24: ask for fewer"
    with pytest.raises(InvalidArgument, match=message):
        llm.generate_tokens(PROMPT, tokens=19)
    with pytest.raises(InvalidArgument, match="token 40 is none of the model's 40: is the tokeni"):
        llm.generate_tokens([1, 40, -1])
    with pytest.raises(InvalidArgument, match="The prompt is empty"):
        llm.generate("")
    with pytest.raises(InvalidArgument, match=r"tokens \(0\) must be at least 1"):
        llm.generate("A", tokens=0)
    with pytest.raises(InvalidArgument, match=r"top_p \(0\) must be above 0 and at most 1"):
        llm.generate("A", top_p=0)
    with pytest.raises(InvalidArgument, match=r"temperature \(-1\) must be 0 or more"):
        llm.generate("A", temperature=-1)
    with pytest.raises(InvalidArgument, match=r"top_k \(-1\) must be 0, for all tokens, or more"):
        llm.generate("A", top_k=-1)
    with pytest.raises(InvalidArgument, match=r"seed \(-1\) must be between 0 and 2147483647"):
        llm.generate("A", seed=-1)


def test_what_is_no_language_model(runtime: spirloom.Runtime, path: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidFile, match=r"m.slg carries no tokenizer.json: import the model fr"):
        spirloom.LLM(path, runtime=runtime).generate("A")
    with pytest.raises(FileMissing, match="There is no .*no.json"):
        spirloom.LLM(path, tokenizer=tmp_path / "no.json", runtime=runtime).generate("A")
    graphs = graph_reader.load_methods(path)
    for state in (state for graph in graphs for state in graph.states):
        state.tensor.name = state.tensor.name.replace("top_k", "other")
    graph_file.save(graphs, tmp_path / "old.slg")
    with pytest.raises(InvalidFile, match="old.slg is no language model: it has no state 'top_k'"):
        spirloom.LLM(tmp_path / "old.slg", runtime=runtime)
    (tmp_path / "relu.slg").write_bytes(relu_graph())
    with pytest.raises(spirloom.SpirloomError, match="prefill"):
        spirloom.LLM(tmp_path / "relu.slg", runtime=runtime)


def test_draws_are_as_likely_as_the_scores_say(
    llm: spirloom.LLM, runtime: spirloom.Runtime, path: Path
) -> None:
    """The first token of many seeds, of a prompt in two runs, against the softmax of its scores."""
    prefill = runtime.load(path, method="prefill")
    for part in (PROMPT[:4], PROMPT[4:]):
        ((scores,),) = prefill(np.array([part], np.int32))
    scores = scores.astype(np.float64)
    order = np.argsort(-scores)
    draws = 400

    def shares(sampling: dict[str, Any], kept: int) -> None:
        weights = np.exp((scores - scores.max()) / sampling["temperature"])
        wanted = np.zeros_like(weights)
        wanted[order[:kept]] = weights[order[:kept]] / weights[order[:kept]].sum()
        found = np.zeros_like(wanted)
        for seed in range(draws):
            how = Sampling(**sampling, seed=seed)
            found[list(llm.generate_tokens(PROMPT, tokens=1, sampling=how))] += 1 / draws
        assert (found[wanted == 0] == 0).all(), "what is left out is never drawn"
        assert np.abs(found - wanted).max() < 5 * 0.5 / np.sqrt(draws)
        assert np.abs(found - wanted).sum() < 0.5 and (found > 0).sum() > 1

    probabilities = np.exp(scores[order] - scores.max())
    probabilities /= probabilities.sum()
    shares({"temperature": 1.0}, len(scores))
    shares({"temperature": 2.0, "top_k": 3}, 3)
    two = float(probabilities[0] + probabilities[1] / 2)
    shares({"temperature": 1.0, "top_p": two}, 2)


def test_sampled_tokens_are_the_states(llm: spirloom.LLM) -> None:
    """Those that are drawn lie in the state `tokens` like others, and steps go on from them."""
    how = Sampling(temperature=2.0, seed=4)
    found = list(llm.generate_tokens(PROMPT, tokens=13, sampling=how))
    again = list(llm.generate_tokens([*PROMPT, *found[:5]], tokens=8, sampling=how))
    assert again == found[5:], "what is drawn depends on seed and position alone"
    different = {tuple(llm.generate_tokens(PROMPT, tokens=13, sampling=Sampling(2.0)))
                 for _ in range(3)}  # fmt: skip
    assert len(different) == 3, "without a seed each text is another"


def test_what_prompts_share_is_read_once(
    llm: spirloom.LLM, runtime: spirloom.Runtime, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same tokens as without, whatever came before."""
    reusing = spirloom.LLM(path, tokenizer=Letters(), runtime=runtime, reuse=True)
    read: list[int] = []
    run = spirloom.Model.__call__

    def counting(model: spirloom.Model, *inputs: Any, **named: Any) -> tuple[Any, ...]:
        read.extend(inputs[0][0].tolist())
        return run(model, *inputs, **named)

    def check(prompt: list[int], tokens: int, taken: int, how: Sampling, unread: int) -> None:
        wanted = list(llm.generate_tokens(prompt, tokens=tokens, sampling=how))[:taken]
        with monkeypatch.context() as patched:
            patched.setattr(spirloom.Model, "__call__", counting)
            found = list(
                islice(reusing.generate_tokens(prompt, tokens=tokens, sampling=how), taken)
            )
        assert found == wanted, prompt
        assert read == prompt[unread:]
        read.clear()

    greedy, drawn = Sampling(), Sampling(temperature=2.0, seed=3)
    said = list(llm.generate_tokens(PROMPT, tokens=12))
    check(PROMPT, 12, 12, greedy, 0)
    check(PROMPT, 12, 12, greedy, len(PROMPT) - 1)
    check([*PROMPT, *said, 7], 3, 3, drawn, len(PROMPT) + 11)  # the last has no rows yet
    check([*PROMPT[:4], 8, 9], 12, 2, greedy, 4)  # and is left after two
    check([*PROMPT[:4], 8, 9, 30], 9, 9, drawn, 6)
    check([5], 4, 4, greedy, 0)
    choose, before = random.Random(2), [5]
    for _ in range(40):
        prompt = [*before[: choose.randrange(len(before) + 1)], *choose.choices(range(40), k=2)]
        how = Sampling(temperature=choose.choice((0.0, 2.0)), seed=1)
        wanted = list(llm.generate_tokens(prompt, tokens=6, sampling=how))
        found = list(reusing.generate_tokens(prompt, tokens=6, sampling=how))
        assert found == wanted
        before = [*prompt, *found][:14]


CHAT = {
    "beginning": "A", "system": {"before": "B", "after": "C"},
    "user": {"before": "D", "after": "E"}, "assistant": {"before": "F", "after": "G"},
    "generate": "H", "trim": True,
}  # fmt: skip


def carrying(path: Path, folder: Path, facts: dict[str, Any] | bytes) -> Path:
    """The same model, whose file says these facts."""
    graphs = graph_reader.load_methods(path)
    data = facts if isinstance(facts, bytes) else json.dumps(facts).encode()
    graphs[0].attachments = {"language_model.json": data}
    graph_file.save(graphs, folder / "with.slg")
    return folder / "with.slg"


def test_a_file_says_where_texts_end_and_how_it_chats(
    llm: spirloom.LLM, runtime: spirloom.Runtime, path: Path, tmp_path: Path
) -> None:
    talk = [("system", " I "), ("user", "J"), ("assistant", "K"), ("user", "L\n")]
    messages = [{"role": role, "content": content} for role, content in talk]
    how: dict[str, Any] = {"tokens": 9, "temperature": 3.0, "seed": 2}
    wanted = "".join(llm.generate("BICDJEFKGDLEH", **how))
    place = max(wanted.index(letter) for letter in wanted)
    assert place > 0
    end = ord(wanted[place]) - ord("A")
    told = carrying(path, tmp_path, {"eos": [end], "chat": CHAT})
    with_facts = spirloom.LLM(told, tokenizer=Letters(), runtime=runtime)
    assert "".join(with_facts.chat(messages, **how, stop=())) == wanted
    assert "".join(with_facts.chat(messages, **how)) == wanted[:place]
    alone = "".join(with_facts.chat([{"role": "user", "content": "J"}], **how, stop=()))
    assert alone == "".join(llm.generate("ADJEH", **how))
    with pytest.raises(Unsupported, match="does not say how the model chats"):
        llm.chat(messages)
    refused: list[tuple[list[dict[str, str]], str]] = [
        ([], "There are no messages to reply to"),
        ([{"role": "tool", "content": "x"}], "Message 0 is .*'tool'.*; it has a role"),
        ([{"role": "user"}], "Message 0 is .*; it has a role"),
        ([messages[1], messages[0]], "Message 1 is the system's, which can only be first"),
    ]
    for wrong, message in refused:
        with pytest.raises(InvalidArgument, match=message):
            with_facts.chat(wrong)
    told = carrying(path, tmp_path, {"eos": [], "chat": {**CHAT, "system": None}})
    with pytest.raises(Unsupported, match="takes no system message"):
        spirloom.LLM(told, tokenizer=Letters(), runtime=runtime).chat(messages)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"[", "cannot be read"),
        (b"[]", "cannot be read"),
        (b'{"eos": [-1]}', "'eos' holds something else than numbers of tokens"),
        (b'{"eos": [], "add_bos": true}', "'bos' is no number of a token"),
        (b'{"eos": [], "chat": {}}', "cannot be read: 'beginning'"),
        (json.dumps({"eos": [], "chat": {**CHAT, "trim": 1}}).encode(), "'trim' is no flag"),
        (json.dumps({"eos": [], "chat": {**CHAT, "user": 7}}).encode(), "cannot be read"),
    ],
)
def test_facts_that_are_none(
    runtime: spirloom.Runtime, path: Path, tmp_path: Path, data: bytes, message: str
) -> None:
    with pytest.raises(InvalidFile, match=message):
        spirloom.LLM(carrying(path, tmp_path, data), runtime=runtime)


def test_text_comes_when_its_characters_are_whole() -> None:
    text = "naïve 🙂 café"
    streamed = Streamed(Bytes())
    pieces = [streamed.add(byte) for byte in text.encode()]
    assert "".join(pieces) == text and "�" not in pieces and pieces.count("") == 5
    assert streamed.rest() == ""
    streamed.add("é".encode()[0])
    assert streamed.rest() == "�", "what is never whole is said at the end"
