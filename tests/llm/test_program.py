"""End-to-end tests of spirloom-llm: tokens equal to Python's, and error messages."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spirloom
from spirloom.llm import Sampling, language_model, prefill_chunks

from tests.llm.conftest import CONTEXT, Program
from tests.llm.model_directory import write_model_directory

PROMPT = "The quick brown fox jumps over it."


def test_batched_steps_equal_python() -> None:
    text = (Path(__file__).parents[2] / "llm" / "model" / "generate.cpp").read_text()
    found = dict(re.findall(r"constexpr \w+ (kMaxBatchedSteps|kBurstSeconds) = ([\d.]+);", text))
    assert int(found["kMaxBatchedSteps"]) == language_model.MAX_BATCHED_STEPS
    assert float(found["kBurstSeconds"]) == language_model.BURST_SECONDS


def test_minimum_prefill_equals_python() -> None:
    text = (Path(__file__).parents[2] / "llm" / "model" / "prefill_chunks.h").read_text()
    (found,) = re.findall(r"constexpr size_t kMinPrefill = (\d+);", text)
    assert int(found) == prefill_chunks.MIN_PREFILL


def ids(llm: Program, model: Path, text: str) -> list[int]:
    done = llm(model, "--tokenize", "--prompt", text)
    assert done.returncode == 0, done.stderr
    found: list[int] = json.loads(done.stdout)["tokens"]
    return found


def greedy(model: Path, prompt: list[int], count: int) -> list[int]:
    """Greedy tokens of the methods, run from Python."""
    prefill = spirloom.load(model)
    decode = prefill.context("decode", share_states=True)
    for begin in range(0, len(prompt), 8):
        prefill(np.array([prompt[begin : begin + 8]], np.int32))
    if count > 1:
        decode.submit_repeated(count - 1).result()
    begin = len(prompt)
    tokens: list[int] = decode.states["tokens"][begin : begin + count].tolist()
    return tokens


def text_of(model: Path, tokens: list[int]) -> str:
    """Decodes tokens with GPT-2's byte-level table."""
    tokenizer = json.loads(spirloom.load(model).attachments["tokenizer.json"])
    special = {token["id"] for token in tokenizer["added_tokens"]}
    names = {token: name for name, token in tokenizer["model"]["vocab"].items()}
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


def test_tokens_equal_python(llm: Program, model: Path) -> None:
    prompt = [facts(model)["bos"], *ids(llm, model, PROMPT)]
    assert len(prompt) > 16, "several chunks of prefill"
    wanted = greedy(model, prompt, 24)
    assert len(set(wanted)) > 4, "tokens differ"
    got = reply(llm, model, "--prompt", PROMPT, "--tokens", 24)
    assert got["tokens"] == wanted[: len(got["tokens"])]
    assert got["stop"] == "length" or got["tokens"][-1] in facts(model)["eos"]
    assert (got["prompt_tokens"], got["context"]) == (len(prompt), CONTEXT)
    assert got["position"] == len(prompt) + len(got["tokens"]) - 1
    assert got["dispatches_per_token"] > 10 and got["state_bytes"] > 0
    assert got["first_token_ms"] > 0 and got["tokens_per_second"] > 0
    streamed = llm(model, "--prompt", PROMPT, "--tokens", 24, "--stats")
    assert streamed.stdout == got["text"] + "\n"
    assert "dispatches per token" in streamed.stderr and f"of {CONTEXT} tokens" in streamed.stderr


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f8_e4m3", "f8_e5m2", "int8", "int4"])
def test_kv_caches_of_fewer_bits(llm: Program, model: Path, tmp_path: Path, dtype: str) -> None:
    """Tokens equal Python's, and the states are smaller."""
    from spirloom import graph_file
    from spirloom.kv_cache import read_with_kv_cache

    path = tmp_path / "net.slg"
    graph_file.save(read_with_kv_cache(model, dtype), path)
    prompt = [facts(path)["bos"], *ids(llm, path, PROMPT)]
    got, exact = (reply(llm, each, "--prompt", PROMPT, "--tokens", 12) for each in (path, model))
    assert got["tokens"] == greedy(path, prompt, 12)[: len(got["tokens"])]
    assert got["state_bytes"] < 0.8 * exact["state_bytes"]


def with_eos(model: Path, eos: list[int], directory: Path) -> Path:
    """The same model with other EOS tokens."""
    from spirloom import graph_file, graph_reader

    graphs = graph_reader.load_methods(model)
    changed = json.dumps({**facts(model), "eos": eos})
    graphs[0].attachments["language_model.json"] = changed.encode()
    graph_file.save(graphs, directory / "net.slg")
    return directory / "net.slg"


def test_eos_ends_a_reply(llm: Program, model: Path, tmp_path: Path) -> None:
    tokens = reply(llm, model, "--prompt", PROMPT, "--tokens", 8)["tokens"]
    got = reply(llm, with_eos(model, [tokens[3]], tmp_path), "--prompt", PROMPT, "--tokens", 8)
    assert got["stop"] == "end"
    assert got["tokens"] == tokens[: tokens.index(tokens[3]) + 1]


def test_a_full_context_is_an_error(llm: Program, model: Path, tmp_path: Path) -> None:
    done = llm(model, "--prompt", PROMPT * 20)
    assert done.returncode == 2 and done.stdout == ""
    assert f"The context has {CONTEXT} tokens: 0 are in use, " in done.stderr
    assert "Import the model with a larger --context" in done.stderr
    endless = with_eos(model, [], tmp_path)
    done = llm(endless, "--prompt", PROMPT, "--tokens", 500, "--json")
    got = json.loads(done.stdout)
    assert (got["stop"], got["position"]) == ("context", CONTEXT)
    assert len(got["tokens"]) == CONTEXT - got["prompt_tokens"] + 1
    assert done.returncode == 1 and "The reply is truncated" in done.stderr


