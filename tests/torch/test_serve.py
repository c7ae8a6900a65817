"""The process `spirloom serve`, tested with OpenAI's client."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import openai
import pytest
import spirloom
import uvicorn
from spirloom.cli import main
from spirloom.runtime import DeviceLost
from spirloom.serve import request_queue
from spirloom.serve import server as server_module
from spirloom.serve.app import make_app, max_body
from spirloom.serve.request_queue import RequestQueue
from spirloom.serve.server import address, listen

from examples.story.generate import MODEL
from tests.llm.model_directory import write_model_directory

KEY = "sesame"
PROMPT = "It was a truth which Emma"
TALK = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"}]


@dataclass(frozen=True, slots=True)
class Server:
    url: str
    process: subprocess.Popen[str]

    def client(self, key: str = KEY) -> openai.OpenAI:
        return openai.OpenAI(base_url=self.url, api_key=key, max_retries=0, timeout=120)


@contextmanager
def serving(model: Path, *options: str) -> Iterator[Server]:
    command = [sys.executable, "-m", "spirloom.cli", "serve", str(model), "--port", "0", *options]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "SPIRLOOM_API_KEY": KEY}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        try:
            assert line.startswith(f"Serving {options[1] if options else model.stem} on "), line
            yield Server(line.partition(" at ")[2].split()[0], process)
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving(MODEL) as running:
        yield running


@pytest.fixture(scope="module")
def client(server: Server) -> openai.OpenAI:
    return server.client()


@pytest.fixture(scope="module")
def story() -> spirloom.LLM:
    return spirloom.LLM(MODEL)


def complete(client: openai.OpenAI, **more: Any) -> Any:
    fields: dict[str, Any] = {"model": "story", "prompt": PROMPT, "temperature": 0}
    return client.completions.create(**{**fields, "max_tokens": 40, **more})


def test_a_completion_equals_the_models_text(client: openai.OpenAI, story: spirloom.LLM) -> None:
    wanted = "".join(story.generate(PROMPT, tokens=40))
    found = complete(client)
    assert found.object == "text_completion" and found.model == "story"
    assert [choice.text for choice in found.choices] == [wanted]
    assert found.choices[0].finish_reason == "length"
    counts = (found.usage.prompt_tokens, found.usage.completion_tokens, found.usage.total_tokens)
    prompt = story.encode(PROMPT)
    assert counts == (len(prompt), 40, len(prompt) + 40)
    assert complete(client, prompt=prompt).choices[0].text == wanted
    assert complete(client, max_tokens=None).usage.completion_tokens == 16
    several = complete(client, prompt=["She", PROMPT])
    assert [choice.index for choice in several.choices] == [0, 1]
    assert several.choices[1].text == wanted and several.usage.completion_tokens == 80


def test_a_compressed_kv_cache_is_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two prompts with a common prefix, whose rows are kept."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    llm = spirloom.LLM(MODEL, kv_cache="int8", reuse=True)
    with serving(MODEL, "--name", "story", "--kv-cache", "int8") as running:
        for prompt in (PROMPT, f"{PROMPT} and"):
            wanted = "".join(llm.generate(prompt, tokens=12))
            found = complete(running.client(), prompt=prompt, max_tokens=12)
            assert found.choices[0].text == wanted


def test_texts_are_sampled_by_seed(client: openai.OpenAI, story: spirloom.LLM) -> None:
    wanted = "".join(story.generate(PROMPT, tokens=40, temperature=1.5, top_k=50, seed=7))
    how = {"temperature": 1.5, "seed": 7, "extra_body": {"top_k": 50}}
    assert complete(client, **how).choices[0].text == wanted
    assert complete(client, temperature=None).choices[0].text != complete(client).choices[0].text


def test_a_stream_has_the_same_text(client: openai.OpenAI) -> None:
    wanted = complete(client)
    chunks = list(complete(client, stream=True, stream_options={"include_usage": True}))
    pieces = [choice.text for chunk in chunks for choice in chunk.choices]
    assert len(pieces) > 20 and "".join(pieces) == wanted.choices[0].text
    assert [c.finish_reason for chunk in chunks[:-1] for c in chunk.choices][-1] == "length"
    assert len({chunk.id for chunk in chunks}) == 1
    assert chunks[-1].usage == wanted.usage and not chunks[-1].choices
    assert all(chunk.usage is None for chunk in chunks[:-1])


def test_the_bytes_of_a_stream(server: Server) -> None:
    body = json.dumps({"prompt": PROMPT, "max_tokens": 3, "stream": True}).encode()
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{server.url}/completions", body, headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        assert answer.headers.get_content_type() == "text/event-stream"
        events = answer.read().decode().split("\n\n")
    assert events[-2:] == ["data: [DONE]", ""]
    assert all(json.loads(event.removeprefix("data: "))["choices"] for event in events[:-2])


def test_texts_end_before_stop_strings(client: openai.OpenAI) -> None:
    whole = complete(client).choices[0].text
    for stop in (whole[20:31], whole[25], [whole[60:64], whole[30:40], "\0"]):
        first = min(whole.find(text) for text in ([stop] if isinstance(stop, str) else stop[:2]))
        found = complete(client, stop=stop)
        assert found.choices[0].text == whole[:first]
        assert found.choices[0].finish_reason == "stop" and found.usage.completion_tokens < 40
        chunks = list(complete(client, stop=stop, stream=True))
        assert "".join(chunk.choices[0].text for chunk in chunks) == whole[:first]
        assert chunks[-1].choices[0].finish_reason == "stop"
    assert complete(client, stop="Vulkan").choices[0].text == whole


def test_concurrent_clients_get_equal_texts(client: openai.OpenAI) -> None:
    prompts = ["She", "He was", PROMPT, "Mr. Darcy"]
    wanted = [complete(client, prompt=prompt).choices[0].text for prompt in prompts]

    def streamed(prompt: str) -> str:
        return "".join(c.choices[0].text for c in complete(client, prompt=prompt, stream=True))

    with ThreadPoolExecutor(8) as pool:
        whole = [pool.submit(complete, client, prompt=prompt) for prompt in prompts]
        pieces = [pool.submit(streamed, prompt) for prompt in prompts]
        assert [each.result().choices[0].text for each in whole] == wanted
        assert [each.result() for each in pieces] == wanted


def test_a_closed_stream_does_not_block_others(client: openai.OpenAI) -> None:
    wanted = complete(client).choices[0].text
    for _ in range(3):
        stream = complete(client, stream=True, max_tokens=200)
        next(stream)
        stream.close()
    assert complete(client).choices[0].text == wanted


REFUSED: list[tuple[dict[str, Any], type[openai.APIStatusError], str, str]] = [
    ({"n": 3}, openai.BadRequestError, "n", "n is 3; only 1 is supported."),
    ({"logprobs": 2}, openai.BadRequestError, "logprobs", "only false is supported"),
    ({"temperature": -2}, openai.BadRequestError, "temperature", "must be between 0 and 3.40"),
    ({"stop": list("abcde")}, openai.BadRequestError, "stop", "at most 4 are allowed"),
    ({"prompt": ""}, openai.BadRequestError, "prompt", "The prompt is empty"),
    ({"prompt": [5000]}, openai.BadRequestError, "prompt", "token 5000 is not in 0"),
    ({"prompt": [1] * 250}, openai.BadRequestError, "prompt",
     "A prompt of 250 tokens and 40 new tokens exceed the context of 256"),
    ({"model": "gpt"}, openai.NotFoundError, "model",
     'Unknown model "gpt"; this server has "story".'),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "kind", "param", "message"), REFUSED)
@pytest.mark.parametrize("stream", [False, True])
def test_refused_requests(
    client: openai.OpenAI, fields: Any, kind: Any, param: str, message: str, stream: bool
) -> None:
    with pytest.raises(kind) as error:
        complete(client, stream=stream, **fields)
    assert message in error.value.message and error.value.param == param
    assert error.value.type == "invalid_request_error"


def test_the_code_of_an_exceeded_context(client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="256 tokens and 1 new tokens") as error:
        complete(client, prompt=[1] * 256, max_tokens=None)
    assert error.value.code == "context_length_exceeded"


def status_of(url: str, body: bytes | None, key: str = KEY) -> tuple[int, Any]:
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    try:
        request = urllib.request.Request(url, body, headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def test_malformed_requests(server: Server, story: spirloom.LLM) -> None:
    url = f"{server.url}/completions"
    limit = max_body(story)
    assert limit < 1 << 20, "it follows from the context"
    for body, status, message in (
        (b"{", 400, "The request body is not valid JSON"),
        (b"[]", 400, "The request is a list; expected an object."),
        (b'{"prompt": "' + b"a" * limit + b'"}', 413, f"The request body exceeds {limit} bytes."),
        (b'{"prompt": "' + b"a" * (8 << 20) + b'"}', 413, "The request body exceeds "),
        (b'{"prompt": "' + b"a" * 50000 + b'"}', 400, "The prompt has 50000 characters; more"),
        *(
            (b'{"user": ' + b"[" * depth + b"]" * depth + b"}", 400, message)
            for depth, message in (
                (100, "has more than 100 nested levels"),
                (985, "has more than 100 nested levels"),
                (100_000, "The request body is not valid JSON"),
            )
        ),
        (None, 405, "GET /v1/completions: Method Not Allowed."),
    ):
        found, answer = status_of(url, body)
        assert found == status and message in answer["error"]["message"]
    assert status_of(f"{server.url}/nothing", None)[0] == 404
    assert status_of(server.url, None)[0] == 404, "no redirect to the request's Host"
    assert status_of(url, b'{"prompt": "It"}')[0] == 200, "the server continues"


def test_an_api_key_is_required(server: Server) -> None:
    for key in ("wrong", f"{KEY}x", KEY[:-1]):
        with pytest.raises(openai.AuthenticationError) as error:
            complete(server.client(key))
        assert error.value.code == "invalid_api_key"
    assert status_of(f"{server.url}/models", None, "")[0] == 401
    lower = {"Authorization": f"bearer {KEY}"}
    with urllib.request.urlopen(urllib.request.Request(f"{server.url}/models", None, lower)) as ok:
        assert ok.status == 200
    health = server.url.removesuffix("/v1") + "/health"
    assert status_of(health, None, "") == (200, {"status": "ok"})


TARGETS = ["/v1/models", "http://else/v1/models", "HTTPS://[::1]:9/v1/models"]


@pytest.mark.parametrize("target", TARGETS)
def test_request_targets(server: Server, target: str) -> None:
    """In origin and absolute form, of any host; the key is required for each."""
    given: list[tuple[dict[str, str], int]] = [({"Authorization": f"Bearer {KEY}"}, 200), ({}, 401)]
    for headers, status in given:
        connection = HTTPConnection(urlsplit(server.url).netloc, timeout=60)
        connection.request("GET", target, headers=headers)
        assert connection.getresponse().status == status
        connection.close()


def test_the_models(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == ["story"]
    assert client.models.retrieve("story").id == "story"
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("gpt")


def test_a_model_without_a_chat_template(client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="The graph file has no chat template"):
        client.chat.completions.create(model="story", messages=TALK)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def chat_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with random weights and a chat template."""
    directory = tmp_path_factory.mktemp("serve")
    write_model_directory(directory / "tiny", "llama3", 192)
    path = directory / "tiny.slg"
    assert main(["import", str(directory / "tiny"), "-o", str(path), "--max-prefill", "8"]) == 0
    return path


