"""A step of a model like Llama as a graph: some tokens in, the next one out, caches as states."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import prod

import numpy as np

from spirloom.builder import Builder
from spirloom.errors import ImportFailure
from spirloom.family.config import GELU_TANH, SILU, Config
from spirloom.family.rope import Rotation
from spirloom.family.weights import Matrix, Weights
from spirloom.ir import DType, Graph, State, Tensor
from spirloom.ops import OpError, OpLibrary
from spirloom.quantized_weights import embedding_arguments

# The most rows of a cache that a workgroup looks at for a head of a single query, and in how many
# parts more are looked at: by more of a GPU, in three dispatches for one.
_WHOLE, PARTS = 8192, 32
# What spirloom.gated_linear calls activations.
_CODES = {SILU: 6, GELU_TANH: 10}


@dataclass(slots=True)
class _Normed:
    """A tensor to be normed: by what reads it, or by a call that all of these share."""

    x: Tensor
    weight: str
    made: Tensor | None = None


def _before(x: Tensor, norm: str | None) -> Tensor | _Normed:
    """What a part of a layer reads, by the name of its norm's weight if there is one."""
    return x if norm is None else _Normed(x, norm)


class Step:
    """Builds one graph: of `count` tokens that are an input, or, with 0, of the one in a state.

    States: `keys.N` and `values.N` of each layer, [1, context, head, column]; `position`, of the
    next token; `token`, that one; `tokens`, those chosen so far, each at its position;
    `temperature`, `top_k`, `top_p` and `seed`, how they are chosen: unless set, greedily.
    """

    def __init__(
        self, config: Config, weights: Weights, library: OpLibrary, context: int, count: int
    ) -> None:
        self._config = config
        self._weights = weights
        self._context = context
        self._graph = Graph()
        self._library = library
        self._build = Builder(library, self._graph)
        self._count = max(count, 1)
        self._given = count > 0
        self._position = self._state("position", DType.I32, (1,)).tensor

    def graph(self) -> Graph:
        """The outputs are the last token's scores, as float32."""
        token = self._state("token", DType.I32, (1,))
        chosen = self._state("tokens", DType.I32, (self._context,))
        tokens = self._tokens(token.tensor)
        x = self._picked("model.embed_tokens.weight", tokens)
        if self._config.traits.scaled:
            self._build.name = "embedding.scaled"
            x = self._build.mul(x, self._config.hidden**0.5)
        for layer in range(self._config.layers):
            x = self._layer(x, layer)
        if self._given:
            last = self._call("last", "aten.select.int", x=x, dim=1, index=-1)
        else:
            last = self._view(x, (1, self._config.hidden))
        normed = _Normed(last, "model.norm.weight")
        head = "model.embed_tokens.weight" if self._config.tied else "lm_head.weight"
        (scores,) = self._linears("lm_head", normed, {head: self._config.vocabulary})
        if scores.dtype is not DType.F32:
            scores = self._call("logits", "aten._to_copy", x=scores, dtype="f32")
        scores = self._capped(scores)
        scores.name = "logits"
        self._graph.outputs = [scores]
        self._graph.states[0].update = self._advanced()
        token.update = self._sampled(scores)
        chosen.update = self._call(
            "tokens",
            "spirloom.cache_update",
            cache=chosen.tensor,
            src=token.update,
            positions=self._graph.states[0].update,
            dim=0,
        )
        return self._graph

    def _capped(self, scores: Tensor) -> Tensor:
        """Within the model's cap, if it has one."""
        cap = self._config.logit_cap
        if not cap:
            return scores
        self._build.name = "logits.capped"
        bent = self._call("logits.capped", "aten.tanh", x=self._build.mul(scores, 1 / cap))
        return self._build.mul(bent, cap)

    def _sampled(self, scores: Tensor) -> Tensor:
        """The token of the position that these have led to."""
        how = {
            "temperature": self._kept("temperature", DType.F32, 0.0),
            "top_k": self._kept("top_k", DType.I32, 0),
            "top_p": self._kept("top_p", DType.F32, 1.0),
            "seed": self._kept("seed", DType.I32, 0),
        }
        place = self._graph.states[0].update
        return self._call("sample", "spirloom.sample_token", scores=scores, position=place, **how)

    def _kept(self, name: str, dtype: DType, initial: float) -> Tensor:
        """A state of one number, which runs leave alone."""
        state = self._state(name, dtype, (1,))
        state.initial = np.array([initial], dtype.numpy)
        return state.tensor

    def _tokens(self, token: Tensor) -> Tensor:
        if not self._given:
            return self._view(token, (1, 1))
        prompt = Tensor("prompt", DType.I32, (1, self._count))
        self._graph.inputs = [prompt]
        return prompt

    def _advanced(self) -> Tensor:
        """The position after these tokens: of a table of counts, as ints alone may vary in size."""
        counts = self._weights.made(
            "counts", DType.I32, lambda: np.arange(1, self._context + 1, dtype=np.int32)
        )
        self._build.name = "position"
        count = self._build.slice(counts, 0, 0, 1)
        if self._given:
            count = self._call(
                "position", "aten.slice.Tensor",
                x=counts, dim=0, start=self._count - 1, end=self._count,
            )  # fmt: skip
        return self._call("position", "aten.add.Tensor", a=self._position, b=count)

    def _layer(self, x: Tensor, layer: int) -> Tensor:
        c, prefix = self._config, f"model.layers.{layer}"
        attention, mlp = f"{prefix}.self_attn", f"{prefix}.mlp"
        before = [norm and f"{prefix}.{norm}.weight" for norm in c.traits.before]
        after = [norm and f"{prefix}.{norm}.weight" for norm in c.traits.after]
        h = _before(x, before[0])
        seen = self._attention(self._heads(h, attention), attention, layer)
        flat = self._view(seen, (1, self._count, c.heads * c.head_size))
        x = self._last_linear(f"{attention}.o_proj", flat, x, after[0])
        h = _before(x, before[1])
        return self._last_linear(f"{mlp}.down_proj", self._gated(h, mlp), x, after[1])

    def _heads(self, h: Tensor | _Normed, attention: str) -> Tensor:
        """Queries, keys and values, one beside the other."""
        c = self._config
        counts = {"q": c.heads, "k": c.cached_heads, "v": c.cached_heads}
        rows = {f"{attention}.{part}_proj.weight": n * c.head_size for part, n in counts.items()}
        made = self._linears(f"{attention}.qkv", h, rows)
        heads = made[0] if len(made) == 1 else self._beside(f"{attention}.qkv", made)
        return self._joined_heads_normed(heads, attention) if c.traits.joined_heads else heads

    def _joined_heads_normed(self, heads: Tensor, attention: str) -> Tensor:
        """Queries and keys normed, each by the mean square of all of its heads."""
        c = self._config
        queries, keys = c.heads * c.head_size, c.cached_heads * c.head_size
        self._build.name = f"{attention}.qkv"
        ends = (0, queries, queries + keys, heads.shape[-1])
        q, k, v = (self._build.slice(heads, 2, begin, end) for begin, end in pairwise(ends))
        q = self._norm(q, f"{attention}.q_norm.weight")
        k = self._norm(k, f"{attention}.k_norm.weight")
        return self._beside(f"{attention}.normed", [q, k, v])

    def _beside(self, name: str, parts: list[Tensor]) -> Tensor:
        return self._call(name, "aten.cat", tensors=tuple(parts), dim=2)

    def _gated(self, h: Tensor | _Normed, mlp: str) -> Tensor:
        """activation(gate) * up of two products: of one row by one dispatch."""
        inner, activation = self._config.inner, self._config.traits.activation
        rows = {f"{mlp}.{part}_proj.weight": inner for part in ("gate", "up")}
        name = f"{mlp}.gate_up"
        found = self._weights.matrices(name, rows, self._config.hidden)
        if not self._given and inner % 4 == 0 and len(found) == 1:
            code = _CODES[activation]
            return self._product("gated_linear", name, h, found[0][1], rows, activation=code)
        made = self._linears(name, h, rows)
        if len(made) == 1:
            made = [self._build.slice(made[0], 2, i * inner, (i + 1) * inner) for i in range(2)]
        if activation == SILU:
            return self._call(f"{mlp}.act", "spirloom.swiglu", a=made[0], b=made[1])
        gate = self._call(f"{mlp}.act", "aten.gelu", x=made[0], approximate="tanh")
        return self._build.mul(gate, made[1])

    def _attention(self, heads: Tensor, name: str, layer: int) -> Tensor:
        """What the queries among the heads see in the caches, which get these tokens' rows."""
        c = self._config
        shape = (1, self._context, c.cached_heads, c.head_size)
        dtype = self._weights.dtype
        states = [self._state(f"{each}.{layer}", dtype, shape) for each in ("keys", "values")]
        put = {
            "x": heads,
            "keys": states[0].tensor,
            "values": states[1].tensor,
            "position": self._position,
            "eps": c.eps,
            **self._angles(c.rotation(layer)),
            **self._head_norms(name),
        }
        look = {"window": c.window(layer), "scale": c.scale, "softcap": c.score_cap}
        if not self._given and self._context <= _WHOLE:
            self._build.name = name
            seen, *updates = self._build.emit_all("spirloom.decode_attention", **put, **look)
        else:
            self._build.name = f"{name}.rotary_cache"
            query, *updates = self._build.emit_all("spirloom.rotary_cache", **put)
            asked = {"query": query, "keys": updates[0], "values": updates[1]}
            seen = self._seen(name, positions=self._position, **asked, **look)
        for state, update in zip(states, updates, strict=True):
            state.update = update
        return seen

    def _head_norms(self, attention: str) -> dict[str, Tensor | None]:
        """What each head of queries and of keys is normed by, if by itself."""
        norms: dict[str, Tensor | None] = dict.fromkeys(("query_norm", "key_norm"))
        if self._weights.has(f"{attention}.q_norm.weight") and not self._config.traits.joined_heads:
            norms = {
                norm: self._weights.vectors(
                    {f"{attention}.{norm[0]}_norm.weight": self._config.head_size}
                )
                for norm in norms
            }
        return norms

    def _seen(self, name: str, **args: object) -> Tensor:
        """Attention of queries that are turned already."""
        if self._given:
            return self._call(name, "spirloom.cached_attention", **args)
        self._build.name = name
        parts, tops, sums = self._build.emit_all(
            "spirloom.cached_attention_parts", **args, parts=PARTS
        )
        return self._call(
            name, "spirloom.join_attention",
            parts=parts, tops=tops, sums=sums, dtype=str(self._weights.dtype),
        )  # fmt: skip

    def _angles(self, rotation: Rotation) -> dict[str, Tensor]:
        pairs = self._config.head_size // 2
        return {
            part: self._weights.made(
                f"{part}{rotation.name}",
                DType.F32,
                lambda i=i: rotation.tables(self._context, pairs)[i],  # type: ignore[misc]
            )
            for i, part in enumerate(("cos", "sin"))
        }

    def _norm(self, x: Tensor, weight: str) -> Tensor:
        return self._call(
            weight.removesuffix(".weight"),
            "aten.rms_norm",
            x=x,
            normalized_shape=(x.shape[-1],),
            weight=self._weights.vectors({weight: x.shape[-1]}),
            eps=self._config.eps,
        )

    def _picked(self, name: str, tokens: Tensor) -> Tensor:
        """The rows of a table that tokens name."""
        rows = {name: self._config.vocabulary}
        ((_, table),) = self._weights.matrices("embedding", rows, self._config.hidden)
        if not table.kind:
            return self._call("embedding", "aten.embedding", x=table.tensor, index=tokens)
        if table.arguments.get("zeros") is not None:
            raise ImportFailure("A table of words with zero points is not supported.")
        args = embedding_arguments(table.arguments, self._weights.dtype)
        return self._call("embedding", f"spirloom.embedding_{table.kind}", index=tokens, **args)

    def _last_linear(self, name: str, x: Tensor, addend: Tensor, norm: str | None) -> Tensor:
        """What a part of a layer gives, by a norm if there is one, with the sum of all before."""
        rows = {f"{name}.weight": self._config.hidden}
        if norm is None:
            return self._linears(name, x, rows, addend=addend)[0]
        made = self._norm(self._linears(name, x, rows)[0], norm)
        return self._call(f"{name}.sum", "aten.add.Tensor", a=addend, b=made)

    def _linears(
        self, node: str, x: Tensor | _Normed, rows: dict[str, int], **more: Tensor
    ) -> list[Tensor]:
        """x times the matrices, which have so many rows: of neighbours of one kind at once, one
        beside the other."""
        made: list[Tensor] = []
        names = list(rows)
        depth = (x.x if isinstance(x, _Normed) else x).shape[-1]
        found = self._weights.matrices(node, rows, depth)
        for count, matrix in found:
            run, names = names[:count], names[count:]
            name = node if len(found) == 1 else run[0].removesuffix(".weight")
            of = {each: rows[each] for each in run}
            made.append(self._product("linear", name, x, matrix, of, **more))
        return made

    def _product(
        self,
        kind: str,
        node: str,
        x: Tensor | _Normed,
        matrix: Matrix,
        rows: dict[str, int],
        **more: object,
    ) -> Tensor:
        """By the operator of a kind, linear or gated_linear, that takes such a matrix."""
        operands: dict[str, object] = {"bias": self._bias(rows), **more}
        operands |= matrix.arguments if matrix.kind else {"weight": matrix.tensor}
        op = "aten.linear" if kind == "linear" and not matrix.kind else f"spirloom.{kind}"
        op += f"_{matrix.kind}" if matrix.kind else ""
        if isinstance(x, Tensor):
            return self._call(node, op, x=x, **operands)
        if prod(x.x.shape[:-1]) == 1 and self._library.has_arg(op, "norm"):
            try:
                return self._call(node, op, x=x.x, **operands, **self._norm_arguments(x))
            except OpError:
                pass  # a row that is too long for it
        x.made = x.made or self._norm(x.x, x.weight)
        return self._call(node, op, x=x.made, **operands)

    def _norm_arguments(self, x: _Normed) -> dict[str, Tensor | None]:
        """What a product norms a single row by."""
        eps = np.array([self._config.eps], np.float32)
        return {
            "norm": self._weights.vectors({x.weight: x.x.shape[-1]}),
            "norm_eps": self._weights.made("norm_eps", DType.F32, lambda: eps),
        }

    def _bias(self, rows: dict[str, int]) -> Tensor | None:
        biases = {name.removesuffix("weight") + "bias": count for name, count in rows.items()}
        return self._weights.vectors(biases) if any(map(self._weights.has, biases)) else None

    def _view(self, x: Tensor, size: tuple[int, ...]) -> Tensor:
        known = -int(np.prod(size)) if -1 in size else 1
        elements = int(np.prod(x.shape))
        return self._build.view(x, [elements // known if n == -1 else n for n in size])

    def _state(self, name: str, dtype: DType, shape: tuple[int, ...]) -> State:
        tensor = Tensor(name, dtype, shape)
        state = State(tensor, tensor)
        self._graph.states.append(state)
        return state

    def _call(self, name: str, op: str, **args: object) -> Tensor:
        self._build.name = name
        return self._build.emit(op, **args)
