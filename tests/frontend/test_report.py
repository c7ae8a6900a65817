"""The report of a model: modules, views, layout, the join of graph and profile, safe text."""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Sequence
from functools import cache
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from spirloom import cli, graph_file
from spirloom.errors import ImportFailure
from spirloom.ir import DType, Graph, Node, Tensor
from spirloom.op_library import OpLibrary
from spirloom.profile_file import add_runs, read_profile
from spirloom.report.layout import lay_out
from spirloom.report.model_data import dispatches_of_nodes
from spirloom.report.modules import module_parts
from spirloom.report.page import page_of
from spirloom.report.views import views_of
from spirloom.report.write import Sources, report_data


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("/features/features.0/Conv + Relu", ("features", "features.0", "Conv + Relu")),
        ("/Conv", ("Conv",)),
        ("m.layers.0/mm at net/mlp.py:3 + relu", ("m", "layers", "0", "mm at net/mlp.py:3 + relu")),
        ("relu", ("relu",)),
        ("", ("",)),
    ],
)  # fmt: skip
def test_modules_of_names(name: str, parts: tuple[str, ...]) -> None:
    assert module_parts(name) == parts


def chain(names: Sequence[str]) -> Graph:
    """relu after relu, and a last one that adds the first result."""
    tensors = [Tensor(f"t{i}", DType.F32, (2, 3)) for i in range(len(names) + 1)]
    nodes = [
        Node("aten.relu", (tensors[i],), (tensors[i + 1],), name) for i, name in enumerate(names)
    ]
    total = Tensor("sum", DType.F32, (2, 3))
    nodes.append(
        Node("aten.add.Tensor", (tensors[1], tensors[-1], 1.0, 0, 0.0, 0.0), (total,), "add")
    )
    return Graph([tensors[0]], [total], nodes)


def test_views_collapse_modules() -> None:
    paths = [("a", "b", "x"), ("a", "b", "y"), ("a", "z"), ("c", "w")]
    views = views_of(paths, [(0, 1), (1, 2), (2, 3), (0, 3)])
    assert sorted(views) == ["all", "depth:1", "depth:2", "module:a", "module:a/b", "module:c"]
    assert [box[2:] for box in views["depth:1"]["boxes"]] == [[1, ["a", [0, 1, 2]]], [0, 3]]
    assert [edge[:2] for edge in views["depth:1"]["edges"]] == [[0, 1]]
    # The contents of a/b: two nodes, and the two nodes outside that read them.
    inside = views["module:a/b"]
    assert [box[2:] for box in inside["boxes"]] == [[0, 0], [0, 1], [2, [2]], [2, [3]]]
    assert sorted(edge[:2] for edge in inside["edges"]) == [[0, 1], [0, 3], [1, 2]]


def test_nodes_of_one_name_are_different_boxes() -> None:
    views = views_of([("a",), ("a",)], [(0, 1)])
    assert [box[2:] for box in views["all"]["boxes"]] == [[0, 0], [0, 1]]


def test_modules_that_interleave() -> None:
    """Collapsed modules may form a cycle."""
    views = views_of([("a", "x"), ("b", "y"), ("a", "z")], [(0, 1), (1, 2)])
    assert [edge[:2] for edge in views["depth:1"]["edges"]] == [[0, 1], [1, 0]]


def test_boxes_do_not_overlap() -> None:
    """In random graphs: distinct places, at least one box apart, and edges go down."""
    for seed in range(12):
        generator = random.Random(seed)
        count = generator.randrange(1, 120)
        edges = {
            (a, b)
            for b in range(1, count)
            for a in generator.sample(range(max(0, b - 60), b), k=min(b, generator.randrange(1, 4)))
        }
        found = lay_out(count, sorted(edges))
        rows: dict[float, list[float]] = {}
        for x, y in found.boxes:
            rows.setdefault(y, []).append(x)
        for row in rows.values():
            ordered = sorted(row)
            assert all(b - a > 0.99 for a, b in pairwise(ordered))
        for (a, b), bends in zip(sorted(edges), found.bends, strict=True):
            heights = [found.boxes[a][1], *(y for _, y in bends), found.boxes[b][1]]
            assert heights == sorted(heights)
            assert len(set(heights)) == len(heights)


def test_an_empty_graph() -> None:
    assert lay_out(0, []).boxes == ()
    assert views_of([], [])["all"] == {"boxes": [], "edges": []}


def test_two_thousand_nodes() -> None:
    """Blocks of a decoder: the page stays small."""
    names = [f"m.layers.{i // 20}.part{i % 20 // 5}/op{i}" for i in range(2000)]
    graph = chain(names)
    paths = [module_parts(node.name) for node in graph.nodes]
    views = views_of(paths, [*((i, i + 1) for i in range(2000)), (0, 2000)])
    assert len(views["all"]["boxes"]) == 2001
    assert len(json.dumps(views)) < 1_000_000