def test_a_chat_equals_the_models_text(chat_model: Path) -> None:
    llm = spirloom.LLM(chat_model)
    parts = [{"type": "text", "text": "Hel"}, {"type": "text", "text": "lo"}]
    in_parts = [{**TALK[0], "role": "developer"}, {"role": "user", "content": parts}]
    remaining = llm.context - len(llm.encode_chat(TALK))
    with serving(chat_model, "--name", "some/tiny") as server:
        client: Any = server.client()
        assert client.models.retrieve("some/tiny").id == "some/tiny"
        for messages in (TALK, in_parts):
            fields: dict[str, Any] = {"model": "some/tiny", "messages": messages, "temperature": 0}
            found = client.chat.completions.create(**fields, max_completion_tokens=30)
            wanted = "".join(llm.chat(TALK, tokens=30))
            assert found.choices[0].message.role == "assistant"
            assert found.choices[0].message.content == wanted
            assert found.usage.prompt_tokens == llm.context - remaining
            chunks = list(client.chat.completions.create(**fields, max_tokens=30, stream=True))
            assert chunks[0].choices[0].delta.role == "assistant"
            pieces = [chunk.choices[0].delta.content or "" for chunk in chunks]
            assert "".join(pieces) == wanted
        whole = client.chat.completions.create(**fields)
        count, finish = whole.usage.completion_tokens, whole.choices[0].finish_reason
        assert (count == remaining) == (finish == "length"), "default: the rest"
        with pytest.raises(openai.BadRequestError, match="which only the first may have") as error:
            client.chat.completions.create(**{**fields, "messages": [*TALK, TALK[0]]})
        assert error.value.param == "messages"


