"""What a client asks for: every field of the two requests, read in one place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spirloom.llm import Sampling
from spirloom.serve.validation import Fields, Refused, blaming, checked_text, quoted, type_of

Prompt = str | list[int]

MAX_STOPS = 4
MAX_STOP_LETTERS = 1000
MAX_PROMPTS = 64

_READ = ("model", "temperature", "top_p", "top_k", "seed", "stop", "stream", "stream_options")
_READ_OF_COMPLETIONS = (*_READ, "max_tokens", "prompt")
_READ_OF_CHATS = (*_READ, "max_tokens", "max_completion_tokens", "messages")

# What says nothing of the text.
_WITHOUT_EFFECT = (
    "metadata", "prompt_cache_key", "prompt_cache_retention", "safety_identifier", "service_tier",
    "store", "user",
)  # fmt: skip

# OpenAI's other fields, with the values that ask for nothing; those that are empty do so, too.
_ONLY: Mapping[str, Sequence[object]] = {
    "audio": (),
    "best_of": (1,),
    "echo": (False,),
    "frequency_penalty": (0, 0.0),
    "function_call": ("none", "auto"),
    "functions": (),
    "logit_bias": (),
    "logprobs": (False,),
    "modalities": (["text"],),
    "n": (1,),
    "parallel_tool_calls": (False, True),
    "prediction": (),
    "presence_penalty": (0, 0.0),
    "reasoning_effort": (),
    "response_format": ({"type": "text"},),
    "suffix": (),
    "tool_choice": ("none", "auto"),
    "tools": (),
    "top_logprobs": (0,),
    "verbosity": (),
    "web_search_options": (),
}

# OpenAI's roles as chat templates call them.
_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}


@dataclass(frozen=True, slots=True)
class Options:
    """What both requests say. `tokens`: at most so many; None: unless told."""

    model: str | None
    tokens: int | None
    sampling: Sampling
    stop: tuple[str, ...]
    stream: bool
    include_usage: bool


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """Texts, or tokens, that are to be continued, each by itself."""

    options: Options
    prompts: list[Prompt]


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A conversation that is to be replied to: each message a `role` and a `content`."""

    options: Options
    messages: list[dict[str, str]]


def read_completion(fields: Fields) -> CompletionRequest:
    """Of POST /v1/completions. Raises Refused."""
    _check_names(fields, _READ_OF_COMPLETIONS)
    return CompletionRequest(_options(fields, "max_tokens"), _prompts(fields))


def read_chat(fields: Fields) -> ChatRequest:
    """Of POST /v1/chat/completions. Raises Refused."""
    _check_names(fields, _READ_OF_CHATS)
    return ChatRequest(_options(fields, "max_completion_tokens", "max_tokens"), _messages(fields))


def _check_names(fields: Fields, known: Sequence[str]) -> None:
    for name in fields.names():
        if name in _ONLY:
            fields.only(name, _ONLY[name])
        elif name not in known and name not in _WITHOUT_EFFECT:
            raise Refused(f"There is no field {quoted(name)}.", code="unknown_parameter")


def _options(fields: Fields, *names_of_tokens: str) -> Options:
    """The first of the names that is there says how many tokens."""
    counts = [(name, fields.integer(name)) for name in names_of_tokens]
    name, tokens = next((pair for pair in counts if pair[1] is not None), counts[0])
    if tokens is not None and tokens < 1:
        raise Refused(f"{name} is {tokens}; it has to be at least 1.", param=name)
    stream = fields.flag("stream")
    return Options(
        model=fields.text("model"),
        tokens=tokens,
        sampling=_sampling(fields),
        stop=_stop(fields),
        stream=stream,
        include_usage=_include_usage(fields, stream),
    )


