"""Registered passes, dumps of the graph after each pass, and the verifier of graphs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from spirloom.builder import Builder
from spirloom.cli import main
from spirloom.ir import DType, Graph, Node, Tensor
from spirloom.op_library import OpLibrary
from spirloom.passes import OPTIMIZATIONS, optimize, register_pass
from spirloom.passes.observers import InvalidGraph, dumping, verify
from spirloom.sizes import Varying, expression

from spec_model.symbolic import Guards, Symbol, general, minimum, size_of, sym
from tests.frontend import models
from tests.frontend.models import node


@pytest.fixture(autouse=True)
def _passes() -> Iterator[None]:
    before = dict(OPTIMIZATIONS)
    yield
    OPTIMIZATIONS.clear()
    OPTIMIZATIONS.update(before)


def relu_twice(library: OpLibrary) -> Graph:
    graph = Graph([Tensor("x", DType.F32, (2, 3))])
    build = Builder(library, graph)
    build.name = "n"
    graph.outputs = [build.emit("aten.relu", x=build.emit("aten.relu", x=graph.inputs[0]))]
    return graph


def remove_second(graph: Graph, library: OpLibrary) -> None:
    """relu(relu(x)) is relu(x)."""
    del graph.nodes[1]
    graph.outputs = [graph.nodes[0].outputs[0]]


def test_registered_passes(library: OpLibrary) -> None:
    register_pass("remove-second", remove_second, before="fuse-activations")
    names = list(OPTIMIZATIONS)
    assert names.index("remove-second") + 1 == names.index("fuse-activations")
    graph, plain = relu_twice(library), relu_twice(library)
    optimize(graph, library)
    assert models.ops(graph) == ["aten.relu"]
    optimize(plain, library, skip=["remove-second"])
    assert len(plain.nodes) == 1 or models.ops(plain) == ["aten.relu"] * 2
    with pytest.raises(ValueError, match="The pass 'remove-second' exists"):
        register_pass("remove-second", remove_second)
    with pytest.raises(ValueError, match="The pass 'fuse' is unknown. The passes are: fuse-int"):
        register_pass("other", remove_second, before="fuse")


def test_dumps(library: OpLibrary, tmp_path: Path) -> None:
    register_pass("remove-second", remove_second, before="fuse-integers")
    with dumping(tmp_path / "passes"):
        optimize(relu_twice(library), library)
    first, second, *_ = sorted((tmp_path / "passes").iterdir())
    assert (first.name, second.name) == ("00-merge-constants.txt", "01-remove-second.txt")
    assert second.read_text() == (
        "input %0: f32[2, 3]\n%1: f32[2, 3] = aten.relu(%0)  # n\nresult %1: f32[2, 3]\n"
    )


def test_dump_option(tmp_path: Path) -> None:
    model = models.model([node("Relu", "x")], inputs={"x": [2, 3]})
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    arguments = ["import", str(tmp_path / "m.onnx"), "-o", str(tmp_path / "m.slg")]
    assert main([*arguments, "--dump-passes", str(tmp_path / "dumps")]) == 0
    assert "aten.relu" in (tmp_path / "dumps" / "00-merge-constants.txt").read_text()


def test_invalid_graphs(library: OpLibrary) -> None:
    def error(graph: Graph) -> str:
        with pytest.raises(InvalidGraph) as raised:
            verify("p", graph, library)
        return str(raised.value)

    graph = relu_twice(library)
    verify("p", graph, library)
    graph.nodes.reverse()
    assert error(graph).startswith("After the pass 'p', node 'n' (aten.relu) reads")
    graph = relu_twice(library)
    graph.nodes.append(graph.nodes[0])
    assert "computes 'n' again" in error(graph)
    graph = relu_twice(library)
    graph.nodes[1].outputs[0].shape = (3, 2)
    assert error(graph).endswith("returns f32[2, 3]; its output is f32[3, 2].")
    graph = relu_twice(library)
    graph.nodes[1] = Node("aten.view", (graph.inputs[0], (7,)), graph.nodes[1].outputs, "bad")
    assert "node 'bad' (aten.view) is invalid: aten.view cannot compute it" in error(graph)
    graph = relu_twice(library)
    del graph.nodes[1]
    assert error(graph) == "After the pass 'p', no node computes 'n'."


def test_a_call_that_is_not_proven_for_all_sizes_is_valid_at_the_largest(
    library: OpLibrary,
) -> None:
    """x[:1] has min(n, 1) rows, which broadcast to n at every size, also at 0."""
    size = sym(Symbol("n", 0, 4))
    for limit in (1, 2):
        with general(Guards()):
            rows, part = (
                Varying(int(each), expression(size_of(each)))
                for each in (size, minimum(size, limit))
            )
            x, y = Tensor("x", DType.F32, (part, 4)), Tensor("y", DType.F32, (rows, 4))
            args = library.complete("aten.expand", {"x": x, "size": (rows, 4)})
            graph = Graph([x], [y], [Node("aten.expand", args, (y,), "expand")])
            if limit == 1:
                verify("a pass", graph, library)
                continue
            with pytest.raises(InvalidGraph, match=r"'expand'.*\[2, 4\] and \[4, 4\] do not"):
                verify("a pass", graph, library)
