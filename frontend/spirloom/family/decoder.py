"""Builds the graph of one decoder step: tokens in, the next token out, KV caches as states."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import prod

import numpy as np

from spec_model.activations import Activation
from spirloom.builder import Builder
from spirloom.errors import ImportFailure
from spirloom.family.config import GELU_TANH, SILU, Config
from spirloom.family.rope import RotaryEmbedding
from spirloom.family.weights import Matrix, Weights
from spirloom.ir import DType, Graph, State, Tensor
from spirloom.op_library import OpError, OpLibrary
from spirloom.quantized_weights import embedding_arguments

# The activations of spirloom.gated_linear.
_CODES = {SILU: Activation.SILU, GELU_TANH: Activation.GELU_TANH}


@dataclass(slots=True)
class _PendingNorm:
    """A tensor before its RMS norm: linear layers fuse the norm, or share one call, `normed`."""

    x: Tensor
    weight: str
    normed: Tensor | None = None


def _pre_norm(x: Tensor, weight: str | None) -> Tensor | _PendingNorm:
    """x with its pre-norm, by the name of the norm's weight; None: x."""
    return x if weight is None else _PendingNorm(x, weight)


class Step:
    """Builds one graph: prefill of `count` input tokens, or, with 0, decoding of the state `token`.

    States: `k_cache.N` and `v_cache.N` of each layer, [1, context, head, column]; `position` of the
    next token; `token`, the last sampled token; `tokens`, all sampled tokens by position;
    `temperature`, `top_k`, `top_p` and `seed`, the sampling parameters (default: greedy).
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
        self._is_prefill = count > 0
        self._position = self._state("position", DType.I32, (1,)).tensor

    def graph(self) -> Graph:
        """The graph, whose output is the logits of the last token, f32."""
        token = self._state("token", DType.I32, (1,))
        sampled = self._state("tokens", DType.I32, (self._context,))
        tokens = self._input_tokens(token.tensor)
        x = self._embedded("model.embed_tokens.weight", tokens)
        if self._config.traits.scaled_embeddings:
            self._build.name = "embedding.scaled"
            x = self._build.mul(x, self._config.hidden_size**0.5)
        for layer in range(self._config.num_layers):
            x = self._layer(x, layer)
        if self._is_prefill:
            last = self._call("last", "aten.select.int", x=x, dim=1, index=-1)
        else:
            last = self._view(x, (1, self._config.hidden_size))
        final = _PendingNorm(last, "model.norm.weight")
        head = "model.embed_tokens.weight" if self._config.tied_embeddings else "lm_head.weight"
        (logits,) = self._linears("lm_head", final, {head: self._config.vocab_size})
        if logits.dtype is not DType.F32:
            logits = self._call("logits", "aten._to_copy", x=logits, dtype="f32")
        logits = self._softcapped(logits)
        logits.name = "logits"
        self._graph.outputs = [logits]
        self._graph.states[0].update = self._next_position()
        token.update = self._sampled(logits)
        sampled.update = self._call(
            "tokens",
            "spirloom.cache_update",
            cache=sampled.tensor,
            src=token.update,
            positions=self._graph.states[0].update,
            dim=0,
        )
        return self._graph

    def _softcapped(self, logits: Tensor) -> Tensor:
        """Logit soft-capping: cap * tanh(logits / cap)."""
        cap = self._config.logit_softcap
        if not cap:
            return logits
        self._build.name = "logits.capped"
        tanh = self._call("logits.capped", "aten.tanh", x=self._build.mul(logits, 1 / cap))
        return self._build.mul(tanh, cap)

    def _sampled(self, logits: Tensor) -> Tensor:
        """The next token."""
        parameters = {
            "temperature": self._parameter_state("temperature", DType.F32, 0.0),
            "top_k": self._parameter_state("top_k", DType.I32, 0),
            "top_p": self._parameter_state("top_p", DType.F32, 1.0),
            "seed": self._parameter_state("seed", DType.I32, 0),
        }
        return self._call(
            "sample",
            "spirloom.sample_token",
            scores=logits,
            position=self._graph.states[0].update,
            **parameters,
        )

    def _parameter_state(self, name: str, dtype: DType, initial: float) -> Tensor:
        """A state of one value, which runs do not change."""
        state = self._state(name, dtype, (1,))
        state.initial = np.array([initial], dtype.numpy)
        return state.tensor

    def _input_tokens(self, token: Tensor) -> Tensor:
        if not self._is_prefill:
            return self._view(token, (1, 1))
        prompt = Tensor("prompt", DType.I32, (1, self._count))
        self._graph.inputs = [prompt]
        return prompt

    def _next_position(self) -> Tensor:
        """The position after this step's tokens. The count is read from a table at an index that
        may depend on symbolic sizes, because integer arguments may and tensor values may not."""
        counts = self._weights.cached_constant(
            "counts", DType.I32, lambda: np.arange(1, self._context + 1, dtype=np.int32)
        )
        self._build.name = "position"
        count = self._build.slice(counts, 0, 0, 1)
        if self._is_prefill:
            count = self._call(
                "position", "aten.slice.Tensor",
                x=counts, dim=0, start=self._count - 1, end=self._count,
            )  # fmt: skip
        return self._call("position", "aten.add.Tensor", a=self._position, b=count)

    def _layer(self, x: Tensor, layer: int) -> Tensor:
        c, prefix = self._config, f"model.layers.{layer}"
        attention, mlp = f"{prefix}.self_attn", f"{prefix}.mlp"
        pre = [norm and f"{prefix}.{norm}.weight" for norm in c.traits.pre_norms]
        post = [norm and f"{prefix}.{norm}.weight" for norm in c.traits.post_norms]
        qkv = self._qkv(_pre_norm(x, pre[0]), attention)
        attended = self._attention(qkv, attention, layer)
        flat = self._view(attended, (1, self._count, c.num_heads * c.head_size))
        x = self._output_projection(f"{attention}.o_proj", flat, x, post[0])
        gated = self._gated_mlp(_pre_norm(x, pre[1]), mlp)
        return self._output_projection(f"{mlp}.down_proj", gated, x, post[1])

    def _qkv(self, h: Tensor | _PendingNorm, attention: str) -> Tensor:
        """Q, K and V, concatenated along the last dimension."""
        c = self._config
        counts = {"q": c.num_heads, "k": c.kv_heads, "v": c.kv_heads}
        rows = {f"{attention}.{part}_proj.weight": n * c.head_size for part, n in counts.items()}
        parts = self._linears(f"{attention}.qkv", h, rows)
        qkv = parts[0] if len(parts) == 1 else self._concat(f"{attention}.qkv", parts)
        return self._joint_qk_normed(qkv, attention) if c.traits.joint_qk_norm else qkv

    def _joint_qk_normed(self, qkv: Tensor, attention: str) -> Tensor:
        """RMS norm of Q and of K over all heads jointly."""
        c = self._config
        queries, keys = c.num_heads * c.head_size, c.kv_heads * c.head_size
        self._build.name = f"{attention}.qkv"
        bounds = (0, queries, queries + keys, qkv.shape[-1])
        q, k, v = (self._build.slice(qkv, 2, begin, end) for begin, end in pairwise(bounds))
        q = self._norm(q, f"{attention}.q_norm.weight")
        k = self._norm(k, f"{attention}.k_norm.weight")
        return self._concat(f"{attention}.normed", [q, k, v])

    def _concat(self, name: str, parts: list[Tensor]) -> Tensor:
        return self._call(name, "aten.cat", tensors=tuple(parts), dim=2)

    def _gated_mlp(self, h: Tensor | _PendingNorm, mlp: str) -> Tensor:
        """activation(gate) * up. One fused dispatch when decoding."""
        inner, activation = self._config.intermediate_size, self._config.traits.activation
        rows = {f"{mlp}.{part}_proj.weight": inner for part in ("gate", "up")}
        name = f"{mlp}.gate_up"
        weights = self._weights.matrices(name, rows, self._config.hidden_size)
        if not self._is_prefill and inner % 4 == 0 and len(weights) == 1:
            code = _CODES[activation]
            return self._matmul("gated_linear", name, h, weights[0][1], rows, activation=code)
        parts = self._linears(name, h, rows)
        if len(parts) == 1:
            parts = [self._build.slice(parts[0], 2, i * inner, (i + 1) * inner) for i in range(2)]
        gate, up = parts
        if activation == SILU:
            return self._call(f"{mlp}.act", "spirloom.swiglu", a=gate, b=up)
        activated = self._call(f"{mlp}.act", "aten.gelu", x=gate, approximate="tanh")
        return self._build.mul(activated, up)

    def _attention(self, qkv: Tensor, name: str, layer: int) -> Tensor:
        """Applies RoPE, appends K and V to the KV cache, and attends over the cache."""
        c = self._config
        shape = (1, self._context, c.kv_heads, c.head_size)
        dtype = self._weights.dtype
        states = [self._state(f"{each}.{layer}", dtype, shape) for each in ("k_cache", "v_cache")]
        append = {
            "x": qkv,
            "keys": states[0].tensor,
            "values": states[1].tensor,
            "position": self._position,
            "eps": c.rms_norm_eps,
            **self._rope_tables(c.rotation(layer)),
            **self._head_norms(name),
        }
        attend = {"window": c.window(layer), "scale": c.attn_scale, "softcap": c.attn_softcap}
        if not self._is_prefill:
            self._build.name = name
            out, *updates = self._build.emit_all("spirloom.decode_attention", **append, **attend)
        else:
            self._build.name = f"{name}.rotary_cache"
            query, *updates = self._build.emit_all("spirloom.rotary_cache", **append)
            rotated = {"query": query, "keys": updates[0], "values": updates[1]}
            position = {"positions": self._position}
            out = self._call(name, "spirloom.cached_attention", **position, **rotated, **attend)
        for state, update in zip(states, updates, strict=True):
            state.update = update
        return out

    def _head_norms(self, attention: str) -> dict[str, Tensor | None]:
        """The weights of the RMS norms of each Q and K head; None: no norm."""
        norms: dict[str, Tensor | None] = dict.fromkeys(("query_norm", "key_norm"))
        per_head = not self._config.traits.joint_qk_norm
        if per_head and self._weights.has(f"{attention}.q_norm.weight"):
            norms = {
                norm: self._weights.vectors(
                    {f"{attention}.{norm[0]}_norm.weight": self._config.head_size}
                )
                for norm in norms
            }
        return norms

    def _rope_tables(self, rotation: RotaryEmbedding) -> dict[str, Tensor]:
        pairs = self._config.head_size // 2
        return {
            part: self._weights.cached_constant(
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
            eps=self._config.rms_norm_eps,
        )

    def _embedded(self, name: str, tokens: Tensor) -> Tensor:
        """The token embeddings."""
        rows = {name: self._config.vocab_size}
        ((_, weight),) = self._weights.matrices("embedding", rows, self._config.hidden_size)
        if not weight.kind:
            return self._call("embedding", "aten.embedding", x=weight.tensor, index=tokens)
        if weight.arguments.get("zeros") is not None:
            raise ImportFailure("A token embedding with zero points is not supported.")
        args = embedding_arguments(weight.arguments, self._weights.dtype)
        return self._call("embedding", f"spirloom.embedding_{weight.kind}", index=tokens, **args)

    def _output_projection(self, name: str, x: Tensor, addend: Tensor, norm: str | None) -> Tensor:
        """The output projection of attention or MLP, its post-norm if any, and the residual add."""
        rows = {f"{name}.weight": self._config.hidden_size}
        if norm is None:
            return self._linears(name, x, rows, addend=addend)[0]
        normed = self._norm(self._linears(name, x, rows)[0], norm)
        return self._call(f"{name}.sum", "aten.add.Tensor", a=addend, b=normed)

    def _linears(
        self, node: str, x: Tensor | _PendingNorm, rows: dict[str, int], **more: Tensor
    ) -> list[Tensor]:
        """Linear layers of one input, whose weights' rows are given by name. Consecutive weights of
        one format are one layer, with concatenated outputs."""
        outputs: list[Tensor] = []
        names = list(rows)
        depth = (x.x if isinstance(x, _PendingNorm) else x).shape[-1]
        weights = self._weights.matrices(node, rows, depth)
        for count, matrix in weights:
            run, names = names[:count], names[count:]
            name = node if len(weights) == 1 else run[0].removesuffix(".weight")
            run_rows = {each: rows[each] for each in run}
            outputs.append(self._matmul("linear", name, x, matrix, run_rows, **more))
        return outputs

    def _matmul(
        self,
        kind: str,
        node: str,
        x: Tensor | _PendingNorm,
        matrix: Matrix,
        rows: dict[str, int],
        **more: object,
    ) -> Tensor:
        """Emits the variant of `kind`, linear or gated_linear, for the format of the matrix."""
        operands: dict[str, object] = {"bias": self._bias(rows), **more}
        operands |= matrix.arguments if matrix.kind else {"weight": matrix.tensor}
        op = "aten.linear" if kind == "linear" and not matrix.kind else f"spirloom.{kind}"
        op += f"_{matrix.kind}" if matrix.kind else ""
        if isinstance(x, Tensor):
            return self._call(node, op, x=x, **operands)
        if prod(x.x.shape[:-1]) == 1 and self._library.has_arg(op, "rms_weight"):
            try:
                return self._call(node, op, x=x.x, **operands, **self._norm_arguments(x))
            except OpError:
                pass  # the row exceeds the operator's limit
        x.normed = x.normed or self._norm(x.x, x.weight)
        return self._call(node, op, x=x.normed, **operands)

    def _norm_arguments(self, x: _PendingNorm) -> dict[str, Tensor | None]:
        """The arguments of a linear operator that fuses the RMS norm of its input row."""
        eps = np.array([self._config.rms_norm_eps], np.float32)
        return {
            "rms_weight": self._weights.vectors({x.weight: x.x.shape[-1]}),
            "rms_eps": self._weights.cached_constant("rms_eps", DType.F32, lambda: eps),
        }

    def _bias(self, rows: dict[str, int]) -> Tensor | None:
        biases = {name.removesuffix("weight") + "bias": count for name, count in rows.items()}
        return self._weights.vectors(biases) if any(map(self._weights.has, biases)) else None

    def _view(self, x: Tensor, size: tuple[int, ...]) -> Tensor:
        known = -prod(size) if -1 in size else 1
        elements = prod(x.shape)
        return self._build.view(x, [elements // known if n == -1 else n for n in size])

    def _state(self, name: str, dtype: DType, shape: tuple[int, ...]) -> State:
        tensor = Tensor(name, dtype, shape)
        state = State(tensor, tensor)
        self._graph.states.append(state)
        return state

    def _call(self, name: str, op: str, **args: object) -> Tensor:
        self._build.name = name
        return self._build.emit(op, **args)
