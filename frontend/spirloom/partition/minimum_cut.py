"""The cheapest way to part a graph in two: Dinic's algorithm."""

from __future__ import annotations

from collections import deque

SOURCE, SINK = 0, 1
UNBOUNDED = 1 << 100


class Cut:
    """A graph of vertices 0 (the source), 1 (the sink) and those that `vertex` makes."""

    def __init__(self) -> None:
        self._edges: list[list[int]] = [[], []]  # of each vertex, by their places in what follows
        self._to: list[int] = []
        self._left: list[int] = []  # capacity; edge i ^ 1 is the way back

    def vertex(self) -> int:
        """A new vertex."""
        self._edges.append([])
        return len(self._edges) - 1

    def edge(self, first: int, then: int, cost: int) -> None:
        """What it costs if the first is with the source and the other with the sink."""
        if cost > 0:
            self._edges[first].append(len(self._to))
            self._edges[then].append(len(self._to) + 1)
            self._to += [then, first]
            self._left += [cost, 0]

    def with_source(self) -> list[bool]:
        """Of each vertex whether it is with the source; of equally cheap ways that with most."""
        while True:
            level = self._levels(SOURCE, backwards=False)
            if level[SINK] < 0:
                break
            self._augment(level)
        return [distance < 0 for distance in self._levels(SINK, backwards=True)]

    def _levels(self, start: int, backwards: bool) -> list[int]:
        """Distances along edges with capacity left; -1 where there is no way."""
        level = [-1] * len(self._edges)
        level[start] = 0
        queue = deque([start])
        while queue:
            vertex = queue.popleft()
            for edge in self._edges[vertex]:
                to = self._to[edge]
                if self._left[edge ^ 1 if backwards else edge] > 0 and level[to] < 0:
                    level[to] = level[vertex] + 1
                    queue.append(to)
        return level

    def _augment(self, level: list[int]) -> None:
        """Fills every shortest way from source to sink."""
        following = [0] * len(self._edges)
        path: list[int] = []
        vertex = SOURCE
        while True:
            if vertex == SINK:
                amount = min(self._left[edge] for edge in path)
                for edge in path:
                    self._left[edge] -= amount
                    self._left[edge ^ 1] += amount
                path, vertex = [], SOURCE
            edges = self._edges[vertex]
            while following[vertex] < len(edges):
                edge = edges[following[vertex]]
                if self._left[edge] > 0 and level[self._to[edge]] == level[vertex] + 1:
                    break
                following[vertex] += 1
            if following[vertex] < len(edges):
                path.append(edges[following[vertex]])
                vertex = self._to[path[-1]]
            elif not path:
                return
            else:
                vertex = self._to[path.pop() ^ 1]
                following[vertex] += 1