class _Elements(HTMLParser):
    """The start tags of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


@cache
def library() -> OpLibrary:
    return OpLibrary()


def data_of(graph: Graph, directory: Path, **sources: Any) -> dict[str, Any]:
    graph_file.save(graph, directory / "net.slg")
    return report_data(directory / "net.slg", Sources(**sources), library())


def test_the_page_is_self_contained(tmp_path: Path) -> None:
    page = page_of(data_of(chain(["a", "b"]), tmp_path))
    elements = _Elements()
    elements.feed(page)
    assert not [tag for tag, attributes in elements.found if {"src", "href"} & set(attributes)]
    assert not [tag for tag, _ in elements.found if tag in ("link", "iframe", "img", "object")]
    assert "default-src 'none'" in page
    assert not re.search(r"\b(fetch|XMLHttpRequest|import)\s*\(", page)


def test_names_are_no_markup(tmp_path: Path) -> None:
    hostile = "</script><script>alert(1)</script><!--{{style}}"
    data = data_of(chain([hostile, "b"]), tmp_path)
    data["title"] = hostile
    elements = _Elements()
    elements.feed(page_of(data))
    assert sum(tag == "script" for tag, _ in elements.found) == 2
    text = page_of(data).split('id="data">')[1].split("</script>")[0]
    assert json.loads(text)["nodes"][0]["name"] == hostile


def profile_of(names: Sequence[tuple[str, str]], path: Path) -> Path:
    """A profile of dispatches with these nodes and operators, 1 ms, 2 ms, …."""
    facts = {"kernel": "", "variant": "v", "storage": "buffer", "grid": [1, 1, 1],
             "workgroup": [1, 1, 1], "reads": [], "writes": [], "bytes_read": 0,
             "bytes_written": 0, "operations": 0, "reason": "", "considered": []}  # fmt: skip
    add_runs(path, {
        "format": "spirloom-profile", "version": 1,
        "model": {"file": "net.slg", "method": ""},
        "device": {"name": "device", "driver": "", "type": "cpu"},
        "dispatches": [{"node": node, "op": op, **facts} for node, op in names],
        "tensors": [],
        "samples": {"runs": 1, "gpu_ns": [1], "host_ns": [],
                    "dispatch_ns": [[10**6 * (i + 1)] for i in range(len(names))]},
        "timeline": {"host": [], "queue_start_ns": 0, "queue": []},
    })  # fmt: skip
    return path


def test_dispatches_belong_to_nodes(tmp_path: Path) -> None:
    """Of two nodes with one name, each has its own dispatch; packing belongs to the first."""
    graph = chain(["a", "same", "same"])
    path = profile_of(
        [("same", "spirloom.pack"), ("same", "aten.relu"), ("same", "aten.relu"), ("add", "copy")],
        tmp_path / "net.slprof",
    )
    profile = read_profile(path)
    assert dispatches_of_nodes(graph, profile) == {1: [0, 1], 2: [2], 3: [3]}
    data = data_of(graph, tmp_path, profile=path)
    assert [node["ms"] for node in data["nodes"]] == [0, 3, 3, 4]


def test_a_profile_of_another_model(tmp_path: Path) -> None:
    path = profile_of([("elsewhere", "aten.relu")], tmp_path / "net.slprof")
    with pytest.raises(ImportFailure, match="is a profile of another model"):
        data_of(chain(["a"]), tmp_path, profile=path)


def test_errors_by_tensor(tmp_path: Path) -> None:
    rows = [{"name": "t1", "relative": 0.5}, {"name": "t2", "relative": None}]
    (tmp_path / "errors.json").write_text(json.dumps({"layers": rows, "outputs": []}))
    data = data_of(chain(["a", "b"]), tmp_path, errors=tmp_path / "errors.json")
    assert [node.get("error", "absent") for node in data["nodes"]] == [0.5, None, "absent"]


def test_the_memory_without_a_profile(tmp_path: Path) -> None:
    memory = data_of(chain(["a", "b"]), tmp_path)["memory"]
    assert memory["peak"] == 512  # t1 and t2, each of 24 bytes in blocks of 256
    assert [each[0] for each in memory["tensors"]] == ["t1", "t2"]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph_file.save(chain(["a"]), tmp_path / "net.slg")
    profile = profile_of([("a", "aten.relu"), ("add", "aten.add.Tensor")], tmp_path / "net.slprof")
    report = ["report", str(tmp_path / "net.slg"), "--profile", str(profile), "-o"]
    assert cli.main([*report, str(tmp_path / "net.html")]) == 0
    assert "net.html: " in capsys.readouterr().out
    other = str(tmp_path / "x.html")
    assert cli.main([*report, other, "--method", "decode"]) == 1
    assert "has no method 'decode'" in capsys.readouterr().err
    for text in ("[", "[]", "{}"):
        (tmp_path / "p.json").write_text(text)
        assert cli.main([*report, other, "--partition", str(tmp_path / "p.json")]) == 1
        assert "spirloom partition" in capsys.readouterr().err
    assert not Path(other).exists()


def test_without_igraph(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "igraph", None)  # type: ignore[arg-type,misc]
    with pytest.raises(ImportFailure, match=r"Install it: .*pip install igraph\."):
        lay_out(1, [])
