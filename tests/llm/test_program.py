"""spirloom-llm from the outside: the same tokens as in Python, and what it says when it cannot."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spirloom
from spirloom.llm import Sampling, language_model

from tests.llm.conftest import CONTEXT, Program
from tests.llm.folder import write_folder

PROMPT = "The quick brown fox jumps over it."


def test_steps_go_together_as_in_python() -> None:
    text = (Path(__file__).parents[2] / "llm" / "model" / "generate.cpp").read_text()
    found = dict(re.findall(r"constexpr \w+ (kMostTogether|kBurstSeconds) = ([\d.]+);", text))
    assert int(found["kMostTogether"]) == language_model.MAX_BATCHED_STEPS
    assert float(found["kBurstSeconds"]) == language_model.BURST_SECONDS


def ids(llm: Program, model: Path, text: str) -> list[int]:
    done = llm(model, "--tokenize", "--prompt", text)
    assert done.returncode == 0, done.stderr
    found: list[int] = json.loads(done.stdout)["tokens"]
    return found


def greedy(model: Path, prompt: list[int], count: int) -> list[int]:
    """The tokens that the methods give from Python."""
    prefill = spirloom.load(model)
    decode = spirloom.load(model, method="decode", shares=prefill)
    for begin in range(0, len(prompt), 8):
        prefill(np.array([prompt[begin : begin + 8]], np.int32))
    if count > 1:
        decode.submit_steps(count - 1).result()
    place = len(prompt)
    tokens: list[int] = decode.states["tokens"][place : place + count].tolist()
    return tokens


def text_of(model: Path, tokens: list[int]) -> str:
    """By the table of bytes of GPT-2."""
    tokenizer = json.loads(spirloom.load(model).attachments["tokenizer.json"])
    special = {token["id"] for token in tokenizer["added_tokens"]}
    names = {number: name for name, number in tokenizer["model"]["vocab"].items()}
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in plain]
    table = {chr(byte): byte for byte in plain}
    table |= {chr(0x100 + i): byte for i, byte in enumerate(others)}
    data = bytes(table[c] for t in tokens if t not in special for c in names[t])
    return data.decode(errors="replace")


def facts(model: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(spirloom.load(model).attachments["language_model.json"])
    return found


def reply(llm: Program, model: Path, *arguments: object) -> dict[str, Any]:
    done = llm(model, "--json", *arguments)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_tokens_are_those_of_python(llm: Program, model: Path) -> None:
    prompt = [facts(model)["bos"], *ids(llm, model, PROMPT)]
    assert len(prompt) > 16, "of several runs of prefill"
    wanted = greedy(model, prompt, 24)
    assert len(set(wanted)) > 4, "the model says something"
    got = reply(llm, model, "--prompt", PROMPT, "--tokens", 24)
    assert got["tokens"] == wanted[: len(got["tokens"])]
    assert got["stop"] == "length" or got["tokens"][-1] in facts(model)["eos"]
    assert (got["prompt_tokens"], got["context"]) == (len(prompt), CONTEXT)
    assert got["position"] == len(prompt) + len(got["tokens"]) - 1
    assert got["dispatches_per_token"] > 10 and got["state_bytes"] > 0
    assert got["first_token_ms"] > 0 and got["tokens_per_second"] > 0
    streamed = llm(model, "--prompt", PROMPT, "--tokens", 24, "--stats")
    assert streamed.stdout == got["text"] + "\n"
    assert "dispatches each" in streamed.stderr and "tokens of context" in streamed.stderr


def with_ends(model: Path, ends: list[int], folder: Path) -> Path:
    """The same model, of which other tokens end a text."""
    from spirloom import graph_file, graph_reader

    graphs = graph_reader.load_methods(model)
    changed = json.dumps({**facts(model), "eos": ends})
    graphs[0].attachments["language_model.json"] = changed.encode()
    graph_file.save(graphs, folder / "net.slg")
    return folder / "net.slg"


def test_what_ends_a_text_ends_a_reply(llm: Program, model: Path, tmp_path: Path) -> None:
    said = reply(llm, model, "--prompt", PROMPT, "--tokens", 8)["tokens"]
    got = reply(llm, with_ends(model, [said[3]], tmp_path), "--prompt", PROMPT, "--tokens", 8)
    assert got["stop"] == "end"
    assert got["tokens"] == said[: said.index(said[3]) + 1]


def test_a_full_context_is_an_error(llm: Program, model: Path, tmp_path: Path) -> None:
    done = llm(model, "--prompt", PROMPT * 20)
    assert done.returncode == 2 and done.stdout == ""
    assert f"The context of {CONTEXT} tokens is full: 0 are in it, and" in done.stderr
    assert "Import the model with a greater --context" in done.stderr
    endless = with_ends(model, [], tmp_path)
    done = llm(endless, "--prompt", PROMPT, "--tokens", 500, "--json")
    got = json.loads(done.stdout)
    assert (got["stop"], got["position"]) == ("context", CONTEXT)
    assert len(got["tokens"]) == CONTEXT - got["prompt_tokens"] + 1
    assert done.returncode == 1 and "the reply is cut off" in done.stderr


def test_samples(llm: Program, model: Path) -> None:
    options = ["--prompt", PROMPT, "--tokens", 12, "--temperature", 1.5]
    first = reply(llm, model, *options, "--seed", 1)["tokens"]
    assert reply(llm, model, *options, "--seed", 1)["tokens"] == first
    assert reply(llm, model, *options, "--seed", 2)["tokens"] != first
    # Of the device, by the same states as Python sets.
    prompt = [facts(model)["bos"], *ids(llm, model, PROMPT)]
    how = Sampling(temperature=1.5, top_k=20, top_p=0.9, seed=3)
    wanted = list(spirloom.LLM(model).generate_tokens(prompt, tokens=12, sampling=how, stop=()))
    got = reply(llm, model, *options, "--top-k", 20, "--top-p", 0.9, "--seed", 3)["tokens"]
    assert got == wanted[: len(got)]
    sure = reply(llm, model, *options, "--top-k", 1)["tokens"]
    assert sure == reply(llm, model, *options[:4])["tokens"]


def test_chat_writes_what_the_template_does(llm: Program, model: Path) -> None:
    text = (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi there<|im_end|>\n"
        "<|im_start|>assistant\n"
    )
    wanted = greedy(model, ids(llm, model, text), 6)
    options = ["--chat", "--system", "Be brief.", "--prompt", "Hi there", "--tokens", 6]
    got = reply(llm, model, *options)
    assert got["tokens"] == wanted[: len(got["tokens"])]


def test_a_conversation_goes_on(llm: Program, model: Path) -> None:
    """Each turn reads what the last one said, and what the template writes after it."""
    done = llm(model, "--chat", "--tokens", 3, "--stats", text="Hi\nthe thing\n")
    assert done.returncode == 0, done.stderr
    begun = ids(llm, model, "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n")
    first = greedy(model, begun, 3)
    assert not set(first) & set(facts(model)["eos"]), "the reply ends by its length"
    middle = ids(
        llm, model, "<|im_end|>\n<|im_start|>user\nthe thing<|im_end|>\n<|im_start|>assistant\n"
    )
    second = greedy(model, [*begun, *first, *middle], 3)
    assert not set(second) & set(facts(model)["eos"])
    assert done.stdout == f"{text_of(model, first)}\n{text_of(model, second)}\n"
    end = len(begun) + 3 + len(middle) + 2
    assert f"{end} of {CONTEXT} tokens of context" in done.stderr


def test_steps_behind_an_end_are_undone(llm: Program, model: Path, tmp_path: Path) -> None:
    """Several go to the device together; what the reply did not come to is no part of the talk."""
    begun = ids(llm, model, "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n")
    first = greedy(model, begun, 4)
    end = first[3]
    assert end not in first[:3]
    done = llm(with_ends(model, [end], tmp_path), "--chat", "--tokens", 30, text="Hi\nthe thing\n")
    assert done.returncode == 0, done.stderr
    middle = ids(
        llm, model, "<|im_end|>\n<|im_start|>user\nthe thing<|im_end|>\n<|im_start|>assistant\n"
    )
    second = greedy(model, [*begun, *first[:3], *middle], 30)
    second = second[: second.index(end)] if end in second else second
    assert done.stdout == f"{text_of(model, first[:3])}\n{text_of(model, second)}\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--prompt TEXT says what to go on from"),
        (["--prompt", "a", "--top-k", "3"], "go with --temperature"),
        (["--prompt", "a", "--system", "b"], "--system goes with --chat"),
        (["--chat", "--json"], "--json goes with --prompt"),
        (["--prompt", "a", "--tokens", "0"], "--tokens"),
        (["--prompt", "a", "--temperature", "1", "--seed", "-1"], "--seed"),
    ],
)
def test_wrong_arguments(llm: Program, model: Path, arguments: list[str], message: str) -> None:
    done = llm(model, *arguments)
    assert done.returncode != 0 and message in done.stderr + done.stdout


def test_files_that_are_no_language_models(llm: Program, model: Path, tmp_path: Path) -> None:
    from spirloom import graph_file, graph_reader

    graphs = graph_reader.load_methods(model)
    graphs[0].attachments = {}
    graph_file.save(graphs, tmp_path / "bare.slg")
    done = llm(tmp_path / "bare.slg", "--prompt", "a")
    assert done.returncode == 2 and "carries no tokenizer.json" in done.stderr
    for name, dtype in (("tokens", "int32"), ("temperature", "float32")):
        for state in (state for graph in graphs for state in graph.states):
            state.tensor.name = state.tensor.name.replace(name, "others")
        graph_file.save(graphs, tmp_path / "odd.slg")
        for state in (state for graph in graphs for state in graph.states):
            state.tensor.name = state.tensor.name.replace("others", name)
        done = llm(tmp_path / "odd.slg", "--prompt", "a")
        assert done.returncode == 2
        message = f"The file is no language model: it has no state '{name}' of {dtype}"
        assert message in done.stderr


def test_a_model_without_a_chat_says_so(
    llm: Program, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from spirloom.cli import main

    write_folder(tmp_path / "tiny", "llama2", 32, chat="{{ messages[-1].content }}")
    path = tmp_path / "tiny.slg"
    assert main(["import", str(tmp_path / "tiny"), "-o", str(path)]) == 0
    assert "is left out: it leaves a message out" in capsys.readouterr().err
    done = llm(path, "--chat", "--prompt", "a")
    assert done.returncode == 1 and "does not say how the model chats" in done.stderr
    assert llm(path, "--prompt", "the", "--tokens", 2).returncode == 0
