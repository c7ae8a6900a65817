"""What `spirloom serve` is made of, without the packages that it needs for HTTP.

tests/torch/test_serve.py has the whole.
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
from spirloom.llm import Sampling
from spirloom.runtime import DeviceLost
from spirloom.serve import request_queue
from spirloom.serve.request_queue import Turns
from spirloom.serve.requests import read_chat, read_completion
from spirloom.serve.responses import Reply, Stops
from spirloom.serve.validation import Refused, parse

USER = {"role": "user", "content": "Hi"}


def completion(**fields: Any) -> Any:
    return read_completion(parse(json.dumps({"prompt": "It", **fields}).encode()))


def chat(*messages: Any, **fields: Any) -> Any:
    return read_chat(parse(json.dumps({"messages": messages, **fields}).encode()))


def test_what_is_not_said_is_as_openai_has_it() -> None:
    asked = completion()
    assert asked.prompts == ["It"]
    options = asked.options
    assert (options.model, options.tokens, options.stop) == (None, None, ())
    assert (options.stream, options.include_usage) == (False, False)
    how = options.sampling
    assert (how.temperature, how.top_p, how.top_k, how.seed) == (1, 1, 0, None)


def test_every_field_is_read() -> None:
    how = {"model": "m", "temperature": 0.5, "top_p": 0.9, "top_k": 7, "seed": 3, "stream": True}
    more = {"stop": ["a", "b"], "stream_options": {"include_usage": True}}
    for asked in (completion(max_tokens=5, **how, **more), chat(USER, max_tokens=5, **how, **more)):
        options = asked.options
        assert (options.model, options.tokens, options.stop) == ("m", 5, ("a", "b"))
        assert options.stream and options.include_usage
        sampling = options.sampling
        assert (sampling.temperature, sampling.top_p) == (0.5, 0.9)
        assert (sampling.top_k, sampling.seed) == (7, 3)
    assert completion(stop="a").options.stop == ("a",)
    assert chat(USER, max_tokens=5, max_completion_tokens=6).options.tokens == 6


def test_prompts_are_texts_or_tokens_or_several() -> None:
    for given in ("a", ["a"], ["a", "b"], [[1, 2], [3]], ["a", [4]]):
        assert completion(prompt=given).prompts == (given if isinstance(given, list) else [given])
    assert completion(prompt=[5, 6]).prompts == [[5, 6]]


def test_messages_are_texts_by_role() -> None:
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


def test_fields_that_ask_for_nothing_are_taken() -> None:
    nothing: dict[str, Any] = {
        "n": 1, "logprobs": False, "logit_bias": {}, "presence_penalty": 0, "tools": [],
        "frequency_penalty": 0.0, "response_format": {"type": "text"}, "user": "me", "seed": None,
        "stop": None, "store": True, "tool_choice": "auto", "suffix": "", "max_tokens": None,
    }  # fmt: skip
    assert completion(**nothing) == completion()
    assert chat(USER, **nothing) == chat(USER)


WRONG: list[tuple[dict[str, Any], str | None, str]] = [
    ({"prompt": None}, "prompt", "prompt is null; it has to be a string, a list of tokens"),
    ({"prompt": {}}, "prompt", "prompt is an object; it has to be a string"),
    ({"prompt": []}, "prompt", "prompt holds 0 prompts; 1 to 64 are taken."),
    ({"prompt": ["a"] * 65}, "prompt", "prompt holds 65 prompts; 1 to 64 are taken."),
    ({"prompt": [[]]}, "prompt", "prompt is a list; it has to be"),
    ({"prompt": [1, "a"]}, "prompt", "prompt is a list; it has to be"),
    ({"prompt": [True]}, "prompt", "prompt is a list; it has to be"),
    ({"prompt": "\ud800"}, "prompt", "prompt is no text: surrogates not allowed."),
    ({"model": 3}, "model", "model is an integer; it has to be a string."),
    ({"max_tokens": 0}, "max_tokens", "max_tokens is 0; it has to be at least 1."),
    ({"max_tokens": 1.5}, "max_tokens", "max_tokens is a number; it has to be an integer."),
    ({"max_tokens": True}, "max_tokens", "max_tokens is a boolean; it has to be an integer."),
    ({"temperature": "hot"}, "temperature", "temperature is a string; it has to be a number."),
    ({"temperature": -1}, "temperature", "temperature (-1) must be 0 or more."),
    ({"temperature": 10**400}, "temperature", "must be 0 or more."),
    ({"top_p": 0}, "top_p", "top_p (0) must be above 0 and at most 1."),
    ({"top_k": -1}, "top_k", "top_k (-1) must be 0, for all tokens, or more."),
    ({"seed": 1 << 31}, "seed", "seed (2147483648) must be between 0 and 2147483647."),
    ({"stop": 3}, "stop", "stop is an integer; it has to be a string or a list of strings."),
    ({"stop": ["a", 3]}, "stop", "stop is a list; it has to be a string or a list of strings."),
    ({"stop": list("abcde")}, "stop", "stop holds 5 texts; 4 is the most."),
    ({"stop": ""}, "stop", "stop holds a text of 0 characters; 1 to 1000 are taken."),
    ({"stop": "a" * 1001}, "stop", "stop holds a text of 1001 characters; 1 to 1000 are taken."),
    ({"stream": 1}, "stream", "stream is an integer; it has to be true or false."),
    ({"stream_options": {}}, "stream_options", "is only for requests with stream."),
    ({"stream": True, "stream_options": 1}, "stream_options", "stream_options is an integer; it"),
    ({"stream": True, "stream_options": {"x": 1}}, "stream_options", 'has no field "x".'),
    ({"n": 2}, "n", "n is 2; only 1 is supported."),
    ({"n": True}, "n", "n is true; only 1 is supported."),
    ({"logprobs": 0}, "logprobs", "logprobs is 0; only false is supported."),
    ({"tools": [{}]}, "tools", "tools is [{}]; it is not supported."),
    ({"suffix": "x" * 99}, "suffix", "x…; it is not supported."),
    ({"messages": []}, None, 'There is no field "messages".'),
    ({"prmpt\n": 1}, None, 'There is no field "prmpt\\n".'),
]


@pytest.mark.parametrize(("fields", "param", "message"), WRONG)
def test_what_is_refused(fields: dict[str, Any], param: str | None, message: str) -> None:
    with pytest.raises(Refused) as error:
        completion(**fields)
    assert message in str(error.value) and error.value.param == param
    details: Any = error.value.body()["error"]
    assert details["type"] == "invalid_request_error" and error.value.status == 400
    json.dumps(error.value.body(), ensure_ascii=False).encode()


WRONG_MESSAGES: list[tuple[Any, str, str]] = [
    ("Hi", "messages[0]", "messages[0] is a string; it has to be an object."),
    ({"content": "a"}, "messages[0].role", "messages[0].role is null; it has to be one of system"),
    ({"role": "tool", "content": "a"}, "messages[0].role", '"tool"; it has to be one of system'),
    ({"role": 1, "content": "a"}, "messages[0].role", "is an integer; it has to be a string."),
    ({"role": "user"}, "messages[0].content", "is null; it has to be a string or a list of parts"),
    ({"role": "user", "content": 1}, "messages[0].content", "is an integer; it has to be a str"),
    ({**USER, "name": "Emma"}, "messages[0].name", '"Emma"; it is not supported.'),
    ({**USER, "tool_calls": [1]}, "messages[0].tool_calls", "[1]; it is not supported."),
    ({**USER, "content": ["a"]}, "messages[0].content[0]", "a string; it has to be an object."),
    ({**USER, "content": [{"type": "image_url"}]}, "messages[0].content[0].type",
     '"image_url"; only text is supported.'),
    ({**USER, "content": [{"type": "text"}]}, "messages[0].content[0].text", "is null; it has to"),
    ({**USER, "content": "\udfff"}, "messages[0].content", "is no text: surrogates not allowed."),
]  # fmt: skip


@pytest.mark.parametrize(("message", "param", "said"), WRONG_MESSAGES)
def test_messages_that_are_refused(message: Any, param: str, said: str) -> None:
    with pytest.raises(Refused) as error:
        chat(message)
    assert said in str(error.value) and error.value.param == param


BODIES = (b"", b"{", b"\xff", b"[]", b"3", b'{"a": NaN}', b"[" * 100_000, b"9" * 9999)


@pytest.mark.parametrize("body", BODIES)
def test_bodies_that_are_none(body: bytes) -> None:
    with pytest.raises(Refused, match=r"no JSON: |has to be an object"):
        parse(body)


def test_random_values_are_taken_or_refused() -> None:
    """Nothing but Refused is raised, whatever a field holds."""
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
                outcomes.add("taken")
            except Refused as refused:
                json.dumps(refused.body(), ensure_ascii=False).encode()
                outcomes.add("refused")
    assert outcomes == {"taken", "refused"}


def test_texts_end_before_what_stops_them() -> None:
    """However the text is cut into pieces, what comes is the same, and no later than it can."""
    choose = random.Random(5)
    for _ in range(3000):
        text = "".join(choose.choices("ab", k=choose.randrange(12)))
        wanted = ["".join(choose.choices("ab", k=choose.randrange(1, 5))) for _ in range(2)]
        ends = [(text.index(stop) + len(stop), stop) for stop in wanted if stop in text]
        first, stop = min(ends, key=lambda end: (end[0], -len(end[1])), default=(len(text), ""))
        stops, said, start = Stops(wanted), "", 0
        while start < len(text):
            end = start + choose.randrange(1, 4)
            said += stops.add(text[start:end])
            if not stops.found:
                held = text[len(said) : end]
                assert not held or any(stop.startswith(held) for stop in wanted)
            start = end
        said += stops.rest()
        assert said == text[: first - len(stop)], (text, wanted)
        assert stops.found == bool(ends)


class Bytes:
    """A model that says one text, a byte a token."""

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


def test_a_reply_is_cut_between_characters() -> None:
    text = "naïve 🙂 café 🙂"
    size = len(text.encode())
    for tokens, stop, said, finish, count in (
        (99, (), text, "stop", size),
        (size, (), text, "length", size),
        (99, ("é 🙁", "🙂"), "naïve ", "stop", 11),
        (99, ("fé",), "naïve 🙂 ca", "stop", 17),
        (9, (), "naïve �", "length", 9),
    ):
        reply = reply_of(text, tokens, *stop)
        pieces = list(reply)
        assert "".join(pieces) == said and "�" not in "".join(pieces[:-1])
        assert (reply.prompt_tokens, reply.tokens, reply.finish) == (2, count, finish)


def test_requests_take_turns_in_order() -> None:
    """One at a time, while the event loop goes on."""
    busy = threading.Lock()

    def text(name: str) -> Iterator[str]:
        for i in range(3):
            assert busy.acquire(blocking=False), "two run at once"
            time.sleep(0.01)
            busy.release()
            yield "" if i == 1 else f"{name}{i}"

    async def main() -> None:
        order: list[str] = []
        waits = Turns()

        async def ask(name: str) -> None:
            async with aclosing(waits.run(text(name))) as pieces:
                order.extend([piece async for piece in pieces][-1:])

        began = time.monotonic()
        tasks = [asyncio.create_task(ask(name)) for name in "abcd"]
        await asyncio.sleep(0)
        assert time.monotonic() - began < 0.03, "the loop does not wait"
        await asyncio.gather(*tasks)
        assert order == ["a2", "b2", "c2", "d2"]
        waits.close()

    asyncio.run(main())


def test_who_goes_away_makes_room() -> None:
    made: dict[str, int] = {"first": 0, "second": 0}

    def endless(name: str) -> Iterator[str]:
        while True:
            made[name] += 1
            yield "a"

    async def main() -> None:
        waits = Turns()
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


def test_too_many_are_refused_and_an_end_ends_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_queue, "MOST_WAITING", 1)

    async def main() -> None:
        waits, go_on = Turns(), threading.Event()

        def text() -> Iterator[str]:
            yield "a"
            go_on.wait(30)
            yield "b"

        first = waits.run(text())
        assert await anext(first) == "a"
        waits.check_room()
        second = asyncio.ensure_future(anext(waits.run(text())))
        await asyncio.sleep(0)
        with pytest.raises(Refused, match="1 requests wait") as error:
            waits.check_room()
        assert error.value.status == 503
        waits.closing()
        go_on.set()
        for ending in (anext(first), second, anext(waits.run(text()))):
            with pytest.raises(Refused, match="The server is ending"):
                await ending
        waits.close()

    asyncio.run(main())


def test_failures_reach_who_asked() -> None:
    def lost() -> Iterator[str]:
        yield "a"
        raise DeviceLost("The device is gone.")

    async def main() -> None:
        waits = Turns()
        pieces = waits.run(lost())
        assert await anext(pieces) == "a" and waits.failure is None
        with pytest.raises(DeviceLost):
            await anext(pieces)
        assert waits.failure == "The device is gone."
        waits.close()

    asyncio.run(main())
