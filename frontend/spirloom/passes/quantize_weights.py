"""Rounds the weights of layers to 4, 8 or 16 bits: what the option --quantize asks for."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from fnmatch import fnmatchcase

from spirloom.errors import ImportFailure
from spirloom.ir import Array, DType, Graph, Node, Tensor
from spirloom.ops import OpLibrary
from spirloom.passes.quantised import EMBEDDING, GATED, LINEAR, put_rounded
from spirloom.weight_numbers import Rounded, brains_of, rounded_to_nearest

_PLACES = {LINEAR: "weight", GATED: "weight", EMBEDDING: "x"}
_GROUPS = (32, 64, 128)


@dataclass(frozen=True, slots=True)
class Quantisation:
    """To how many bits weights are rounded, in groups of how many (0: of whole rows), and the nodes
    whose names say that they are left alone. 16 bits are bfloat16, of layers in float32."""

    bits: int
    group: int
    skip: Collection[str] = ()

    @staticmethod
    def of(text: str, skip: Collection[str] = ()) -> Quantisation:
        """From `int4:32`, `int8` or `bf16`. Raises ImportFailure."""
        if text == "bf16":
            return Quantisation(16, 0, skip)
        kind, _, size = text.partition(":")
        grouped = kind in ("int4", "int8") and size in map(str, _GROUPS)
        if not grouped and text != "int8":
            groups = ", ".join(map(str, _GROUPS))
            raise ImportFailure(
                f"--quantize wants int4:GROUP or int8:GROUP with a GROUP of {groups}, int8 for one "
                f"scale a row, or bf16, not '{text}'."
            )
        return Quantisation(int(kind[3:]), int(size or 0), skip)

    def check(self, halves: bool) -> None:
        """Raises ImportFailure if there are no such layers, which compute in halves."""
        if halves and self.bits == 16:
            raise ImportFailure(
                "--quantize bf16 is for layers that compute in float32, as numbers of bfloat16 may "
                "be beyond float16's; leave out --fp16, or --quantize bf16."
            )

    def rounded(self, weight: Array) -> Rounded:
        """A float matrix that fits, to nearest."""
        if self.bits == 16:
            return brains_of(weight)
        return rounded_to_nearest(weight, self.bits, self.group)

    def skips(self, name: str) -> bool:
        """Whether a node is left alone."""
        return any(fnmatchcase(name, pattern) for pattern in self.skip)

    def fits(self, shape: tuple[int, ...]) -> bool:
        """Whether a matrix has rows of whole groups."""
        rows, depth = shape
        return rows > 0 and depth > 0 and depth % (self.group or 1) == 0


def quantize_weights(graph: Graph, library: OpLibrary, how: Quantisation) -> None:
    """Rounds the constant weights of layers and embeddings to nearest, a weight once.

    Those of which a row is no whole number of groups stay as they are, and so do halves that would
    be bfloat16.
    """
    done: dict[Tensor, Rounded] = {}
    for node in graph.nodes:
        weight = _weight(library, node)
        if (
            weight is None
            or weight.data is None
            or how.skips(node.name)
            or not how.fits(weight.shape)
            or (how.bits == 16 and weight.dtype is not DType.F32)
        ):
            continue
        if weight not in done:
            done[weight] = how.rounded(weight.data)
        put_rounded(library, node, done[weight], weight.name)


def _weight(library: OpLibrary, node: Node) -> Tensor | None:
    value = library.arg(node, _PLACES[node.op]) if node.op in _PLACES else None
    floats = isinstance(value, Tensor) and value.dtype in (DType.F32, DType.F16)
    return value if floats and isinstance(value, Tensor) else None
