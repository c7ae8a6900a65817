"""The parts of `spirloom serve` that do not require the HTTP packages.

tests/torch/test_serve.py tests the complete server.
"""

from __future__ import annotations

import asyncio
import json
import random
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from typing import Any

import pytest
from spirloom.commands.serve import greeting
from spirloom.llm import Sampling
from spirloom.runtime import DeviceLost
from spirloom.serve import request_queue
from spirloom.serve.request_queue import RequestQueue
from spirloom.serve.requests import read_chat, read_completion
from spirloom.serve.responses import Reply, StopSequences
from spirloom.serve.validation import RequestError, parse

USER = {"role": "user", "content": "Hi"}


def completion(**fields: Any) -> Any:
    return read_completion(parse(json.dumps({"prompt": "It", **fields}).encode()))


def chat(*messages: Any, **fields: Any) -> Any:
    return read_chat(parse(json.dumps({"messages": messages, **fields}).encode()))


def test_the_greeting_names_the_page_and_a_command() -> None:
    line = greeting("net", "http://127.0.0.1:8080", "device", False)
    assert "at http://127.0.0.1:8080/v1 (page: http://127.0.0.1:8080/, Ctrl-C ends it): " in line
    assert "Authorization" not in line
    line = greeting("net", "http://127.0.0.1:8080", "device", True)
    assert " -H 'Authorization: Bearer KEY' -d '{" in line


def test_defaults_are_those_of_openai() -> None:
    request = completion()
    assert request.prompts == ["It"]
    options = request.options
    assert (options.model, options.tokens, options.stop) == (None, None, ())
    assert (options.stream, options.include_usage) == (False, False)
    how = options.sampling
    assert (how.temperature, how.top_p, how.top_k, how.seed) == (1, 1, 0, None)


def test_every_field_is_read() -> None:
    how = {"model": "m", "temperature": 0.5, "top_p": 0.9, "top_k": 7, "seed": 3, "stream": True}
    more = {"stop": ["a", "b"], "stream_options": {"include_usage": True}}
    for request in (
        completion(max_tokens=5, **how, **more),
        chat(USER, max_tokens=5, **how, **more),
    ):
        options = request.options
        assert (options.model, options.tokens, options.stop) == ("m", 5, ("a", "b"))
        assert options.stream and options.include_usage
        sampling = options.sampling
        assert (sampling.temperature, sampling.top_p) == (0.5, 0.9)
        assert (sampling.top_k, sampling.seed) == (7, 3)
    assert completion(stop="a").options.stop == ("a",)
    assert chat(USER, max_tokens=5, max_completion_tokens=6).options.tokens == 6


def test_prompts_are_texts_or_token_ids_or_lists_of_them() -> None:
    for given in ("a", ["a"], ["a", "b"], [[1, 2], [3]], ["a", [4]]):
        assert completion(prompt=given).prompts == (given if isinstance(given, list) else [given])
    assert completion(prompt=[5, 6]).prompts == [[5, 6]]


def test_messages_have_roles_and_texts() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    system = {"role": "developer", "content": parts}
    answered: dict[str, Any] = {
        "role": "assistant",
        "content": "c",
        "tool_calls": None,
        "annotations": [],
    }
    assert chat(system, answered, USER).messages == [
        {"role": "system", "content": "ab"},
        {"role": "assistant", "content": "c"},
        USER,
    ]


def test_unsupported_fields_with_neutral_values_are_accepted() -> None:
    nothing: dict[str, Any] = {
        "n": 1, "logprobs": False, "logit_bias": {}, "presence_penalty": 0, "tools": [],
        "frequency_penalty": 0.0, "response_format": {"type": "text"}, "user": "me", "seed": None,
        "stop": None, "store": True, "tool_choice": "auto", "suffix": "", "max_tokens": None,
    }  # fmt: skip
    assert completion(**nothing) == completion()
    assert chat(USER, **nothing) == chat(USER)


