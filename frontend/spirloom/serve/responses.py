"""Generated text with stop sequences as responses and stream events in OpenAI's format."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from spirloom.llm import LLM, Sampling
from spirloom.llm.text import StreamDecoder


class StopSequences:
    """Truncates a streamed text before the first complete stop sequence.

    The result does not depend on how the text is split into pieces. A possible prefix of a stop
    sequence is buffered until the next piece.
    """

    def __init__(self, texts: Collection[str]) -> None:
        """`texts` must not contain an empty string."""
        self._texts = texts
        self._pending = ""
        self.found = False

    def add(self, piece: str) -> str:
        """Adds a piece and returns the text that can be emitted; "" after a stop sequence."""
        if self.found:
            return ""
        text = self._pending + piece
        found = [(at + len(stop), at) for stop in self._texts if (at := text.find(stop)) >= 0]
        if found:
            self.found, self._pending = True, ""
            return text[: min(found)[1]]
        end = len(text) - max((_prefix_length(text, stop) for stop in self._texts), default=0)
        self._pending = text[end:]
        return text[:end]

    def rest(self) -> str:
        """The buffered text, after the last piece."""
        pending, self._pending = self._pending, ""
        return pending


def _prefix_length(text: str, stop: str) -> int:
    """The length of the longest proper prefix of `stop` that the text ends with."""
    longest = min(len(text), len(stop) - 1)
    return next((size for size in range(longest, 0, -1) if text.endswith(stop[:size])), 0)


class Reply:
    """A generated text. Iterate once, in the model's thread; then `tokens` and `finish` are set."""

    def __init__(
        self,
        llm: LLM,
        prompt: Sequence[int],
        tokens: int,
        sampling: Sampling,
        stop: Collection[str],
    ) -> None:
        """Generates at most `tokens` tokens, up to an end-of-text token or one of `stop`. Raises
        InvalidArgument for an invalid prompt; does not use the device.
        """
        self._found = llm.generate_tokens(prompt, tokens=tokens, sampling=sampling)
        self._streamed, self._stops = StreamDecoder(llm.tokenizer), StopSequences(stop)
        self._max_tokens = tokens
        self.prompt_tokens = len(prompt)
        self.tokens = 0
        """The number of generated tokens, without the end-of-text token."""
        self.finish = "length"
        """OpenAI's finish_reason: `length` or `stop`."""

    def __iter__(self) -> Iterator[str]:
        """Yields one piece of text per token, often empty, and a last one."""
        # The iterator must own the generator: abandoning the iteration then ends generation.
        found, self._found = self._found, iter(())
        for token in found:
            self.tokens += 1
            yield self._stops.add(self._streamed.add(token))
            if self._stops.found:
                break
        yield self._stops.add(self._streamed.finish()) + self._stops.rest()
        if self._stops.found or self.tokens < self._max_tokens:
            self.finish = "stop"


END_OF_EVENTS = "data: [DONE]\n\n"


def event(data: object) -> str:
    """A server-sent event with JSON data (without line breaks)."""
    return f"data: {json.dumps(data)}\n\n"


@dataclass(frozen=True, slots=True)
class ResponseFormat:
    """The response format of a route."""

    prefix: str
    """Prefix of response ids."""
    object_type: str
    """`object` of a complete response."""
    chunk_type: str
    """`object` of a stream event."""
    choice: Callable[[str], dict[str, Any]]
    """Fields of a choice for its complete text."""
    delta: Callable[[str], dict[str, Any]]
    """Fields of a choice in a stream event: a piece of text, or "" at the end."""
    first_delta: dict[str, Any] | None
    """Fields of a choice in the first stream event; None: no such event."""


COMPLETION = ResponseFormat(
    prefix="cmpl",
    object_type="text_completion",
    chunk_type="text_completion",
    choice=lambda text: {"text": text},
    delta=lambda text: {"text": text},
    first_delta=None,
)
CHAT = ResponseFormat(
    prefix="chatcmpl",
    object_type="chat.completion",
    chunk_type="chat.completion.chunk",
    choice=lambda text: {"message": {"role": "assistant", "content": text, "refusal": None}},
    delta=lambda text: {"delta": {"content": text} if text else {}},
    first_delta={"delta": {"role": "assistant", "content": ""}},
)


@dataclass(frozen=True, slots=True)
class Answer:
    """Builds one response in a format, with one choice per text."""

    form: ResponseFormat
    model: str
    include_usage: bool
    """Whether a stream reports token counts."""
    created: int = field(default_factory=lambda: int(time.time()))
    id: str = field(default_factory=lambda: secrets.token_hex(12))

    def whole(self, texts: Sequence[str], replies: Sequence[Reply]) -> dict[str, Any]:
        """The complete response."""
        choices = [
            _choice(index, self.form.choice(text), reply.finish)
            for index, (text, reply) in enumerate(zip(texts, replies, strict=True))
        ]
        return self._head(self.form.object_type) | {"choices": choices, "usage": _usage(replies)}

    def beginning(self, index: int) -> str:
        """The event before the first piece of a choice; "" if there is none."""
        first = self.form.first_delta
        return "" if first is None else self._chunk([_choice(index, first)])

    def piece(self, index: int, text: str) -> str:
        """The event of a piece."""
        return self._chunk([_choice(index, self.form.delta(text))])

    def ending(self, index: int, reply: Reply) -> str:
        """The event after the last piece of a choice."""
        return self._chunk([_choice(index, self.form.delta(""), reply.finish)])

    def usage(self, replies: Sequence[Reply]) -> str:
        """The event with token counts after all choices; "" unless requested."""
        return self._chunk([], _usage(replies)) if self.include_usage else ""

    def _chunk(self, choices: list[dict[str, Any]], usage: dict[str, int] | None = None) -> str:
        usage_field = {"usage": usage} if self.include_usage else {}
        return event(self._head(self.form.chunk_type) | {"choices": choices} | usage_field)

    def _head(self, kind: str) -> dict[str, Any]:
        return {
            "id": f"{self.form.prefix}-{self.id}",
            "object": kind,
            "created": self.created,
            "model": self.model,
        }


def _choice(index: int, text: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {"index": index, **text, "logprobs": None, "finish_reason": finish}


def _usage(replies: Sequence[Reply]) -> dict[str, int]:
    prompt = sum(reply.prompt_tokens for reply in replies)
    completion = sum(reply.tokens for reply in replies)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }
