"""Builds the methods `prefill` and `decode` of a language model's graph file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict, Unpack

from spirloom import __version__
from spirloom.errors import ImportFailure
from spirloom.family.config import Config
from spirloom.family.decoder import Step
from spirloom.family.weights import RearrangedSource, Weights, WeightSource
from spirloom.ir import DType, Graph
from spirloom.kv_cache import set_kv_cache
from spirloom.op_library import OpError, OpLibrary
from spirloom.passes import finish
from spirloom.passes.large_weights import LARGEST_WEIGHT
from spirloom.passes.weight_quantization import Quantization
from spirloom.sizes import Symbol
from spirloom.symbolic.open_graph import open_graph

# Maximum tokens of one `prefill` run, by default.
DEFAULT_MAX_PREFILL = 512
# Maximum rows of a KV cache, and maximum elements of the RoPE tables (1 GiB).
_MAX_ROWS, _MAX_ROPE_ELEMENTS = 1 << 21, 1 << 28
_MAX_BYTES = (1 << 32) - 1  # maxStorageBufferRange has 32 bits


class LanguageOptions(TypedDict, total=False):
    """Options that the importers of language models share.

    `context`: rows of the KV caches (default: the training context, at most `max_context`).
    `max_prefill`: maximum tokens of one `prefill` run (default: 512, at most the context). `dtype`:
    of float weights and of activations (default: f32). `kv_cache`: the dtype of the KV caches, a
    name in `spirloom.kv_cache.FORMATS` (default: that of activations). `quantize`: of float
    weights. `max_binding`: maximum bytes of a weight that one kernel binds; larger weights are
    split. `library`: the operators.
    """

    context: int | None
    max_context: int | None
    max_prefill: int | None
    dtype: DType
    kv_cache: str | None
    quantize: Quantization | None
    max_binding: int
    library: OpLibrary | None


def context_of(options: LanguageOptions, trained: int) -> int | None:
    """The option `context`; by default `max_context` if the training context exceeds it."""
    context, limit = options.get("context"), options.get("max_context")
    return limit if context is None and limit is not None and limit < trained else context


def import_methods(
    config: Config, source: WeightSource, origin: str, **options: Unpack[LanguageOptions]
) -> list[Graph]:
    """The methods of a model with the weights of `source`. `origin` names the input format in the
    graph's producer. Raises ImportFailure.
    """
    weights = Weights(
        RearrangedSource(source, config),
        options.get("dtype", DType.F32),
        options.get("quantize"),
    )
    library = options.get("library") or OpLibrary()
    methods = make_methods(
        config,
        weights,
        library,
        origin,
        options.get("context"),
        options.get("max_prefill"),
        options.get("max_binding", LARGEST_WEIGHT),
    )
    set_kv_cache(methods, options.get("kv_cache"), library)
    return methods


def make_methods(
    config: Config,
    weights: Weights,
    library: OpLibrary,
    origin: str,
    context: int | None = None,
    max_prefill: int | None = None,
    max_binding: int = LARGEST_WEIGHT,
) -> list[Graph]:
    """`prefill` reads up to `max_prefill` tokens; `decode` reads the token that the last run
    sampled. Both start at the state `position` and advance it. The parameters are those of
    LanguageOptions. Raises ImportFailure.
    """
    rows = config.context if context is None else context
    rope_columns = config.head_size * len(set(config.rotations))
    limit = min(_MAX_ROWS, _MAX_ROPE_ELEMENTS // rope_columns)
    if not 1 <= rows <= limit:
        raise ImportFailure(
            f"A context of {rows} tokens is not in 1 … {limit}, the range for a head size of "
            f"{config.head_size}. Set --context."
        )
    tokens = min(DEFAULT_MAX_PREFILL, rows) if max_prefill is None else max_prefill
    if not 1 <= tokens <= rows:
        raise ImportFailure(f"A prefill of {tokens} tokens is not in 1 … {rows}, the context.")

    if not 1 <= max_binding <= _MAX_BYTES:
        raise ImportFailure(
            f"A maximum binding of {max_binding} bytes is not in 1 … {_MAX_BYTES}, the range of "
            "maxStorageBufferRange. Set --max-binding, in MiB."
        )

    def step(sizes: Mapping[str, int]) -> Graph:
        graph = Step(config, weights, library, rows, sizes.get("tokens", 0)).graph()
        graph.producer = f"spirloom {__version__} from {origin}"
        return graph

    def finished(graph: Graph) -> Graph:
        finish(graph, library, largest=max_binding)
        return graph

    try:
        symbol = Symbol("tokens", 1, tokens)
        if tokens > 1:
            # With one token, a step has other operators, which compute the same.
            prefill = open_graph(step, finished, [symbol], library, compared_at={"tokens": 2})
        else:
            prefill = finished(step({"tokens": 1}))
        decode = finished(step({}))
    except OpError as error:
        raise ImportFailure(f"The weights do not match the model's sizes: {error}.") from error
    prefill.name, decode.name = "prefill", "decode"
    return [prefill, decode]