WRONG: list[tuple[dict[str, Any], str | None, str]] = [
    ({"prompt": None}, "prompt", "prompt is null; expected a string, a list of integer token"),
    ({"prompt": {}}, "prompt", "prompt is an object; expected a string"),
    ({"prompt": []}, "prompt", "prompt has 0 prompts; expected 1 to 64."),
    ({"prompt": ["a"] * 65}, "prompt", "prompt has 65 prompts; expected 1 to 64."),
    ({"prompt": [[]]}, "prompt", "prompt is a list; expected"),
    ({"prompt": [1, "a"]}, "prompt", "prompt is a list; expected"),
    ({"prompt": [True]}, "prompt", "prompt is a list; expected"),
    ({"prompt": "\ud800"}, "prompt", "prompt is not valid Unicode: surrogates not allowed."),
    ({"model": 3}, "model", "model is an integer; expected a string."),
    ({"max_tokens": 0}, "max_tokens", "max_tokens is 0; expected at least 1."),
    ({"max_tokens": 1.5}, "max_tokens", "max_tokens is a number; expected an integer."),
    ({"max_tokens": True}, "max_tokens", "max_tokens is a boolean; expected an integer."),
    ({"temperature": "hot"}, "temperature", "temperature is a string; expected a number."),
    ({"temperature": -1}, "temperature", "temperature (-1) must be between 0 and 3.402823e+38."),
    ({"temperature": 10**400}, "temperature", "must be between 0 and 3.402823e+38."),
    ({"top_p": 0}, "top_p", "top_p (0) must be above 0 and at most 1."),
    ({"top_k": -1}, "top_k", "top_k (-1) must be between 0, for all tokens, and 2147483647."),
    ({"temperature": 1e308}, "temperature", "(1e+308) must be between 0 and 3.402823e+38."),
    ({"seed": 1 << 63}, "seed", "seed (9223372036854775808) must be between -92233720368547758"),
    ({"seed": -(1 << 63) - 1}, "seed", "must be between -9223372036854775808 and 922337203685477"),
    ({"top_k": 1 << 31}, "top_k", "(2147483648) must be between 0, for all tokens, and 214748364"),
    ({"stop": 3}, "stop", "stop is an integer; expected a string or a list of strings."),
    ({"stop": ["a", 3]}, "stop", "stop is a list; expected a string or a list of strings."),
    ({"stop": list("abcde")}, "stop", "stop has 5 strings; at most 4 are allowed."),
    ({"stop": ""}, "stop", "stop has a string of 0 characters; expected 1 to 1000."),
    ({"stop": "a" * 1001}, "stop", "stop has a string of 1001 characters; expected 1 to 1000."),
    ({"stream": 1}, "stream", "stream is an integer; expected true or false."),
    ({"stream_options": {}}, "stream_options", "stream_options requires stream: true."),
    ({"stream": True, "stream_options": 1}, "stream_options", "stream_options is an integer; exp"),
    ({"stream": True, "stream_options": {"x": 1}}, "stream_options", 'has no field "x".'),
    ({"n": 2}, "n", "n is 2; only 1 is supported."),
    ({"n": True}, "n", "n is true; only 1 is supported."),
    ({"logprobs": 0}, "logprobs", "logprobs is 0; only false is supported."),
    ({"tools": [{}]}, "tools", "tools is [{}]; it is not supported."),
    ({"suffix": "x" * 99}, "suffix", "x…; it is not supported."),
    ({"messages": []}, None, 'Unknown field "messages".'),
    ({"prmpt\n": 1}, None, 'Unknown field "prmpt\\n".'),
]


@pytest.mark.parametrize(("fields", "param", "message"), WRONG)
def test_invalid_fields_are_rejected(
    fields: dict[str, Any], param: str | None, message: str
) -> None:
    with pytest.raises(RequestError) as error:
        completion(**fields)
    assert message in str(error.value) and error.value.param == param
    details: Any = error.value.body()["error"]
    assert details["type"] == "invalid_request_error" and error.value.status == 400
    json.dumps(error.value.body(), ensure_ascii=False).encode()