def test_ctrl_c_ends_it() -> None:
    with serving(MODEL) as own:
        stream = complete(own.client(), stream=True, max_tokens=200)
        next(stream)
        own.process.send_signal(signal.SIGINT)
        with pytest.raises(openai.APIError, match="The server is shutting down"):
            list(stream)
        assert own.process.wait(60) == 0


def test_unfinished_requests_do_not_keep_it_alive() -> None:
    head = f"POST /v1/completions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {KEY}\r\n"
    with serving(MODEL) as own:
        host, _, port = own.url.removeprefix("http://").removesuffix("/v1").partition(":")
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(f"{head}Content-Length: 100\r\n\r\n{{".encode())
            assert status_of(f"{own.url}/models", None)[0] == 200
            own.process.terminate()
            own.process.wait(60)


def test_small_responses_are_sent_at_once() -> None:
    with listen("127.0.0.1", 0) as listening, socket.create_connection(listening.getsockname()):
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_request_head_must_arrive_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "_HEAD_SECONDS", 0.2)
    with served(Letters()) as client:
        port = client.base_url.port
        with socket.create_connection(("localhost", port)) as connection:
            connection.sendall(b"GET /health HT")
            connection.settimeout(30)
            assert connection.recv(1) == b"", "closed"
        assert status_of(f"http://localhost:{port}/health", None)[0] == 200


