"""Language models: prefill and decode methods, sampling parameters, and generated text."""

from __future__ import annotations

import os
import secrets
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from time import perf_counter

import numpy as np
import numpy.typing as npt

from spirloom.hf.text_metadata import TEXT_METADATA, TOKENIZER
from spirloom.llm.text import (
    Streamed,
    TextMetadata,
    Tokenizer,
    parse_tokenizer,
    read_text_metadata,
    read_tokenizer,
)
from spirloom.runtime import load
from spirloom.runtime.errors import InvalidArgument, InvalidFile
from spirloom.runtime.runtime import Runtime

_MAX_FLOAT = float(np.finfo(np.float32).max)
_MAX_INT = int(np.iinfo(np.int32).max)


@dataclass(frozen=True, slots=True)
class Sampling:
    """With `temperature` 0 the token of the greatest score; else one at random, by the softmax of
    scores over the temperature, among the `top_k` best (0: all) and, of those, the fewest whose
    probabilities reach `top_p`. The same `seed` chooses the same; None another each time.
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int | None = None

    def __post_init__(self) -> None:
        """Raises InvalidArgument."""
        if not 0 <= self.temperature <= _MAX_FLOAT:
            raise InvalidArgument(f"temperature ({self.temperature}) must be 0 or more.")
        if not 0 <= self.top_k <= _MAX_INT:
            raise InvalidArgument(f"top_k ({self.top_k}) must be 0, for all tokens, or more.")
        if not 0 < self.top_p <= 1:
            raise InvalidArgument(f"top_p ({self.top_p}) must be above 0 and at most 1.")
        if self.seed is not None and not 0 <= self.seed <= _MAX_INT:
            raise InvalidArgument(f"seed ({self.seed}) must be between 0 and {_MAX_INT}.")

    def states(self) -> dict[str, npt.NDArray[np.float32] | npt.NDArray[np.int32]]:
        """The model's states that say so, by name: [1] each."""
        seed = secrets.randbelow(_MAX_INT) if self.seed is None else self.seed
        return {
            "temperature": np.array([self.temperature], np.float32),
            "top_k": np.array([self.top_k], np.int32),
            "top_p": np.array([self.top_p], np.float32),
            "seed": np.array([seed], np.int32),
        }


# Steps are submitted together, as the device waits between submissions until the host has seen the
# last one end; more than so many seconds of them would make a text come in visible bursts.
MAX_BATCHED_STEPS = 16
BURST_SECONDS = 0.02
_STATES = ("position", "token", "tokens", *Sampling().states())