WRONG_MESSAGES: list[tuple[Any, str, str]] = [
    ("Hi", "messages[0]", "messages[0] is a string; expected an object."),
    ({"content": "a"}, "messages[0].role", "messages[0].role is null; expected one of system"),
    ({"role": "tool", "content": "a"}, "messages[0].role", '"tool"; expected one of system'),
    ({"role": 1, "content": "a"}, "messages[0].role", "is an integer; expected a string."),
    ({"role": "user"}, "messages[0].content", "is null; expected a string or a list of parts"),
    ({"role": "user", "content": 1}, "messages[0].content", "is an integer; expected a str"),
    ({**USER, "name": "Emma"}, "messages[0].name", '"Emma"; it is not supported.'),
    ({**USER, "tool_calls": [1]}, "messages[0].tool_calls", "[1]; it is not supported."),
    ({**USER, "content": ["a"]}, "messages[0].content[0]", "a string; expected an object."),
    ({**USER, "content": [{"type": "image_url"}]}, "messages[0].content[0].type",
     '"image_url"; only text is supported.'),
    ({**USER, "content": [{"type": "text"}]}, "messages[0].content[0].text", "is null; expected"),
    ({**USER, "content": "\udfff"}, "messages[0].content", "is not valid Unicode: surrogates"),
]  # fmt: skip


@pytest.mark.parametrize(("message", "param", "expected"), WRONG_MESSAGES)
def test_invalid_messages_are_rejected(message: Any, param: str, expected: str) -> None:
    with pytest.raises(RequestError) as error:
        chat(message)
    assert expected in str(error.value) and error.value.param == param


BODIES = (b"", b"{", b"\xff", b"[]", b"3", b'{"a": NaN}', b"[" * 100_000, b"9" * 9999)


@pytest.mark.parametrize("body", BODIES)
def test_malformed_bodies_are_rejected(body: bytes) -> None:
    with pytest.raises(RequestError, match=r"not valid JSON: |expected an object"):
        parse(body)


def test_random_values_raise_no_other_exception() -> None:
    """Only RequestError is raised, for any value of a field."""
    values: list[Any] = [None, True, 0, -1, 1 << 70, 0.5, 1e308, "", "a", "\ud800", [], {}]
    names = ("prompt", "messages", "stop", "stream", "stream_options", "seed", "max_tokens", "n")
    choose = random.Random(3)

    def value(depth: int) -> Any:
        kind = choose.randrange(4) if depth else 0
        if kind == 2:
            return [value(depth - 1) for _ in range(choose.randrange(3))]
        if kind == 3:
            keys = choose.sample(("role", "content", "type", "text", "include_usage"), 2)
            return {key: choose.choice(("user", "text", value(depth - 1))) for key in keys}
        return choose.choice(values)

    outcomes = set()
    for _ in range(3000):
        fields = {name: value(3) for name in choose.sample(names, choose.randrange(1, 4))}
        for read in (read_completion, read_chat):
            try:
                read(parse(json.dumps(fields).encode()))
                outcomes.add("accepted")
            except RequestError as error:
                json.dumps(error.body(), ensure_ascii=False).encode()
                outcomes.add("rejected")
    assert outcomes == {"accepted", "rejected"}


def test_texts_end_before_a_stop_sequence() -> None:
    """The text does not depend on its split into pieces, and is emitted as early as possible."""
    choose = random.Random(5)
    for _ in range(3000):
        text = "".join(choose.choices("ab", k=choose.randrange(12)))
        stop_texts = ["".join(choose.choices("ab", k=choose.randrange(1, 5))) for _ in range(2)]
        ends = [(text.index(stop) + len(stop), stop) for stop in stop_texts if stop in text]
        first, stop = min(ends, key=lambda end: (end[0], -len(end[1])), default=(len(text), ""))
        stops, output, start = StopSequences(stop_texts), "", 0
        while start < len(text):
            end = start + choose.randrange(1, 4)
            output += stops.add(text[start:end])
            if not stops.found:
                held = text[len(output) : end]
                assert not held or any(stop.startswith(held) for stop in stop_texts)
            start = end
        output += stops.rest()
        assert output == text[: first - len(stop)], (text, stop_texts)
        assert stops.found == bool(ends)


class Bytes:
    """A model that generates one text, one byte per token."""

    tokenizer = property(lambda self: self)

    def __init__(self, text: str) -> None:
        self._text = text

    def decode(self, tokens: Sequence[int]) -> str:
        return bytes(tokens).decode(errors="replace")

    def generate_tokens(self, prompt: Sequence[int], *, tokens: int, **_: Any) -> Iterator[int]:
        return iter(self._text.encode()[:tokens])


