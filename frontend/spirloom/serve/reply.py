"""The text that follows one prompt, and what is told of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from spirloom.llm import LLM, Sampling
from spirloom.llm.text import Streamed
from spirloom.serve.stops import Stops


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