def first_letter(client: openai.OpenAI) -> str:
    pieces = client.completions.create(model="letters", prompt="a", stream=True)
    with pieces:
        return str(next(iter(pieces)).choices[0].text)


def test_slow_bodies_are_not_queued() -> None:
    with served(Letters()) as client, ExitStack() as slow:
        address = ("localhost", client.base_url.port)
        head = b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"
        for _ in range(request_queue.MAX_WAITING + 6):
            slow.enter_context(socket.create_connection(address)).sendall(head)
        assert first_letter(client) == "a"


def test_bytes_of_arriving_bodies_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_queue, "MAX_ARRIVING", 1000)
    with served(Letters()) as client:
        text = "a" * 2000
        with pytest.raises(openai.InternalServerError, match="1000 bytes are already arriving"):
            client.completions.create(model="letters", prompt=text, max_tokens=1)
        assert first_letter(client) == "a"


def test_connections_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "_MAX_CONNECTIONS", 3)
    with served(Letters()) as client, ExitStack() as idle:
        port = client.base_url.port
        health = f"http://localhost:{port}/health"
        assert status_of(health, None)[0] == 200
        for _ in range(3):
            idle.enter_context(socket.create_connection(("localhost", port)))
        with pytest.raises(urllib.error.HTTPError, match="503"):
            urllib.request.urlopen(health, timeout=60)
        idle.close()
        while True:  # until the server has seen that the connections are closed
            with suppress(urllib.error.HTTPError), urllib.request.urlopen(health, timeout=60) as ok:
                assert ok.status == 200
                break


