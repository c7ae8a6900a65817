"""Language models: prefill and decode methods, sampling parameters, and generated text."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from time import perf_counter

import numpy as np
import numpy.typing as npt

from spirloom.family.text_metadata import TEXT_METADATA, TOKENIZER
from spirloom.llm.import_cache import imported, is_source, with_kv_cache
from spirloom.llm.prefill_chunks import PrefillLimits, next_chunk
from spirloom.llm.text import (
    StreamDecoder,
    TextMetadata,
    Tokenizer,
    max_token_length,
    parse_tokenizer,
    read_text_metadata,
    read_tokenizer,
)
from spirloom.runtime import load
from spirloom.runtime.errors import InvalidArgument, InvalidFile
from spirloom.runtime.runtime import Runtime

_MAX_FLOAT = float(np.finfo(np.float32).max)
_MAX_INT = int(np.iinfo(np.int32).max)
_SEEDS = np.iinfo(np.int64)


@dataclass(frozen=True, slots=True)
class Sampling:
    """Sampling parameters. `temperature` 0: greedy decoding. Otherwise tokens are sampled from
    softmax(logits / temperature), restricted to the `top_k` most likely (0: all) and, of these, to
    the smallest set whose probabilities sum up to `top_p`. Equal seeds, of 64 bits, give equal
    tokens; None: a random seed.
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int | None = None

    def __post_init__(self) -> None:
        """Raises InvalidArgument."""
        if not 0 <= self.temperature <= _MAX_FLOAT:
            raise InvalidArgument(
                f"temperature ({self.temperature}) must be between 0 and {_MAX_FLOAT:.7g}."
            )
        if not 0 <= self.top_k <= _MAX_INT:
            raise InvalidArgument(
                f"top_k ({self.top_k}) must be between 0, for all tokens, and {_MAX_INT}."
            )
        if not 0 < self.top_p <= 1:
            raise InvalidArgument(f"top_p ({self.top_p}) must be above 0 and at most 1.")
        if self.seed is not None and not _SEEDS.min <= self.seed <= _SEEDS.max:
            raise InvalidArgument(
                f"seed ({self.seed}) must be between {_SEEDS.min} and {_SEEDS.max}."
            )

    def states(self) -> dict[str, npt.NDArray[np.float32] | npt.NDArray[np.int32]]:
        """The values of the model's sampling states by name, [1] each."""
        seed = secrets.randbelow(_MAX_INT) if self.seed is None else _device_seed(self.seed)
        return {
            "temperature": np.array([self.temperature], np.float32),
            "top_k": np.array([self.top_k], np.int32),
            "top_p": np.array([self.top_p], np.float32),
            "seed": np.array([seed], np.int32),
        }


def _device_seed(seed: int) -> int:
    """The seed of the device, of 31 bits: the same number, or a digest of one that does not fit."""
    if 0 <= seed <= _MAX_INT:
        return seed
    digest = hashlib.blake2b(seed.to_bytes(8, "little", signed=True), digest_size=4).digest()
    return int.from_bytes(digest, "little") & _MAX_INT


class ContextExceeded(InvalidArgument):
    """A prompt that does not fit the context, alone or with the requested tokens."""


# Decode steps are submitted in batches, because the device is idle between submissions. The time
# of a batch is bounded so that text does not appear in visible bursts.
MAX_BATCHED_STEPS = 16
BURST_SECONDS = 0.02
_STATES = ("position", "token", "tokens", *Sampling().states())