def _sampling(fields: Fields) -> Sampling:
    """As OpenAI's, a text is drawn unless told otherwise; with temperature 0 it is not."""
    temperature, top_p = fields.number("temperature"), fields.number("top_p")
    given: dict[str, Any] = {
        "temperature": 1.0 if temperature is None else temperature,
        "top_p": 1.0 if top_p is None else top_p,
        "top_k": fields.integer("top_k") or 0,
        "seed": fields.integer("seed"),
    }
    for name, value in given.items():
        with blaming(name):
            Sampling(**{name: value})
    return Sampling(**given)


def _stop(fields: Fields) -> tuple[str, ...]:
    found = fields.get("stop")
    if found is None:
        return ()
    texts = [found] if isinstance(found, str) else found
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise fields.refuse("stop", "a string or a list of strings")
    if len(texts) > MAX_STOPS:
        raise Refused(f"stop holds {len(texts)} texts; {MAX_STOPS} is the most.", param="stop")
    for text in texts:
        if not 0 < len(text) <= MAX_STOP_LETTERS:
            raise Refused(
                f"stop holds a text of {len(text)} characters; 1 to {MAX_STOP_LETTERS} are taken.",
                param="stop",
            )
    return tuple(texts)


def _include_usage(fields: Fields, stream: bool) -> bool:
    if (value := fields.get("stream_options")) is None:
        return False
    if not stream:
        raise Refused("stream_options is only for requests with stream.", param="stream_options")
    options = Fields(value, "stream_options")
    for name in options.names():
        if name == "include_obfuscation":
            options.only(name, (False,))
        elif name != "include_usage":
            raise Refused(f"stream_options has no field {quoted(name)}.", param="stream_options")
    return options.flag("include_usage")


def _prompts(fields: Fields) -> list[Prompt]:
    """A text, the numbers of tokens, or a list of either."""
    value = fields.get("prompt")
    several = isinstance(value, list) and not _is_tokens(value)
    prompts = value if several else [value]
    if not 0 < len(prompts) <= MAX_PROMPTS:
        raise Refused(
            f"prompt holds {len(prompts)} prompts; 1 to {MAX_PROMPTS} are taken.", param="prompt"
        )
    return [_prompt(fields, one) for one in prompts]


def _prompt(fields: Fields, value: object) -> Prompt:
    if isinstance(value, str):
        return checked_text(value, "prompt")
    if isinstance(value, list) and _is_tokens(value):
        return value
    raise fields.refuse("prompt", "a string, a list of tokens, which are integers, or of such")


def _is_tokens(values: list[object]) -> bool:
    return bool(values) and all(type(value) is int for value in values)


def _messages(fields: Fields) -> list[dict[str, str]]:
    values = fields.get("messages")
    if not isinstance(values, list):
        raise fields.refuse("messages", "a list of objects")
    return [_message(Fields(value, f"messages[{i}]")) for i, value in enumerate(values)]


def _message(fields: Fields) -> dict[str, str]:
    for name in fields.names():
        if name not in ("role", "content"):
            fields.only(name, ())
    role, place = fields.text("role"), fields.name("role")
    if role not in _ROLES:
        known = ", ".join(_ROLES)
        raise Refused(f"{place} is {quoted(role)}; it has to be one of {known}.", param=place)
    return {"role": _ROLES[role], "content": _content(fields)}


def _content(fields: Fields) -> str:
    """A text, or several parts, which are one text together."""
    value = fields.get("content")
    if not isinstance(value, list):
        found = fields.text("content")
        if found is None:
            raise fields.refuse("content", "a string or a list of parts of type text")
        return found
    return "".join(_part(part, f"{fields.name('content')}[{i}]") for i, part in enumerate(value))


def _part(value: object, place: str) -> str:
    part = Fields(value, place)
    kind, text = part.text("type"), part.text("text")
    if kind != "text":
        name = part.name("type")
        raise Refused(f"{name} is {quoted(kind)}; only text is supported.", param=name)
    if text is None:
        raise Refused(f"{part.name('text')} is {type_of(text)}; it has to be a string.",
                      param=part.name("text"))  # fmt: skip
    return text
