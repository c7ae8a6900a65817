"""Parses completion and chat requests into options, prompts and messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spirloom.llm import Sampling
from spirloom.serve.validation import (
    Fields,
    RequestError,
    checked_string,
    quoted,
    request_errors,
    type_of,
)

Prompt = str | list[int]

MAX_STOPS = 4
MAX_STOP_LENGTH = 1000
MAX_PROMPTS = 64

_COMMON_FIELDS = (
    "model",
    "temperature",
    "top_p",
    "top_k",
    "seed",
    "stop",
    "stream",
    "stream_options",
)
_COMPLETION_FIELDS = (*_COMMON_FIELDS, "max_tokens", "prompt")
_CHAT_FIELDS = (*_COMMON_FIELDS, "max_tokens", "max_completion_tokens", "messages")

# Fields without effect on the text.
_IGNORED_FIELDS = (
    "metadata", "prompt_cache_key", "prompt_cache_retention", "safety_identifier", "service_tier",
    "store", "user",
)  # fmt: skip

# OpenAI's unsupported fields and their accepted values. Empty values are accepted too.
_SUPPORTED_VALUES: Mapping[str, Sequence[object]] = {
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

# OpenAI's roles → roles of chat templates.
_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}


@dataclass(frozen=True, slots=True)
class Options:
    """Fields common to both requests. `tokens`: maximum of new tokens; None: the default."""

    model: str | None
    tokens: int | None
    sampling: Sampling
    stop: tuple[str, ...]
    stream: bool
    include_usage: bool


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """Prompts, as texts or token ids, to be completed independently."""

    options: Options
    prompts: list[Prompt]


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A conversation. Each message has a `role` and a `content`."""

    options: Options
    messages: list[dict[str, str]]


def read_completion(fields: Fields) -> CompletionRequest:
    """Parses the body of POST /v1/completions. Raises RequestError."""
    _check_names(fields, _COMPLETION_FIELDS)
    return CompletionRequest(_options(fields, "max_tokens"), _prompts(fields))


def read_chat(fields: Fields) -> ChatRequest:
    """Parses the body of POST /v1/chat/completions. Raises RequestError."""
    _check_names(fields, _CHAT_FIELDS)
    return ChatRequest(_options(fields, "max_completion_tokens", "max_tokens"), _messages(fields))


def _check_names(fields: Fields, known: Sequence[str]) -> None:
    for name in fields.names():
        if name in _SUPPORTED_VALUES:
            fields.only(name, _SUPPORTED_VALUES[name])
        elif name not in known and name not in _IGNORED_FIELDS:
            raise RequestError(f"Unknown field {quoted(name)}.", code="unknown_parameter")


def _options(fields: Fields, *max_token_names: str) -> Options:
    """The first present field of `max_token_names` limits the number of new tokens."""
    counts = [(name, fields.integer(name)) for name in max_token_names]
    name, tokens = next((pair for pair in counts if pair[1] is not None), counts[0])
    if tokens is not None and tokens < 1:
        raise RequestError(f"{name} is {tokens}; expected at least 1.", param=name)
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
    """The default temperature is 1, as in OpenAI's API; temperature 0 is greedy decoding."""
    temperature, top_p = fields.number("temperature"), fields.number("top_p")
    settings: dict[str, Any] = {
        "temperature": 1.0 if temperature is None else temperature,
        "top_p": 1.0 if top_p is None else top_p,
        "top_k": fields.integer("top_k") or 0,
        "seed": fields.integer("seed"),
    }
    for name, value in settings.items():
        with request_errors(name):
            Sampling(**{name: value})
    return Sampling(**settings)


def _stop(fields: Fields) -> tuple[str, ...]:
    found = fields.get("stop")
    if found is None:
        return ()
    texts = [found] if isinstance(found, str) else found
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise fields.type_error("stop", "a string or a list of strings")
    if len(texts) > MAX_STOPS:
        raise RequestError(
            f"stop has {len(texts)} strings; at most {MAX_STOPS} are allowed.", param="stop"
        )
    for text in texts:
        if not 0 < len(text) <= MAX_STOP_LENGTH:
            raise RequestError(
                f"stop has a string of {len(text)} characters; expected 1 to {MAX_STOP_LENGTH}.",
                param="stop",
            )
    return tuple(texts)


def _include_usage(fields: Fields, stream: bool) -> bool:
    if (value := fields.get("stream_options")) is None:
        return False
    if not stream:
        raise RequestError("stream_options requires stream: true.", param="stream_options")
    options = Fields(value, "stream_options")
    for name in options.names():
        if name == "include_obfuscation":
            options.only(name, (False,))
        elif name != "include_usage":
            raise RequestError(
                f"stream_options has no field {quoted(name)}.", param="stream_options"
            )
    return options.flag("include_usage")


def _prompts(fields: Fields) -> list[Prompt]:
    """A text, a list of token ids, or a list of either."""
    value = fields.get("prompt")
    several = isinstance(value, list) and not _is_tokens(value)
    prompts = value if several else [value]
    if not 0 < len(prompts) <= MAX_PROMPTS:
        raise RequestError(
            f"prompt has {len(prompts)} prompts; expected 1 to {MAX_PROMPTS}.", param="prompt"
        )
    return [_prompt(fields, one) for one in prompts]


def _prompt(fields: Fields, value: object) -> Prompt:
    if isinstance(value, str):
        return checked_string(value, "prompt")
    if isinstance(value, list) and _is_tokens(value):
        return value
    raise fields.type_error("prompt", "a string, a list of integer token ids, or a list of either")


def _is_tokens(values: list[object]) -> bool:
    return bool(values) and all(type(value) is int for value in values)


def _messages(fields: Fields) -> list[dict[str, str]]:
    values = fields.get("messages")
    if not isinstance(values, list):
        raise fields.type_error("messages", "a list of objects")
    return [_message(Fields(value, f"messages[{i}]")) for i, value in enumerate(values)]


def _message(fields: Fields) -> dict[str, str]:
    for name in fields.names():
        if name not in ("role", "content"):
            fields.only(name, ())
    role, path = fields.text("role"), fields.name("role")
    if role not in _ROLES:
        known = ", ".join(_ROLES)
        raise RequestError(f"{path} is {quoted(role)}; expected one of {known}.", param=path)
    return {"role": _ROLES[role], "content": _content(fields)}


def _content(fields: Fields) -> str:
    """A string, or a list of text parts, which are concatenated."""
    value = fields.get("content")
    if not isinstance(value, list):
        found = fields.text("content")
        if found is None:
            raise fields.type_error("content", "a string or a list of parts of type text")
        return found
    return "".join(_part(part, f"{fields.name('content')}[{i}]") for i, part in enumerate(value))


def _part(value: object, path: str) -> str:
    part = Fields(value, path)
    kind, text = part.text("type"), part.text("text")
    if kind != "text":
        name = part.name("type")
        raise RequestError(f"{name} is {quoted(kind)}; only text is supported.", param=name)
    if text is None:
        raise RequestError(
            f"{part.name('text')} is {type_of(text)}; expected a string.", param=part.name("text")
        )
    return text
