"""Positions of the boxes of a graph, by the layered (Sugiyama) layout of igraph.

igraph (https://igraph.org, GPL 2 or later) runs when the report is written. The report contains
positions, and no part of igraph.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from spirloom.errors import ImportFailure
from spirloom.installation import how_to_install

# Edges over more layers are straight lines, which the layout ignores.
_LONGEST = 40


@dataclass(frozen=True, slots=True)
class Layout:
    """Positions in units of one box. Boxes are in the order of the input. `bends` are the points
    between the ends of each edge.
    """

    boxes: tuple[tuple[float, float], ...]
    bends: tuple[tuple[tuple[float, float], ...], ...]


def lay_out(count: int, edges: Sequence[tuple[int, int]]) -> Layout:
    """Places `count` boxes, connected by `edges`. An edge (a, b) with a > b closes a cycle and does
    not affect the layers. Raises ImportFailure without igraph.
    """
    try:
        import igraph  # type: ignore[import]
    except ImportError as error:
        raise ImportFailure(
            f"A report requires the Python module 'igraph'. {how_to_install('igraph')}"
        ) from error
    layers = _layers(count, edges)
    split: list[tuple[int, int]] = []
    chains: list[list[int]] = []  # dummy vertices of each edge
    for a, b in edges:
        low, high = (a, b) if layers[a] <= layers[b] else (b, a)
        span = layers[high] - layers[low]
        chain: list[int] = []
        if 1 <= span <= _LONGEST:
            chain = list(range(len(layers), len(layers) + span - 1))
            layers += [layers[low] + 1 + i for i in range(span - 1)]
            path = [low, *chain, high]
            split += pairwise(path)
        chains.append(chain if low == a else chain[::-1])
    if not count:
        return Layout((), ())
    graph = igraph.Graph(len(layers), split, directed=True)
    found = graph.layout_sugiyama(layers=layers, hgap=1, vgap=1, maxiter=60)
    if isinstance(found, tuple):  # since igraph 1.0: positions, and the bends of long edges
        found = found[0]
    points = _apart([(each[0], each[1]) for each in found], count)
    bends = tuple(tuple(points[vertex] for vertex in chain) for chain in chains)
    return Layout(tuple(points[:count]), bends)


def _apart(points: Sequence[tuple[float, float]], count: int) -> list[tuple[float, float]]:
    """Points moved to the right where igraph placed boxes closer than one unit. The first `count`
    points are boxes; an edge needs a fifth of a box.
    """
    moved = list(points)
    rows: dict[float, list[int]] = {}
    for i, (_, y) in enumerate(points):
        rows.setdefault(y, []).append(i)
    for row in rows.values():
        end = float("-inf")
        for i in sorted(row, key=lambda i: (points[i][0], i)):
            half = 0.5 if i < count else 0.1
            x = max(points[i][0], end + half)
            end = x + half
            moved[i] = (round(x, 3), round(points[i][1], 3))
    return moved


def _layers(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """The longest path to each box. Boxes without inputs move next to their first reader."""
    readers: list[list[int]] = [[] for _ in range(count)]
    read = [False] * count
    for a, b in edges:
        if a < b:
            readers[a].append(b)
            read[b] = True
    layers = [0] * count
    for a in range(count):
        for b in readers[a]:
            layers[b] = max(layers[b], layers[a] + 1)
    for a in reversed(range(count)):
        if not read[a] and readers[a]:
            layers[a] = max(min(layers[b] for b in readers[a]) - 1, 0)
    return layers
