"""Generated text with stop sequences as responses and stream events in OpenAI's format."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from spirloom.llm import LLM, Sampling
from spirloom.llm.text import Streamed


class Stops:
    """Takes pieces of a text and gives what stands before the text that stops it.

    That is the one that is whole first, however the pieces are cut. What may be the beginning of
    one is held back until more is known.
    """

    def __init__(self, texts: Collection[str]) -> None:
        """None of the texts is empty."""
        self._texts = texts
        self._held = ""
        self.found = False

    def add(self, piece: str) -> str:
        """What can be said now; nothing more once one is found."""
        if self.found:
            return ""
        text = self._held + piece
        found = [(at + len(stop), at) for stop in self._texts if (at := text.find(stop)) >= 0]
        if found:
            self.found, self._held = True, ""
            return text[: min(found)[1]]
        end = len(text) - max((_begun(text, stop) for stop in self._texts), default=0)
        self._held = text[end:]
        return text[:end]

    def rest(self) -> str:
        """What was held back, as the text has ended."""
        held, self._held = self._held, ""
        return held


def _begun(text: str, stop: str) -> int:
    """How many of its first letters the text ends with; less than all."""
    most = min(len(text), len(stop) - 1)
    return next((size for size in range(most, 0, -1) if text.endswith(stop[:size])), 0)


class Reply:
    """Iterate over it once, where the model may run; then `tokens` and `finish` hold."""

    def __init__(
        self,
        llm: LLM,
        prompt: Sequence[int],
        tokens: int,
        sampling: Sampling,
        stop: Collection[str],
    ) -> None:
        """At most so many tokens, up to the model's end of a text or one of `stop`. Raises
        InvalidArgument at once for a prompt that the model cannot take; does not use the device.
        """
        self._found = llm.generate_tokens(prompt, tokens=tokens, sampling=sampling)
        self._streamed, self._stops = Streamed(llm.tokenizer), Stops(stop)
        self._most = tokens
        self.prompt_tokens = len(prompt)
        self.tokens = 0
        """How many the model chose; its end of a text is not counted."""
        self.finish = "length"
        """As OpenAI calls it: `length` or `stop`."""

    def __iter__(self) -> Iterator[str]:
        """A piece of the text for each token, often an empty one, and one for the end."""
        # Not kept by the reply, so that a text that is left ends with this iteration.
        found, self._found = self._found, iter(())
        for token in found:
            self.tokens += 1
            yield self._stops.add(self._streamed.add(token))
            if self._stops.found:
                break
        yield self._stops.add(self._streamed.rest()) + self._stops.rest()
        if self._stops.found or self.tokens < self._most:
            self.finish = "stop"


END_OF_EVENTS = "data: [DONE]\n\n"


def event(data: object) -> str:
    """One event of a stream; this JSON has no line breaks."""
    return f"data: {json.dumps(data)}\n\n"


@dataclass(frozen=True, slots=True)
class Form:
    """In what the answers of the two routes differ."""

    prefix: str
    """What ids begin with."""
    whole: str
    chunk: str
    """What OpenAI calls an answer, and an event."""
    said: Callable[[str], dict[str, Any]]
    """What a choice says of its whole text,"""
    added: Callable[[str], dict[str, Any]]
    """of a piece of it, or of none at its end,"""
    begun: dict[str, Any] | None
    """and before its first one."""


COMPLETION = Form(
    prefix="cmpl",
    whole="text_completion",
    chunk="text_completion",
    said=lambda text: {"text": text},
    added=lambda text: {"text": text},
    begun=None,
)
CHAT = Form(
    prefix="chatcmpl",
    whole="chat.completion",
    chunk="chat.completion.chunk",
    said=lambda text: {"message": {"role": "assistant", "content": text, "refusal": None}},
    added=lambda text: {"delta": {"content": text} if text else {}},
    begun={"delta": {"role": "assistant", "content": ""}},
)


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of a form, by the model of that name; a choice for each text."""

    form: Form
    model: str
    include_usage: bool
    """Whether a stream tells how many tokens there were."""
    created: int = field(default_factory=lambda: int(time.time()))
    number: str = field(default_factory=lambda: secrets.token_hex(12))

    def whole(self, texts: Sequence[str], replies: Sequence[Reply]) -> dict[str, Any]:
        """All of it at once."""
        choices = [
            _choice(index, self.form.said(text), reply.finish)
            for index, (text, reply) in enumerate(zip(texts, replies, strict=True))
        ]
        return self._head(self.form.whole) | {"choices": choices, "usage": _usage(replies)}

    def beginning(self, index: int) -> str:
        """What comes before the first piece of a choice, which may be nothing."""
        begun = self.form.begun
        return "" if begun is None else self._chunk([_choice(index, begun)])

    def piece(self, index: int, text: str) -> str:
        """The event of a piece."""
        return self._chunk([_choice(index, self.form.added(text))])

    def ending(self, index: int, reply: Reply) -> str:
        """What comes after the last one."""
        return self._chunk([_choice(index, self.form.added(""), reply.finish)])

    def usage(self, replies: Sequence[Reply]) -> str:
        """What comes after the choices, which may be nothing."""
        return self._chunk([], _usage(replies)) if self.include_usage else ""

    def _chunk(self, choices: list[dict[str, Any]], usage: dict[str, int] | None = None) -> str:
        counted = {"usage": usage} if self.include_usage else {}
        return event(self._head(self.form.chunk) | {"choices": choices} | counted)

    def _head(self, kind: str) -> dict[str, Any]:
        return {
            "id": f"{self.form.prefix}-{self.number}",
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
