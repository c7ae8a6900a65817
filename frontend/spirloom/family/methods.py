"""The methods `prefill` and `decode` of one graph file, of a model's sizes and weights."""

from __future__ import annotations

from collections.abc import Mapping

from spirloom import __version__
from spirloom.errors import ImportFailure
from spirloom.family.config import Config
from spirloom.family.decoder import Step
from spirloom.family.weights import Weights
from spirloom.ir import Graph
from spirloom.ops import OpError, OpLibrary
from spirloom.passes import finish
from spirloom.passes.large_weights import LARGEST_WEIGHT
from spirloom.sizes import Symbol
from spirloom.varying.generalize import generalize

# Tokens that one run of `prefill` takes unless told otherwise.
PROMPT = 512
# Of a cache; and cosines and sines, of all positions, that are kept: 1 GiB.
_MAX_ROWS, _MAX_ANGLES = 1 << 21, 1 << 28
_MAX_BYTES = (1 << 32) - 1  # maxStorageBufferRange has 32 bits


def make_methods(
    config: Config,
    weights: Weights,
    library: OpLibrary,
    origin: str,
    context: int | None = None,
    prompt: int | None = None,
    largest: int = LARGEST_WEIGHT,
) -> list[Graph]:
    """`prefill`, of up to `prompt` tokens, and `decode`, of the token that the last run chose.

    Both begin at the state `position` and move it; caches have `context` rows, by default what the
    model was trained for. `prompt` None: 512, or the context if that is less. `origin` says what
    the model was read from. Layers and tables whose weight takes more than `largest` bytes come in
    parts. Raises ImportFailure.
    """
    rows = config.context if context is None else context
    angles = config.head_size * len(set(config.rotations))
    limit = min(_MAX_ROWS, _MAX_ANGLES // angles)
    if not 1 <= rows <= limit:
        raise ImportFailure(
            f"A context of {rows} tokens is not within 1 and {limit}, the most for heads of "
            f"{config.head_size} columns; --context chooses one."
        )
    most = min(PROMPT, rows) if prompt is None else prompt
    if not 1 <= most <= rows:
        raise ImportFailure(f"A prompt of {most} tokens is not within 1 and {rows}, the context.")

    if not 1 <= largest <= _MAX_BYTES:
        raise ImportFailure(
            f"Weights of up to {largest} bytes as one: that is not within 1 and {_MAX_BYTES}, the "
            "most that a device may bind; --largest-weight chooses it, in MiB."
        )

    def make(sizes: Mapping[str, int]) -> Graph:
        graph = Step(config, weights, library, rows, sizes.get("tokens", 0)).graph()
        graph.producer = f"spirloom {__version__} from {origin}"
        finish(graph, library, largest=largest)
        return graph

    try:
        symbol = Symbol("tokens", 1, most)
        prefill = generalize(make, [symbol], library) if most > 1 else make({"tokens": 1})
        decode = make({})
    except OpError as error:
        raise ImportFailure(
            f"The weights do not fit the sizes that the model tells: {error}."
        ) from error
    prefill.name, decode.name = "prefill", "decode"
    return [prefill, decode]
