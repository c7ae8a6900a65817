"""The dtype of KV caches: changes the states of a language model's methods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from types import MappingProxyType
from typing import cast

from spirloom.errors import ImportFailure
from spirloom.ir import DType, Graph, Node, State, Tensor
from spirloom.op_library import OpError, OpLibrary, own_library

# Columns that share an fp32 scale in caches of int8 and int4.
GROUP = 64
# The operators that read and write caches of every dtype, and an output that follows the cache.
_UPDATES = ("spirloom.rotary_cache", "spirloom.decode_attention")
_READERS = ("spirloom.cached_attention",)


@dataclass(frozen=True, slots=True)
class KvFormat:
    """How a row of a head is stored: the dtype of the state, and bits per element."""

    dtype: DType
    bits: int
    has_scales: bool = False

    def columns(self, head_size: int) -> int:
        """Elements of the state per row: those of the head, or its bytes with scales."""
        if not self.has_scales:
            return head_size
        return head_size * self.bits // 8 + 4 * -(-head_size // GROUP)


# By the name that options and reports use. A further dtype is one line here, and one in the lists
# of lib/attention/kv_cache.glsl.j2 and kv_cache.yaml.
FORMATS: Mapping[str, KvFormat] = MappingProxyType(
    {
        "f32": KvFormat(DType.F32, 32),
        "f16": KvFormat(DType.F16, 16),
        "bf16": KvFormat(DType.BF16, 16),
        "f8_e4m3": KvFormat(DType.F8E4M3, 8),
        "f8_e5m2": KvFormat(DType.F8E5M2, 8),
        "int8": KvFormat(DType.I8, 8, has_scales=True),
        "int4": KvFormat(DType.U8, 4, has_scales=True),
    }
)


@dataclass(frozen=True, slots=True)
class KvCache:
    """The KV cache of a method: its dtype, and its bytes per token in all layers."""

    name: str
    bytes_per_token: int
    layers: int


def kv_cache_of(graph: Graph, library: OpLibrary) -> KvCache | None:
    """The KV cache of a method whose operators support every dtype; None without one."""
    states = list(dict.fromkeys(state for state, _ in _caches(graph, library)))
    dtypes = {state.tensor.dtype for state in states}
    names = [name for name, form in FORMATS.items() if {form.dtype} == dtypes]
    if not names:
        return None
    size = sum(state.tensor.size // max(state.tensor.shape[1], 1) for state in states)
    return KvCache(names[0], size, len(states) // 2)


def set_kv_cache(methods: Sequence[Graph], name: str | None, library: OpLibrary) -> None:
    """Stores the KV caches of all methods in the named dtype; None: no change. Raises
    ImportFailure if the dtype is unknown, or an operator that uses the caches does not support it.
    """
    if name is None:
        return
    if name not in FORMATS:
        raise ImportFailure(
            f"The KV cache dtype {name!r} is not one of: {', '.join(FORMATS)}. Set --kv-cache."
        )
    found = False
    for graph in methods:
        for state, head_size in list(_caches(graph, library)):
            _set_type(graph, state, FORMATS[name], head_size)
            found = True
        _check(graph, name, library)
    if not found:
        raise ImportFailure(
            "The model has no KV cache that --kv-cache can change: none of its states is read by "
            f"{' or '.join((*_UPDATES[1:], *_READERS[:1]))}."
        )


def read_with_kv_cache(
    path: Path, name: str | None, library: OpLibrary | None = None
) -> list[Graph]:
    """The methods of a language model's graph file, with KV caches of the named dtype. Raises
    ImportFailure."""
    from spirloom.graph_reader import load_methods

    methods = load_methods(path)
    set_kv_cache(methods, name, library or own_library())
    return methods


def _caches(graph: Graph, library: OpLibrary) -> Iterator[tuple[State, int]]:
    """The states that are caches, with the size of a head. A state may occur several times."""
    states = {state.tensor: state for state in graph.states}
    for node in graph.nodes:
        if node.op in _UPDATES:
            head_size = 2 * _tensor(library, node, "cos").shape[-1]
        elif node.op in _READERS:
            head_size = _tensor(library, node, "query").shape[-1]
        else:
            continue
        for name in ("keys", "values"):
            cache = _tensor(library, node, name)
            if cache in states:
                yield states[cache], head_size


def _tensor(library: OpLibrary, node: Node, name: str) -> Tensor:
    return cast(Tensor, library.arg(node, name))


def _set_type(graph: Graph, state: State, form: KvFormat, head_size: int) -> None:
    """Changes the state, and its update, which one of _UPDATES computes."""
    for tensor in {state.tensor, state.update}:
        tensor.dtype = form.dtype
        tensor.shape = (*tensor.shape[:-1], form.columns(head_size))
    state.initial = None


def _check(graph: Graph, name: str, library: OpLibrary) -> None:
    """Infers every node that uses a cache again."""
    caches = {t for s, _ in _caches(graph, library) for t in (s.tensor, s.update)}
    for node in graph.nodes:
        if caches.isdisjoint((*node.inputs(), *node.outputs)):
            continue
        try:
            types = library.infer(node.op, node.args)
        except OpError as error:
            raise ImportFailure(
                f"The KV cache cannot be stored as {name}: {error}, in node {node.name!r}. "
                f"{_remedy(node, name, library)}"
            ) from error
        given = [(tensor.shape, tensor.dtype) for tensor in node.outputs]
        if prod(len(shape) for shape, _ in types) and types != given:
            raise ImportFailure(
                f"The KV cache cannot be stored as {name}: {node.op} in node {node.name!r} has "
                "another result."
            )


def _remedy(node: Node, name: str, library: OpLibrary) -> str:
    if node.op in _UPDATES and _tensor(library, node, "x").dtype is DType.F16 and name == "f32":
        return "Activations are float16: use f16 or fewer bits."
    return "Use a cache of the activations' dtype."