def test_samples(llm: Program, model: Path) -> None:
    options = ["--prompt", PROMPT, "--tokens", 12, "--temperature", 1.5]
    first = reply(llm, model, *options, "--seed", 1)["tokens"]
    assert reply(llm, model, *options, "--seed", 1)["tokens"] == first
    assert reply(llm, model, *options, "--seed", 2)["tokens"] != first
    # Python sets the same states, so the device samples equal tokens.
    prompt = [facts(model)["bos"], *ids(llm, model, PROMPT)]
    how = Sampling(temperature=1.5, top_k=20, top_p=0.9, seed=3)
    wanted = list(spirloom.LLM(model).generate_tokens(prompt, tokens=12, sampling=how, stop=()))
    got = reply(llm, model, *options, "--top-k", 20, "--top-p", 0.9, "--seed", 3)["tokens"]
    assert got == wanted[: len(got)]
    sure = reply(llm, model, *options, "--top-k", 1)["tokens"]
    assert sure == reply(llm, model, *options[:4])["tokens"]


def test_chat_uses_the_template(llm: Program, model: Path) -> None:
    text = (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi there<|im_end|>\n"
        "<|im_start|>assistant\n"
    )
    wanted = greedy(model, ids(llm, model, text), 6)
    options = ["--chat", "--system", "Be brief.", "--prompt", "Hi there", "--tokens", 6]
    got = reply(llm, model, *options)
    assert got["tokens"] == wanted[: len(got["tokens"])]


def test_conversation(llm: Program, model: Path) -> None:
    """Each turn prefills the end of the previous reply and the new message."""
    done = llm(model, "--chat", "--tokens", 3, "--stats", text="Hi\nthe thing\n")
    assert done.returncode == 0, done.stderr
    begun = ids(llm, model, "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n")
    first = greedy(model, begun, 3)
    assert not set(first) & set(facts(model)["eos"]), "the reply ends at its maximum length"
    middle = ids(
        llm, model, "<|im_end|>\n<|im_start|>user\nthe thing<|im_end|>\n<|im_start|>assistant\n"
    )
    second = greedy(model, [*begun, *first, *middle], 3)
    assert not set(second) & set(facts(model)["eos"])
    assert done.stdout == f"{text_of(model, first)}\n{text_of(model, second)}\n"
    end = len(begun) + 3 + len(middle) + 2
    assert f"context {end} of {CONTEXT} tokens" in done.stderr


def test_steps_after_eos_are_discarded(llm: Program, model: Path, tmp_path: Path) -> None:
    """Steps of the same submission after EOS are not part of the conversation."""
    begun = ids(llm, model, "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n")
    first = greedy(model, begun, 4)
    end = first[3]
    assert end not in first[:3]
    done = llm(with_eos(model, [end], tmp_path), "--chat", "--tokens", 30, text="Hi\nthe thing\n")
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
        ([], "Expected --prompt TEXT for a completion or --chat for a conversation"),
        (["--prompt", "a", "--top-k", "3"], "require --temperature above 0"),
        (["--prompt", "a", "--system", "b"], "--system requires --chat"),
        (["--chat", "--json"], "--json requires --prompt"),
        (["--prompt", "a", "--tokens", "0"], "--tokens"),
        (["--prompt", "a", "--temperature", "1", "--seed", "-1"], "--seed"),
    ],
)
def test_wrong_arguments(llm: Program, model: Path, arguments: list[str], message: str) -> None:
    done = llm(model, *arguments)
    assert done.returncode != 0 and message in done.stderr + done.stdout


def test_other_graph_files_are_rejected(llm: Program, model: Path, tmp_path: Path) -> None:
    from spirloom import graph_file, graph_reader

    graphs = graph_reader.load_methods(model)
    graphs[0].attachments = {}
    graph_file.save(graphs, tmp_path / "bare.slg")
    done = llm(tmp_path / "bare.slg", "--prompt", "a")
    assert done.returncode == 2 and "has no attachment 'tokenizer.json'" in done.stderr
    for name, dtype in (("tokens", "int32"), ("temperature", "float32")):
        for state in (state for graph in graphs for state in graph.states):
            state.tensor.name = state.tensor.name.replace(name, "others")
        graph_file.save(graphs, tmp_path / "odd.slg")
        for state in (state for graph in graphs for state in graph.states):
            state.tensor.name = state.tensor.name.replace("others", name)
        done = llm(tmp_path / "odd.slg", "--prompt", "a")
        assert done.returncode == 2
        message = f"The file is not a language model: it has no state '{name}' of type {dtype}"
        assert message in done.stderr


def test_a_model_without_a_chat_template(
    llm: Program, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from spirloom.cli import main

    write_model_directory(tmp_path / "tiny", "llama2", 32, chat="{{ messages[-1].content }}")
    path = tmp_path / "tiny.slg"
    assert main(["import", str(tmp_path / "tiny"), "-o", str(path)]) == 0
    assert "is omitted: it omits a message" in capsys.readouterr().err
    done = llm(path, "--chat", "--prompt", "a")
    assert done.returncode == 1 and "has no chat format" in done.stderr
    assert llm(path, "--prompt", "the", "--tokens", 2).returncode == 0
