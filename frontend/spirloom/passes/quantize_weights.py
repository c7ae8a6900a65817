"""Rounds the weights of layers to 4 or 8 bits: what the option --quantize asks for."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from fnmatch import fnmatchcase

from spirloom.errors import ImportFailure
from spirloom.ir import DType, Graph, Node, Tensor
from spirloom.ops import OpLibrary
from spirloom.passes.quantised import EMBEDDING, GATED, LINEAR, put_numbers
from spirloom.weight_numbers import Numbers, rounded_to_nearest

_PLACES = {LINEAR: "weight", GATED: "weight", EMBEDDING: "x"}
_GROUPS = (32, 64, 128)


@dataclass(frozen=True, slots=True)
class Quantisation:
    """To how many bits weights are rounded, in groups of how many (0: of whole rows), and the nodes
    whose names say that they are left alone."""

    bits: int
    group: int
    skip: Collection[str] = ()

    @staticmethod
    def of(text: str, skip: Collection[str] = ()) -> Quantisation:
        """From `int4:32` or `int8`. Raises ImportFailure."""
        kind, _, size = text.partition(":")
        grouped = kind in ("int4", "int8") and size in map(str, _GROUPS)
        if not grouped and text != "int8":
            groups = ", ".join(map(str, _GROUPS))
            raise ImportFailure(
                f"--quantize wants int4:GROUP or int8:GROUP with a GROUP of {groups}, or int8 for "
                f"one scale a row, not '{text}'."
            )
        return Quantisation(int(kind[3:]), int(size or 0), skip)

    def skips(self, name: str) -> bool:
        """Whether a node is left alone."""
        return any(fnmatchcase(name, pattern) for pattern in self.skip)

    def fits(self, shape: tuple[int, ...]) -> bool:
        """Whether a matrix has rows of whole groups."""
        rows, depth = shape
        return rows > 0 and depth > 0 and depth % (self.group or 1) == 0


def quantize_weights(graph: Graph, library: OpLibrary, how: Quantisation) -> None:
    """Rounds the constant weights of layers and embeddings to nearest, a weight once.

    Those of which a row is no whole number of groups stay as they are.
    """
    done: dict[Tensor, Numbers] = {}
    for node in graph.nodes:
        weight = _weight(library, node)
        if (
            weight is None
            or weight.data is None
            or how.skips(node.name)
            or not how.fits(weight.shape)
        ):
            continue
        if weight not in done:
            done[weight] = rounded_to_nearest(weight.data, how.bits, how.group)
        put_numbers(library, node, done[weight], weight.name)


def _weight(library: OpLibrary, node: Node) -> Tensor | None:
    value = library.arg(node, _PLACES[node.op]) if node.op in _PLACES else None
    floats = isinstance(value, Tensor) and value.dtype in (DType.F32, DType.F16)
    return value if floats and isinstance(value, Tensor) else None