class LLM:
    """A language model from a graph file with the methods `prefill` and `decode`, or from a GGUF
    file or a Hugging Face directory, which is imported on first use (`spirloom.llm.import_cache`).

    Generates one text at a time. `tokenizer`: a tokenizer or the path of a tokenizer.json (default:
    the file's), which is read on first use. A tokenizer object adds BOS itself, if required.
    """

    def __init__(
        self,
        model: str | os.PathLike[str],
        *,
        tokenizer: Tokenizer | str | os.PathLike[str] | None = None,
        runtime: Runtime | None = None,
        reuse: bool = False,
        context: int | None = None,
        kv_cache: str | None = None,
    ) -> None:
        """`reuse`: keeps the KV cache of the longest common prefix with the previous text. Rounding
        may then differ, as with other prefill chunks. `context`: rows of the KV caches of a model
        that is imported (default: the training context, at most 4096). `kv_cache`: their dtype,
        f32, f16, bf16, f8_e4m3, f8_e5m2, int8 or int4 (default: the file's, or that of activations
        of a model that is imported). Raises SpirloomError.
        """
        if is_source(Path(model)):
            model = imported(Path(model), context, kv_cache)
        elif context is not None:
            raise InvalidArgument(
                f"{model} is a graph file, whose context is set when it is imported; context= is "
                "for GGUF files and Hugging Face directories."
            )
        elif kv_cache is not None:
            model = with_kv_cache(Path(model), kv_cache)
        self._prefill = load(model, runtime, method="prefill", max_cached_shapes=32)
        self._decode = self._prefill.context("decode", share_states=True)
        states = {info.name: info for info in self._decode.states.infos}
        missing = [name for name in _STATES if name not in states]
        if missing:
            raise InvalidFile(
                f"{model} is not a language model: it has no state {missing[0]!r}. Create one with "
                "spirloom import from a Hugging Face directory or a GGUF file."
            )
        self._name = str(model)
        self._context = int(states["tokens"].shape[0])
        row_per_token = all(
            info.shape[1:2] == (self._context,)  # a row per token
            for name, info in states.items()
            if name not in _STATES
        )
        self._reuse = reuse and row_per_token
        self._cached_tokens: list[int] = []  # tokens whose rows are in the KV caches
        symbols = self._prefill.symbols
        self._limits = PrefillLimits(
            symbols[0].max if symbols else 1, self._context, can_pad=row_per_token
        )
        attachments = self._prefill.attachments
        self._metadata = (
            read_text_metadata(attachments[TEXT_METADATA])
            if TEXT_METADATA in attachments
            else TextMetadata()
        )
        self._tokenizer_argument = tokenizer
        self._tokenizer: Tokenizer | None = None

    def __repr__(self) -> str:
        return f"<spirloom.LLM {self._name!r}, context {self._context}>"

    @property
    def context(self) -> int:
        """The maximum number of tokens of a prompt and its continuation together."""
        return self._context

    @property
    def tokenizer(self) -> Tokenizer:
        """Converts between text and tokens. Raises SpirloomError if it cannot be read."""
        if self._tokenizer is None:
            self._tokenizer = self._load_tokenizer()
        return self._tokenizer

    @property
    def max_prompt_length(self) -> int | None:
        """The number of characters above which no prompt fits the context; None if the tokenizer
        is an object of the caller. Raises SpirloomError if the tokenizer cannot be read."""
        longest = max_token_length(self.tokenizer)
        return None if longest is None else self._context * longest

    def generate(
        self,
        prompt: str,
        *,
        tokens: int = 64,
        temperature: float = 0.0,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int | None = None,
        stop: Collection[int] | None = None,
    ) -> Iterator[str]:
        """Streams the continuation of a prompt: up to `tokens` tokens, before the first of `stop`
        (default: the model's EOS tokens). The other arguments are those of Sampling. Raises
        SpirloomError before the first piece.
        """
        sampling = Sampling(temperature, top_k, top_p, seed)
        return self._text(self.encode(prompt), tokens, sampling, stop)

    def chat(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        tokens: int = 64,
        temperature: float = 0.0,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int | None = None,
        stop: Collection[int] | None = None,
    ) -> Iterator[str]:
        """Streams the reply to a conversation, rendered with the model's chat template. A message
        has a `role` (user, assistant, or system for the first) and a `content`. Otherwise like
        generate(). Raises Unsupported for a model without a chat template.
        """
        sampling = Sampling(temperature, top_k, top_p, seed)
        return self._text(self.encode_chat(messages), tokens, sampling, stop)

    def encode(self, prompt: str) -> list[int]:
        """The prompt tokens of generate(), including BOS if the model requires it. Uses no device.
        Raises ContextExceeded for more than `max_prompt_length` characters, and SpirloomError.
        """
        return [*self._bos(), *self._encode(prompt)]

    def encode_chat(self, messages: Sequence[Mapping[str, str]]) -> list[int]:
        """The prompt tokens of chat(). Uses no device. Raises the errors of chat()."""
        return list(self._encode(self._metadata.conversation(messages)))

    def generate_tokens(
        self,
        prompt: Sequence[int],
        *,
        tokens: int = 64,
        sampling: Sampling | None = None,
        stop: Collection[int] | None = None,
    ) -> Iterator[int]:
        """generate() for tokens instead of text. Requires no tokenizer."""
        if tokens < 1:
            raise InvalidArgument(f"tokens ({tokens}) must be at least 1.")
        if not prompt:
            raise InvalidArgument("The prompt is empty; it needs at least one token.")
        vocab_size = self._prefill.outputs[0].shape[-1]
        if unknown := [token for token in prompt if not 0 <= token < vocab_size]:
            raise InvalidArgument(
                f"The prompt's token {unknown[0]} is not in 0 … {vocab_size - 1}. The tokenizer "
                "does not match the model."
            )
        if len(prompt) + tokens > self._context:
            raise ContextExceeded(
                f"A prompt of {len(prompt)} tokens and {tokens} new tokens exceed the context of "
                f"{self._context}. Request fewer, or import the model with a larger --context."
            )
        stops = self._metadata.eos if stop is None else stop
        return _until(self._generated(prompt, tokens, sampling or Sampling()), stops)

    def close(self) -> None:
        """Releases the model and its memory."""
        self._decode.close()
        self._prefill.close()

    def _load_tokenizer(self) -> Tokenizer:
        if isinstance(self._tokenizer_argument, str | os.PathLike):
            return read_tokenizer(Path(self._tokenizer_argument))
        if self._tokenizer_argument is not None:
            return self._tokenizer_argument
        data = self._prefill.attachments.get(TOKENIZER)
        if data is None:
            raise InvalidFile(
                f"{self._name} has no attachment {TOKENIZER}. Import the model from a directory "
                "that has one, or pass tokenizer=."
            )
        return parse_tokenizer(data, f"The {TOKENIZER} in {self._name}")

    def _encode(self, text: str) -> Sequence[int]:
        """Checks the length first: tokenizing takes seconds and gigabytes for long texts."""
        limit = self.max_prompt_length
        if limit is not None and len(text) > limit:
            raise ContextExceeded(
                f"The prompt has {len(text)} characters; more than {limit} never fit the context "
                f"of {self._context} tokens."
            )
        return self.tokenizer.encode(text)

    def _bos(self) -> list[int]:
        adds_bos = not self._tokenizer_argument or isinstance(
            self._tokenizer_argument, str | os.PathLike
        )
        return [self._metadata.bos] if adds_bos and self._metadata.bos is not None else []

    def _text(
        self,
        prompt: Sequence[int],
        tokens: int,
        sampling: Sampling,
        stop: Collection[int] | None,
    ) -> Iterator[str]:
        found = self.generate_tokens(prompt, tokens=tokens, sampling=sampling, stop=stop)
        return _detokenized(found, StreamDecoder(self.tokenizer))

    def _prefill_prompt(self, prompt: Sequence[int], sampling: Sampling) -> None:
        """Resets the states, or keeps the rows of a common prefix, and prefills the rest of the
        prompt in chunks (next_chunk). The last run samples the first new token.
        """
        kept = self._common_prefix(prompt)
        self._cached_tokens = []
        if kept:
            self._prefill.states["position"] = np.array([kept], np.int32)
        else:
            self._prefill.reset_states()
        for name, value in sampling.states().items():
            self._prefill.states[name] = value
        position = kept
        while position < len(prompt):
            chunk = next_chunk(len(prompt) - position, position, self._limits)
            tokens = prompt[position : position + chunk.tokens]
            position += chunk.tokens
            if chunk.length == 0:
                self._decode.states["token"] = np.array(tokens, np.int32)
                self._decode()
                continue
            self._prefill(np.array([[*tokens, *[0] * (chunk.length - len(tokens))]], np.int32))
            if chunk.length > chunk.tokens:
                # The next run overwrites the rows of the padding.
                self._decode.states["position"] = np.array([position], np.int32)
        self._cached_tokens = list(prompt)

    def _common_prefix(self, prompt: Sequence[int]) -> int:
        """The number of prompt tokens in the KV cache, without the last, which must be read."""
        if not self._reuse:
            return 0
        pairs = zip(self._cached_tokens, prompt[:-1], strict=False)
        return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))

    def _generated(self, prompt: Sequence[int], tokens: int, sampling: Sampling) -> Iterator[int]:
        """Samples on the device, in batches of decode steps."""
        self._prefill_prompt(prompt, sampling)
        begin, end, known = len(prompt), len(prompt) + tokens, len(prompt) + 1
        batch = 1
        while True:
            sampled = self._decode.states.rows("tokens", begin, known).tolist()
            self._cached_tokens += sampled[:-1]  # the next step writes the last token's rows
            yield from sampled
            if known == end:
                return
            steps, start = min(batch, end - known), perf_counter()
            self._decode.submit_repeated(steps).result()
            batch = batch_size((perf_counter() - start) / steps)
            self._cached_tokens += sampled[-1:]
            begin, known = known, known + steps


def batch_size(seconds: float) -> int:
    """The number of decode steps per submission, at this time per step."""
    return max(1, min(MAX_BATCHED_STEPS, int(BURST_SECONDS / seconds)))


def _until(tokens: Iterator[int], stop: Collection[int]) -> Iterator[int]:
    for token in tokens:
        if token in stop:
            return
        yield token


def _detokenized(tokens: Iterator[int], decoder: StreamDecoder) -> Iterator[str]:
    for token in tokens:
        if text := decoder.add(token):
            yield text
    if text := decoder.finish():
        yield text
