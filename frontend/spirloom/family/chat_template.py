"""Converts a Jinja chat template to pieces of text, so that running a model requires no Jinja.

The template is rendered with a marker as the content of each message; the text between the markers
are the pieces. They are accepted only if they reproduce the template's output for conversations of
several turns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from spirloom.errors import ImportFailure
from spirloom.family.template_renderer import RenderError, TemplateRenderer

Message = dict[str, str]
Render = Callable[[Sequence[Message], bool], str]

# Contents of the probe messages.
_MARKS = tuple(f"Zq{word}qZ" for word in ("one", "two", "three", "four", "five"))


def chat_pieces(template: str, tokens: Mapping[str, str]) -> dict[str, Any]:
    """The pieces of a Jinja chat template; `tokens` are its special tokens, such as bos_token.

    beginning   prefix of a conversation without a system message
    system      {before, after} of a system message, which replaces `beginning`;
                null if the template refuses system messages or writes them elsewhere
    user, assistant   {before, after}
    generate    prefix of a reply, after the last user message
    trim        whether whitespace around contents is stripped

    Raises ImportFailure for a template that is not such a concatenation.
    """
    try:
        with TemplateRenderer(template, tokens) as renderer:
            return _verified_pieces(renderer.render)
    except RenderError as error:
        raise ImportFailure(str(error)) from error


def _verified_pieces(render: Render) -> dict[str, Any]:
    pieces = _pieces(render)
    pieces["system"] = _system(render, pieces["user"]["before"])
    for trim in (False, True):
        pieces["trim"] = trim
        if _reproduces(pieces, render):
            return pieces
    raise ImportFailure("its output is not a concatenation of the messages")


def expand(pieces: Mapping[str, Any], messages: Sequence[Message], generate: bool) -> str:
    """Renders messages with the pieces."""
    system = bool(messages) and messages[0]["role"] == "system"
    text: str = "" if system else pieces["beginning"]
    for message in messages:
        affixes, content = pieces[message["role"]], message["content"]
        text += affixes["before"] + (content.strip() if pieces["trim"] else content)
        text += affixes["after"]
    return f"{text}{pieces['generate']}" if generate else text


def _conversation(*roles: str, blanks: str = "") -> list[Message]:
    marks = _MARKS[: len(roles)]
    return [
        {"role": role, "content": f"{blanks}{mark}{blanks}"}
        for role, mark in zip(roles, marks, strict=True)
    ]


def _between(text: str, count: int) -> list[str]:
    """The text before, between and after the first `count` marks."""
    parts = []
    for mark in _MARKS[:count]:
        before, found, text = text.partition(mark)
        if not found:
            raise ImportFailure("it omits a message")
        parts.append(before)
    return [*parts, text]


def _pieces(render: Render) -> dict[str, Any]:
    turns = _between(render(_conversation("user", "assistant", "user"), False), 3)
    first, user_to_assistant, assistant_to_user, user_after = turns
    assistant_after = _between(render(_conversation("user", "assistant"), False), 2)[-1]
    user_before = _without(assistant_to_user, assistant_after, "")
    asked = _between(render(_conversation("user"), True), 1)[-1]
    return {
        "beginning": _without(first, "", user_before),
        "user": {"before": user_before, "after": user_after},
        "assistant": {
            "before": _without(user_to_assistant, user_after, ""),
            "after": assistant_after,
        },
        "generate": _without(asked, user_after, ""),
    }


def _system(render: Render, user_before: str) -> dict[str, str] | None:
    try:
        before, after, _ = _between(render(_conversation("system", "user"), False), 2)
        return {"before": before, "after": _without(after, "", user_before)}
    except (ImportFailure, RenderError):
        return None


def _without(text: str, prefix: str, suffix: str) -> str:
    if not (text.startswith(prefix) and text.removeprefix(prefix).endswith(suffix)):
        raise ImportFailure("the text between two messages is not the suffix of the first and the "
                            "prefix of the second")  # fmt: skip
    return text.removeprefix(prefix).removesuffix(suffix)


def _reproduces(pieces: Mapping[str, Any], render: Render) -> bool:
    turns = ["user", "assistant", "user"]
    conversations = [turns, ["user"], [*turns, "assistant", "user"]]
    if pieces["system"] is not None:
        conversations += [["system", *turns], ["system", "user"]]
    return all(
        expand(pieces, messages, True) == render(messages, True)
        for roles in conversations
        for messages in (_conversation(*roles), _conversation(*roles, blanks=" \n"))
    )
