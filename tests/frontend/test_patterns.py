"""Patterns of calls: matches, replacements, and messages about invalid patterns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from spirloom.builder import Builder
from spirloom.cli import main
from spirloom.ir import DType, Graph, Tensor
from spirloom.op_library import OpLibrary
from spirloom.passes import OPTIMIZATIONS, optimize, register_pass
from spirloom.passes.observers import observing, verify
from spirloom.passes.patterns import InvalidPattern, Match, Rewrite, Rewrites

from tests.frontend import models, reference_run
from tests.frontend.models import node, ops, random

Make = Callable[[Builder, Tensor], Tensor]
DIV, SUB = "aten.div.Tensor", "aten.sub.Tensor"


@pytest.fixture(autouse=True)
def _passes() -> Iterator[None]:
    before = dict(OPTIMIZATIONS)
    yield
    OPTIMIZATIONS.clear()
    OPTIMIZATIONS.update(before)


def graph_of(library: OpLibrary, make: Make, shape: tuple[int, ...], dtype: DType) -> Graph:
    graph = Graph([Tensor("x", dtype, shape)])
    build = Builder(library, graph)
    build.name = "n"
    graph.outputs = [make(build, graph.inputs[0])]
    graph.outputs[0].name = "y"
    return graph


def rewritten(
    library: OpLibrary,
    make: Make,
    *rewrites: Rewrite,
    shape: tuple[int, ...] = (2, 3),
    dtype: DType = DType.F32,
) -> Graph:
    """The graph after the rewrites. It is valid, and its results are unchanged."""
    plain, graph = (graph_of(library, make, shape, dtype) for _ in range(2))
    Rewrites(*rewrites)(graph, library)
    verify("rewrites", graph, library)
    x = {"x": random(*shape).astype(dtype.numpy)}
    given, wanted = (reference_run.run(g, x)["y"] for g in (graph, plain))
    np.testing.assert_allclose(given, wanted, rtol=1e-5, atol=1e-5)
    return graph


SILU = Rewrite("x * aten.sigmoid(x)", "aten.silu(x)")
GELU = Rewrite("0.5 * x * (1 + aten.erf(x / sqrt(2)))", "aten.gelu(x)")


@pytest.mark.parametrize("order", permutations(range(3)))
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("halved", [False, True])
def test_factors_in_any_order_and_grouping(
    library: OpLibrary, order: tuple[int, ...], left: bool, halved: bool
) -> None:
    def make(build: Builder, x: Tensor) -> Tensor:
        erf = build.emit("aten.erf", x=build.mul(x, 0.5**0.5))
        factors = (x, build.add(build.scalar(1, x.dtype), erf), build.scalar(0.5, x.dtype))
        a, b, c = (factors[i] for i in order)
        if halved:  # a division by 2 in the place of the factor 0.5
            gated = build.mul(x, factors[1])
            return build.emit(DIV, a=gated, b=build.scalar(2, x.dtype))
        return build.mul(build.mul(a, b), c) if left else build.mul(a, build.mul(b, c))

    assert ops(rewritten(library, make, GELU)) == ["aten.gelu"]


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_terms_with_signs(library: OpLibrary, sign: float) -> None:
    def make(build: Builder, x: Tensor) -> Tensor:
        size = build.emit("aten.abs", x=x)
        total = build.emit(SUB, a=build.scalar(sign, x.dtype), b=size)
        return build.mul(x, total)

    rewrite = Rewrite(
        "x * (1 - aten.abs(x))", "aten.sub.Tensor(x, aten.mul.Tensor(x, aten.abs(x)))"
    )
    last = ops(rewritten(library, make, rewrite))[-1]
    assert last == (SUB if sign == 1 else "aten.mul.Tensor")


def test_a_replacement_of_several_calls(library: OpLibrary) -> None:
    def make(build: Builder, x: Tensor) -> Tensor:
        return build.emit("aten.log", x=build.emit("aten.exp", x=build.emit("aten.abs", x=x)))

    graph = rewritten(library, make, Rewrite("aten.log(aten.exp(x))", "aten.neg(aten.neg(x))"))
    assert ops(graph) == ["aten.abs", "aten.neg", "aten.neg"]
    assert [n.name for n in graph.nodes[1:]] == ["n + n"] * 2


def test_attributes_are_bound_and_given(library: OpLibrary) -> None:
    def make(build: Builder, x: Tensor) -> Tensor:
        total = build.emit("aten.sum.dim_IntList", x=x, dim=(1,), keepdim=True)
        return build.emit(DIV, a=total, b=build.scalar(3, x.dtype))

    def is_mean(_: OpLibrary, found: Match) -> dict[str, object] | None:
        size = found.tensor("x").shape[1]
        return {} if found["dims"] == (1,) and found["n"] == size else None

    mean = Rewrite(
        "aten.sum.dim_IntList(x, dims, keep) / n", "aten.mean.dim(x, dims, keep)",
        is_mean, scalars=["n"],
    )  # fmt: skip
    graph = rewritten(library, make, mean)
    assert ops(graph) == ["aten.mean.dim"]
    assert library.arg(graph.nodes[0], "dim") == (1,) and library.arg(graph.nodes[0], "keepdim")
    assert ops(rewritten(library, make, mean, shape=(2, 4)))[0] == "aten.sum.dim_IntList"


def test_arguments_that_are_not_given_have_their_defaults(library: OpLibrary) -> None:
    def make(build: Builder, x: Tensor) -> Tensor:
        return build.emit("aten.softplus", x=x, beta=2.0)

    for pattern, matches in (
        ("aten.softplus(x)", False),
        ("aten.softplus(x, beta=2)", True),
        ("aten.softplus(x, ...)", True),
        ("aten.softplus(x, 3, ...)", False),
    ):
        graph = graph_of(library, make, (2, 3), DType.F32)
        Rewrites(Rewrite(pattern, "aten.relu(x)"))(graph, library)
        assert (ops(graph) == ["aten.relu"]) == matches, pattern


@pytest.mark.parametrize("once", [False, True])
def test_intermediate_results_with_other_readers(library: OpLibrary, once: bool) -> None:
    def make(build: Builder, x: Tensor) -> Tensor:
        gate = build.emit("aten.sigmoid", x=x)
        return build.emit(SUB, a=build.mul(x, gate), b=gate)

    gate = "once(aten.sigmoid(x))" if once else "aten.sigmoid(x)"
    rewrite = Rewrite(f"x * {gate}", SILU.replacement)
    given = ops(rewritten(library, make, rewrite))
    assert given == (
        ["aten.sigmoid", "aten.mul.Tensor", SUB] if once else ["aten.sigmoid", "aten.silu", SUB]
    )


def test_the_same_name_is_the_same_value(library: OpLibrary) -> None:
    def make(build: Builder, x: Tensor) -> Tensor:
        return build.mul(build.emit("aten.abs", x=x), build.emit("aten.sigmoid", x=x))

    assert "aten.silu" not in ops(rewritten(library, make, SILU))


def test_a_replacement_of_another_shape_is_refused(library: OpLibrary) -> None:
    def make(build: Builder, x: Tensor) -> Tensor:  # the factor adds a dimension
        erf = build.emit("aten.erf", x=build.mul(x, 0.5**0.5))
        gated = build.mul(x, build.add(erf, build.scalar(1, x.dtype)))
        return build.mul(gated, build.constant(np.full((1, 1, 1), 0.5, np.float32)))

    assert "aten.gelu" not in ops(rewritten(library, make, GELU))


def test_numbers_of_float16_are_compared_in_its_precision(library: OpLibrary) -> None:
    def make(build: Builder, x: Tensor) -> Tensor:
        erf = build.emit("aten.erf", x=build.mul(x, build.scalar(0.5**0.5, x.dtype)))
        return build.mul(
            build.mul(x, build.scalar(0.5, x.dtype)), build.add(erf, build.scalar(1, x.dtype))
        )

    graph = graph_of(library, make, (3,), DType.F16)
    Rewrites(GELU)(graph, library)
    assert ops(graph) == ["aten.gelu"]


@pytest.mark.parametrize(
    ("pattern", "replacement", "message"),
    [
        ("x * aten.sigmoid(", "aten.silu(x)", "column 17: '(' was never closed"),
        ("x * sigmoid(x)", "aten.silu(x)", "column 5: 'sigmoid' is neither an operator, such as "),
        ("x % 2", "aten.silu(x)", "column 1: the operator of 'x % 2' is not supported"),
        ("aten.abs(x) ** 3", "aten.silu(x)", "column 1: the exponent of 'aten.abs(x) ** 3' is not"),
        ("aten.abs([x])", "aten.silu(x)", "column 10: a list must hold constants"),
        ("aten.abs(*x)", "aten.silu(x)", "column 10: '*x' is not supported"),
        ("aten.abs(**x)", "aten.silu(x)", "column 12: ** is not supported"),
        ("sqrt(x, y)", "aten.silu(x)", "column 1: sqrt takes one argument"),
        ("aten.abs(x)", "aten.silu(y)", "reads 'y', which is no name of the pattern 'aten.abs(x)'"),
        ("aten.abs(x)", "x + 1", "'x + 1' is no call of an operator"),
        ("x", "aten.abs(x)", "The pattern 'x' has no operator"),
    ],
)
def test_invalid_patterns(pattern: str, replacement: str, message: str) -> None:
    with pytest.raises(InvalidPattern, match=re.escape(message)):
        Rewrite(pattern, replacement)


def test_names_of_arguments_are_checked(library: OpLibrary) -> None:
    def make(build: Builder, x: Tensor) -> Tensor:
        return build.emit("aten.abs", x=x)

    for pattern, replacement, message in (
        ("aten.abs(x, y=1)", "aten.neg(x)", "aten.abs has no argument 'y'"),
        ("aten.abs(x, 1)", "aten.neg(x)", "aten.abs has 1 argument"),
        ("aten.abs(x)", "aten.neg(x, y=1)", "aten.neg has no argument 'y'"),
    ):
        graph = graph_of(library, make, (2, 3), DType.F32)
        with pytest.raises(InvalidPattern, match=re.escape(message)):
            Rewrites(Rewrite(pattern, replacement))(graph, library)


def test_every_fused_operator_says_what_it_is_fused_from() -> None:
    """Selective builds keep an operator if those that it is fused from are requested."""
    checked = 0
    for rewrite in (r for p in OPTIMIZATIONS.values() for r in getattr(p, "rewrites", ())):
        if rewrite.made.op not in rewrite.pattern:
            assert reference_run.OPS[rewrite.made.op].fused_from, rewrite
            checked += 1
    assert checked > 5


DOCS = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "import-and-passes.md"


def test_registered_rewrites(library: OpLibrary) -> None:
    register_pass("my-silu", Rewrites(SILU), before="fuse-patterns")

    def make(build: Builder, x: Tensor) -> Tensor:
        return build.mul(x, build.emit("aten.sigmoid", x=x))

    graph = graph_of(library, make, (2, 3), DType.F32)
    with observing(verify):
        optimize(graph, library, skip=["fuse-patterns"])
    assert ops(graph) == ["aten.silu"]


def test_the_documented_file_of_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = models.model([node("Relu", "x", "a"), node("Relu", "a", "y")], {"x": (2, 3)})
    (tmp_path / "m.onnx").write_bytes(made.SerializeToString())
    blocks = re.findall(r"```python\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    (example,) = (block for block in blocks if "register_pass(" in block)
    (tmp_path / "mine.py").write_text(example)
    arguments = ["import", str(tmp_path / "m.onnx"), "-o", str(tmp_path / "m.slg")]
    assert main([*arguments, "--passes", str(tmp_path / "mine.py")]) == 0
    assert "1 node" in capsys.readouterr().out
    arguments += ["--passes", str(tmp_path / "mine.py"), "--skip-pass", "fuse-double-relu"]
    assert main(arguments) == 0
    assert "2 nodes" in capsys.readouterr().out


def test_files_of_passes_with_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = models.model([node("Relu", "x", "y")], {"x": (2, 3)})
    (tmp_path / "m.onnx").write_bytes(made.SerializeToString())
    for text, message in (
        ("import nothing_here", "mine.py:1: ModuleNotFoundError: No module named 'nothing_here'"),
        ("\nopen('nothing.txt')", "mine.py:2: FileNotFoundError: [Errno 2] No such file"),
        ("\nx = (", "mine.py:2: SyntaxError: '(' was never closed"),
        (
            "from spirloom.passes.patterns import Rewrite\nRewrite('x', 'y')",
            "mine.py:2: InvalidPattern",
        ),
    ):
        (tmp_path / "mine.py").write_text(text)
        arguments = ["import", str(tmp_path / "m.onnx"), "-o", str(tmp_path / "m.slg")]
        assert main([*arguments, "--passes", str(tmp_path / "mine.py")]) == 1
        assert message in capsys.readouterr().err
    assert main([*arguments, "--passes", str(tmp_path / "absent.py")]) == 1
    assert "absent.py: No such file or directory" in capsys.readouterr().err
