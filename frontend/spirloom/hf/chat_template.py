"""A chat template as plain pieces of text, so that what runs a model needs no Jinja.

The template is expanded over messages of which each content is a marker; what lies between the
markers are the pieces. They count only if they give what the template does, on a conversation of
several turns.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from spirloom.errors import ImportFailure

Message = dict[str, str]
Render = Callable[[Sequence[Message], bool], str]

_MAX_TEMPLATE = 1 << 20
# Contents, and the text that tells whether a template drops the blanks around one.
_MARKS = tuple(f"Zq{word}qZ" for word in ("one", "two", "three", "four", "five"))


def chat_pieces(template: str, tokens: Mapping[str, str]) -> dict[str, Any]:
    """The pieces of a Jinja chat template; `tokens` is what it may name, such as bos_token.

    beginning   before everything, of a conversation without a system message
    system      {before, after} of a system message, which then stands in place of `beginning`;
                null if the template takes none, or writes it elsewhere
    user, assistant   {before, after}
    generate    what a reply begins with, after the last user's message
    trim        whether blanks around contents are dropped

    Raises ImportFailure for a template that does something else.
    """
    render = _renderer(template, tokens)
    pieces = _pieces(render)
    pieces["system"] = _system(render, pieces["user"]["before"])
    for trim in (False, True):
        pieces["trim"] = trim
        if _reproduces(pieces, render):
            return pieces
    raise ImportFailure("a conversation is not its messages one after the other")


def expand(pieces: Mapping[str, Any], messages: Sequence[Message], generate: bool) -> str:
    """What the pieces make of messages."""
    system = bool(messages) and messages[0]["role"] == "system"
    text: str = "" if system else pieces["beginning"]
    for message in messages:
        around, content = pieces[message["role"]], message["content"]
        text += around["before"] + (content.strip() if pieces["trim"] else content)
        text += around["after"]
    return f"{text}{pieces['generate']}" if generate else text


def _renderer(template: str, tokens: Mapping[str, str]) -> Render:
    """As transformers expands them, but that the day of the import is not told."""
    from jinja2 import TemplateError
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    def fail(message: str) -> None:
        raise TemplateError(message)

    def to_json(value: object, **options: Any) -> str:
        return json.dumps(value, ensure_ascii=False, **options)

    if len(template) > _MAX_TEMPLATE:
        raise ImportFailure(f"it has more than {_MAX_TEMPLATE} characters")
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = to_json
    environment.globals["raise_exception"] = fail
    try:
        compiled = environment.from_string(template)
    except (TemplateError, RecursionError) as error:
        raise ImportFailure(f"it is no template ({error})") from error

    def render(messages: Sequence[Message], generate: bool) -> str:
        given = [dict(message) for message in messages]
        try:
            return compiled.render(messages=given, add_generation_prompt=generate, **tokens)
        except (TemplateError, RecursionError) as error:
            raise ImportFailure(f"it takes no such conversation ({error})") from error
        except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
            raise ImportFailure(f"it fails ({error})") from error

    return render


def _conversation(*roles: str, blanks: str = "") -> list[Message]:
    marks = _MARKS[: len(roles)]
    return [
        {"role": role, "content": f"{blanks}{mark}{blanks}"}
        for role, mark in zip(roles, marks, strict=True)
    ]


def _between(text: str, count: int) -> list[str]:
    """What lies before, between and after the first marks."""
    parts = []
    for mark in _MARKS[:count]:
        before, found, text = text.partition(mark)
        if not found:
            raise ImportFailure("it leaves a message out")
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
    except ImportFailure:
        return None


def _without(text: str, prefix: str, suffix: str) -> str:
    if not (text.startswith(prefix) and text.removeprefix(prefix).endswith(suffix)):
        raise ImportFailure("what stands between two messages is not the end of one and the "
                            "beginning of the other")  # fmt: skip
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