class LLM:
    """A graph file with the methods `prefill` and `decode`, as `spirloom import` writes them.

    Makes one text at a time. The tokenizer is that of the file, unless `tokenizer` is one, or the
    path of a tokenizer.json; it is read when it is needed. One that is given as an object says by
    itself what a text begins with.
    """

    def __init__(
        self,
        model: str | os.PathLike[str],
        *,
        tokenizer: Tokenizer | str | os.PathLike[str] | None = None,
        runtime: Runtime | None = None,
        reuse: bool = False,
    ) -> None:
        """`reuse`: tokens with which the text before began, too, are not read again. Sums may then
        be rounded otherwise than without, as they are when a prompt is read in other chunks. Raises
        SpirloomError.
        """
        self._prefill = load(model, runtime, method="prefill")
        self._decode = load(model, runtime, method="decode", shares=self._prefill)
        states = {info.name: info for info in self._decode.states.infos}
        missing = [name for name in _STATES if name not in states]
        if missing:
            raise InvalidFile(
                f"{model} is no language model: it has no state {missing[0]!r}. Make one with "
                "spirloom import, of a folder of Hugging Face or a GGUF file."
            )
        self._name = str(model)
        self._context = int(states["tokens"].shape[0])
        self._reuse = reuse and all(
            info.shape[1:2] == (self._context,)  # a row for each token
            for name, info in states.items()
            if name not in _STATES
        )
        self._read_tokens: list[int] = []  # those whose rows are in the caches
        symbols = self._prefill.symbols
        self._chunk = symbols[0].greatest if symbols else 1
        carried = self._prefill.attachments
        self._metadata = (
            read_text_metadata(carried[TEXT_METADATA])
            if TEXT_METADATA in carried
            else TextMetadata()
        )
        self._given = tokenizer
        self._tokenizer: Tokenizer | None = None

    @property
    def context(self) -> int:
        """How many tokens a prompt and what follows it may be together."""
        return self._context

    @property
    def tokenizer(self) -> Tokenizer:
        """Between text and tokens. Raises SpirloomError if it cannot be read."""
        if self._tokenizer is None:
            self._tokenizer = self._found_tokenizer()
        return self._tokenizer

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
        """What follows a prompt, in pieces as they come: at most so many tokens, up to the first
        one of `stop`, by default those that the file says. The other arguments are Sampling's.
        Raises SpirloomError at once.
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
        """The reply to a conversation, each message a `role` (user, assistant, and first of all
        system) and a `content`, written as the model's chat template does. Otherwise like
        generate(); raises Unsupported for a model without a chat.
        """
        sampling = Sampling(temperature, top_k, top_p, seed)
        return self._text(self.encode_chat(messages), tokens, sampling, stop)

    def encode(self, prompt: str) -> list[int]:
        """The tokens that generate() reads: those of a prompt, after the one that each text of the
        model begins with. Needs no device; raises SpirloomError.
        """
        return [*self._beginning(), *self.tokenizer.encode(prompt)]

    def encode_chat(self, messages: Sequence[Mapping[str, str]]) -> list[int]:
        """The tokens that chat() reads. Needs no device; raises as chat() does."""
        return list(self.tokenizer.encode(self._metadata.conversation(messages)))

    def generate_tokens(
        self,
        prompt: Sequence[int],
        *,
        tokens: int = 64,
        sampling: Sampling | None = None,
        stop: Collection[int] | None = None,
    ) -> Iterator[int]:
        """The same as generate(), of tokens, without a tokenizer."""
        if tokens < 1:
            raise InvalidArgument(f"tokens ({tokens}) must be at least 1.")
        if not prompt:
            raise InvalidArgument("The prompt is empty; a model continues at least one token.")
        words = self._prefill.outputs[0].shape[-1]
        if strange := [token for token in prompt if not 0 <= token < words]:
            raise InvalidArgument(
                f"The prompt's token {strange[0]} is none of the model's {words}: is the tokenizer "
                "that of the model?"
            )
        if len(prompt) + tokens > self._context:
            raise InvalidArgument(
                f"A prompt of {len(prompt)} tokens and {tokens} more do not fit into the context "
                f"of {self._context}: ask for fewer, or import the model with a larger --context."
            )
        ends = self._metadata.eos if stop is None else stop
        return _until(self._chosen(prompt, tokens, sampling or Sampling()), ends)

    def close(self) -> None:
        """Lets go of the model and its memory."""
        self._decode.close()
        self._prefill.close()

    def _found_tokenizer(self) -> Tokenizer:
        if isinstance(self._given, str | os.PathLike):
            return read_tokenizer(Path(self._given))
        if self._given is not None:
            return self._given
        data = self._prefill.attachments.get(TOKENIZER)
        if data is None:
            raise InvalidFile(
                f"{self._name} carries no {TOKENIZER}: import the model from a folder that has "
                "one, or pass one as tokenizer=."
            )
        return parse_tokenizer(data, f"The {TOKENIZER} in {self._name}")

    def _beginning(self) -> list[int]:
        own = self._given is None or isinstance(self._given, str | os.PathLike)
        return [self._metadata.bos] if own and self._metadata.bos is not None else []

    def _text(
        self,
        prompt: Sequence[int],
        tokens: int,
        sampling: Sampling,
        stop: Collection[int] | None,
    ) -> Iterator[str]:
        found = self.generate_tokens(prompt, tokens=tokens, sampling=sampling, stop=stop)
        return _spoken(found, Streamed(self.tokenizer))

    def _read(self, prompt: Sequence[int], sampling: Sampling) -> None:
        """The caches begin anew, or after what they share with the prompt; the last run chooses
        the token after it.
        """
        kept = self._shared(prompt)
        self._read_tokens = []
        if kept:
            self._prefill.states["position"] = np.array([kept], np.int32)
        else:
            self._prefill.reset_states()
        for name, value in sampling.states().items():
            self._prefill.states[name] = value
        for start in range(kept, len(prompt), self._chunk):
            self._prefill(np.array([prompt[start : start + self._chunk]], np.int32))
        self._read_tokens = list(prompt)

    def _shared(self, prompt: Sequence[int]) -> int:
        """How many tokens of the prompt are in the caches; never its last, which is to be read."""
        if not self._reuse:
            return 0
        pairs = zip(self._read_tokens, prompt[:-1], strict=False)
        return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))

    def _chosen(self, prompt: Sequence[int], tokens: int, sampling: Sampling) -> Iterator[int]:
        """The methods choose by themselves: several steps go to the device together."""
        self._read(prompt, sampling)
        place, end, known = len(prompt), len(prompt) + tokens, len(prompt) + 1
        together = 1
        while True:
            chosen = self._decode.states["tokens"][place:known].tolist()
            self._read_tokens += chosen[:-1]  # the last one's rows are written by the next step
            yield from chosen
            if known == end:
                return
            steps, start = min(together, end - known), perf_counter()
            self._decode.submit_steps(steps).result()
            together = _steps_together((perf_counter() - start) / steps)
            self._read_tokens += chosen[-1:]
            place, known = known, known + steps


def _steps_together(seconds: float) -> int:
    """How many steps that take so many seconds each."""
    return max(1, min(MAX_BATCHED_STEPS, int(BURST_SECONDS / seconds)))


def _until(tokens: Iterator[int], stop: Collection[int]) -> Iterator[int]:
    for token in tokens:
        if token in stop:
            return
        yield token


def _spoken(tokens: Iterator[int], streamed: Streamed) -> Iterator[str]:
    for token in tokens:
        if text := streamed.add(token):
            yield text
    if text := streamed.rest():
        yield text