def test_errors_at_startup(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["serve", str(MODEL), "--port", port]) == 1
    error = capsys.readouterr().err
    assert error == (
        f"spirloom: error: Cannot listen on 127.0.0.1, port {port}: Address already in use.\n"
    )
    assert main(["serve", str(MODEL), "--port", "70000"]) == 1
    assert "Cannot listen on port 70000: expected 0 to 65535." in capsys.readouterr().err
    assert main(["serve", str(tmp_path / "no.slg"), "--port", "0"]) == 1
    assert "no.slg" in capsys.readouterr().err


class Letters:
    """A model that generates `a` until `fails` is set; one token per letter."""

    context = 1 << 30
    max_prompt_length = None

    def __init__(self) -> None:
        self.fails, self.ended, self.tokenizer = threading.Event(), threading.Event(), self

    def encode(self, text: str) -> list[int]:
        return list(text.encode())

    def decode(self, tokens: list[int]) -> str:
        return bytes(tokens).decode()

    def generate_tokens(self, prompt: list[int], **_: Any) -> Iterator[int]:
        def found() -> Iterator[int]:
            try:
                while not self.fails.wait(0.001):
                    yield ord("a")
                raise DeviceLost("The device is gone.")
            finally:
                self.ended.set()

        return found()


@contextmanager
def served(llm: Any) -> Iterator[openai.OpenAI]:
    """Runs the application in this process."""
    queue = RequestQueue()
    app = make_app(llm, queue, "letters")
    with listen("localhost", 0) as listening:
        running = uvicorn.Server(server_module.make_config(app, access_log=False))
        thread = threading.Thread(target=running.run, args=([listening],))
        thread.start()
        url = f"{address(listening)}/v1"
        yield openai.OpenAI(base_url=url, api_key="-", max_retries=0, timeout=60)
        queue.shut_down()
        running.should_exit = True
        thread.join()
        queue.close()


def test_generation_ends_when_the_client_disconnects() -> None:
    for stream in (True, False):
        llm = Letters()
        with served(llm) as client:
            fields: dict[str, Any] = {"model": "letters", "prompt": "a", "max_tokens": 1 << 20}
            if stream:
                pieces = client.completions.create(**fields, stream=True)
                assert next(pieces).choices[0].text == "a"
                pieces.close()
            else:
                with pytest.raises(openai.APITimeoutError):
                    client.completions.create(**fields, timeout=0.5)
            assert llm.ended.wait(30)


def test_a_lost_device() -> None:
    llm = Letters()
    with served(llm) as client:
        fields: dict[str, Any] = {"model": "letters", "prompt": "a", "max_tokens": 1 << 20}
        pieces = client.completions.create(**fields, stream=True)
        next(pieces)
        llm.fails.set()
        with pytest.raises(openai.APIError, match=r"The device is gone\."):
            list(pieces)
        with pytest.raises(openai.InternalServerError, match=r"The device is gone\.") as error:
            client.completions.create(**fields)
        assert error.value.code == "device_lost"
        health = str(client.base_url).removesuffix("/v1/") + "/health"
        failed = {"status": "failed", "reason": "The device is gone."}
        assert status_of(health, None) == (503, failed)