def reply_of(text: str, tokens: int, *stop: str) -> Reply:
    llm: Any = Bytes(text)
    return Reply(llm, [1, 2], tokens, Sampling(), stop)


def test_replies_are_truncated_between_characters() -> None:
    text = "naïve 🙂 café 🙂"
    size = len(text.encode())
    for tokens, stop, expected, finish, count in (
        (99, (), text, "stop", size),
        (size, (), text, "length", size),
        (99, ("é 🙁", "🙂"), "naïve ", "stop", 11),
        (99, ("fé",), "naïve 🙂 ca", "stop", 17),
        (9, (), "naïve �", "length", 9),
    ):
        reply = reply_of(text, tokens, *stop)
        pieces = list(reply)
        assert "".join(pieces) == expected and "�" not in "".join(pieces[:-1])
        assert (reply.prompt_tokens, reply.tokens, reply.finish) == (2, count, finish)


def test_requests_run_in_order() -> None:
    """One at a time, without blocking the event loop."""
    busy = threading.Lock()

    def text(name: str) -> Iterator[str]:
        for i in range(3):
            assert busy.acquire(blocking=False), "two requests run concurrently"
            time.sleep(0.01)
            busy.release()
            yield "" if i == 1 else f"{name}{i}"

    async def main() -> None:
        order: list[str] = []
        waits = RequestQueue()

        async def ask(name: str) -> None:
            async with aclosing(waits.run(text(name))) as pieces:
                order.extend([piece async for piece in pieces][-1:])

        began = time.monotonic()
        tasks = [asyncio.create_task(ask(name)) for name in "abcd"]
        await asyncio.sleep(0)
        assert time.monotonic() - began < 0.03, "the event loop is not blocked"
        await asyncio.gather(*tasks)
        assert order == ["a2", "b2", "c2", "d2"]
        waits.close()

    asyncio.run(main())


def test_cancelled_requests_leave_the_queue() -> None:
    made: dict[str, int] = {"first": 0, "second": 0}

    def endless(name: str) -> Iterator[str]:
        while True:
            made[name] += 1
            yield "a"

    async def main() -> None:
        waits = RequestQueue()
        first, second = waits.run(endless("first")), waits.run(endless("second"))
        assert await anext(first) == "a"
        waiting = asyncio.ensure_future(anext(second))
        await asyncio.sleep(0)
        waiting.cancel()  # before its turn
        await asyncio.gather(waiting, return_exceptions=True)
        await first.aclose()
        assert [piece async for piece in waits.run(iter(["b"]))] == ["b"]
        stopped = made["first"]
        await asyncio.sleep(0.01)
        assert made == {"first": stopped, "second": 0}
        waits.close()

    asyncio.run(main())


def test_the_queue_is_bounded_and_shut_down_ends_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_queue, "MAX_WAITING", 1)

    async def main() -> None:
        waits, go_on = RequestQueue(), threading.Event()

        def text() -> Iterator[str]:
            yield "a"
            go_on.wait(30)
            yield "b"

        first = waits.run(text())
        with waits.admitted(), waits.admitted():
            with pytest.raises(RequestError, match="1 requests are already waiting") as error:
                waits.admitted().__enter__()
            assert error.value.status == 503
        with waits.admitted():
            assert await anext(first) == "a"
        second = asyncio.ensure_future(anext(waits.run(text())))
        await asyncio.sleep(0)
        waits.shut_down()
        go_on.set()
        for ending in (anext(first), second, anext(waits.run(text()))):
            with pytest.raises(RequestError, match="The server is shutting down"):
                await ending
        waits.close()

    asyncio.run(main())


def test_failures_reach_the_caller() -> None:
    def lost() -> Iterator[str]:
        yield "a"
        raise DeviceLost("The device is gone.")

    async def main() -> None:
        waits = RequestQueue()
        pieces = waits.run(lost())
        assert await anext(pieces) == "a" and waits.failure is None
        with pytest.raises(DeviceLost):
            await anext(pieces)
        assert waits.failure == "The device is gone."
        waits.close()

    asyncio.run(main())
