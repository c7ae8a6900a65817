"""The views of a graph: all nodes, nodes grouped by the first parts of their modules, and the
contents of each module.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spirloom.report.layout import lay_out

Parts = tuple[str, ...]
_DEEPEST = 6  # the most levels that have a view of the complete graph


def views_of(paths: Sequence[Parts], edges: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """The views by id, as JSON values: "all", "depth:N", and "module:a/b".

    A view has `boxes`, [x, y, kind, content]: kind 0 is a node and its index, 1 a module and its
    path with the indices of its nodes, 2 the outside of a module and the indices of its nodes. Its
    `edges` are [box, box, bends]; `bends` is a list of coordinates x, y, x, y, ….
    """
    everything = frozenset(range(len(paths)))
    views = {"all": _view(everything, edges, paths, paths)}
    boxes = len(paths)
    for depth in range(min(max(map(len, paths), default=1) - 1, _DEEPEST), 0, -1):
        grouped = len({path[:depth] for path in paths})
        if 1 < grouped < boxes:
            views[f"depth:{depth}"] = _view(everything, edges, _prefixes(paths, depth), paths)
            boxes = grouped
    touching: list[list[tuple[int, int]]] = [[] for _ in paths]
    for edge in edges:
        for end in set(edge):
            touching[end].append(edge)
    for module, inside in _modules(paths).items():
        own = list(dict.fromkeys(edge for node in inside for edge in touching[node]))
        depth = len(module) + 1
        views["module:" + "/".join(module)] = _view(
            frozenset(inside), own, _prefixes(paths, depth), paths
        )
    return views


def _modules(paths: Sequence[Parts]) -> dict[Parts, list[int]]:
    """The modules with their nodes, in alphabetical order."""
    found: dict[Parts, list[int]] = {}
    for node, path in enumerate(paths):
        for depth in range(1, len(path)):
            found.setdefault(path[:depth], []).append(node)
    return dict(sorted(found.items()))


def _prefixes(paths: Sequence[Parts], depth: int) -> list[Parts]:
    return [path[:depth] for path in paths]


def _view(
    inside: frozenset[int],
    edges: Sequence[tuple[int, int]],
    keys: Sequence[Parts],
    paths: Sequence[Parts],
) -> dict[str, Any]:
    """The view of the nodes `inside`, grouped by `keys`. Other ends of `edges` are outside."""
    groups: dict[tuple[object, ...], list[int]] = {}
    group_of: dict[int, tuple[object, ...]] = {}
    for node in sorted({*inside, *(end for edge in edges for end in edge)}):
        key: tuple[object, ...] = (node,)
        if node in inside:
            key = keys[node]
            if key == paths[node]:
                key = (*key, node)  # nodes of one name are different boxes
        group_of[node] = key
        groups.setdefault(key, []).append(node)
    order = {key: i for i, key in enumerate(groups)}
    drawn: dict[tuple[int, int], None] = {}
    for a, b in edges:
        ends = (order[group_of[a]], order[group_of[b]])
        if ends[0] != ends[1] and (a in inside or b in inside):
            drawn[ends] = None
    layout = lay_out(len(groups), list(drawn))
    boxes = []
    for (x, y), (key, members) in zip(layout.boxes, groups.items(), strict=True):
        if members[0] not in inside:
            boxes.append([x, y, 2, members])
        elif len(members) == 1:
            boxes.append([x, y, 0, members[0]])
        else:
            boxes.append([x, y, 1, ["/".join(map(str, key)), members]])
    lines = [
        [a, b, [value for point in bends for value in point]]
        for (a, b), bends in zip(drawn, layout.bends, strict=True)
    ]
    return {"boxes": boxes, "edges": lines}
