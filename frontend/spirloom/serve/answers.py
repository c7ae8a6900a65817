"""What is sent back, in OpenAI's words: answers, and the events of those that are streamed."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from spirloom.serve.reply import Reply

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
