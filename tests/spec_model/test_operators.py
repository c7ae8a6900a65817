"""Specs with `for`, which declare several operators."""

from __future__ import annotations

import pytest

from spec_model import load_library
from spec_model.load.single_spec import find_spec, single_spec_text
from spec_model.templates import Directory
from tests.codegen.small_project import Project

FILE = "op_specs/compare.yaml"
SPEC = """\
# y = a $symbol b: $words
for:
  gt: {symbol: ">", words: greater, n: 1}
  lt:
    symbol: "<"
    words: less
    n: 2
    overloads: [test.less]
    checks: [a.rank < 3]
    tests:
      - {a: [4], b: [4]}
op: test.$name.Tensor
args:
  a: tensor
  b: tensor
  steps: int[$n] = 0
let:
  rank: max(a.rank, $n)
checks:
  - rank < 8 and len(steps) == $n
outputs:
  y: {shape: "broadcast(a.shape, b.shape)", dtype: a.dtype}
kernels:
  - name: ${name}_f32
    template: binary.glsl.j2
    dtypes: [f32]
    params: {expr: a $symbol b, scale: $n}
    prefer: numel(y) > 64
  - template: binary.glsl.j2
    dtypes: [floats]
    params: {expr: a $symbol b, scale: $n}
reference: a $symbol b
tests:
  - {a: [2, 3], b: [3]}
"""


@pytest.fixture
def compare(project: Project) -> Project:
    """The project with a second spec, of two operators."""
    project.write(FILE, SPEC)
    return project


def test_an_operator_for_each_entry(compare: Project) -> None:
    ops = compare.load().ops
    gt, lt = ops["test.gt.Tensor"], ops["test.lt.Tensor"]
    assert (gt.short_name, gt.formula) == ("gt", "y = a > b: greater")
    assert (lt.short_name, lt.formula) == ("lt", "y = a < b: less")
    assert [kernel.name for kernel in gt.kernels] == ["gt_f32", "gt"]
    assert [kernel.params["expr"] for kernel in lt.kernels] == ["a < b", "a < b"]
    assert [kernel.params["scale"] for kernel in lt.kernels] == [2, 2]
    assert [arg.default for arg in gt.args] == [None, None, (0,)]
    assert [arg.default for arg in lt.args] == [None, None, (0, 0)]
    assert (str(gt.position), str(lt.position)) == (f"{FILE}:3:3", f"{FILE}:4:3")


def test_keys_of_an_entry(compare: Project) -> None:
    ops = compare.load().ops
    gt, lt = ops["test.gt.Tensor"], ops["test.lt.Tensor"]
    assert (gt.overloads, lt.overloads) == ((), ("test.less",))
    assert (len(gt.steps), len(lt.steps)) == (2, 3)
    assert (len(gt.tests), len(lt.tests)) == (2, 3)  # one is the template's


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        (
            "n: 2\n",
            "m: 2\n",
            "7:5",
            "'m' is neither a variable of the spec nor a key; variables are: n, symbol, words.",
        ),
        ("    n: 2\n", "", "15:14", "'lt' (op_specs/compare.yaml:4:3) has no value of '$n'."),
        (
            "n: 2\n",
            "n: [2]\n",
            "7:8",
            "A value is expected for variable 'n' in a text, not a list.",
        ),
        (
            "rank < 8",
            "rnk < 8",
            "20:5",
            "Name 'rnk' is unknown here; known names are: a, b, steps, rank. (For gt.)",
        ),
        (
            "  gt: {",
            "  Gt: {",
            "3:3",
            "Operator 'Gt' is not a name: lower-case letters, digits and single '_' between them.",
        ),
        (
            "test.$name.Tensor",
            "test.same",
            "4:3",
            "Op 'test.same' is also defined at op_specs/compare.yaml:3:3; rename one.",
        ),
        (
            "${name}_f32",
            "one_f32",
            "24:11",
            "Kernel 'one_f32' is also defined at op_specs/compare.yaml:24:11; rename one.",
        ),
    ],
)
def test_invalid_entries(compare: Project, old: str, new: str, line: str, message: str) -> None:
    compare.edit(FILE, old, new)
    compare.rejects(f"{FILE}:{line}: error: {message}")


def test_names_are_unique(compare: Project) -> None:
    compare.edit(FILE, "  lt:\n", "  add:\n")
    compare.rejects(
        f"{FILE}:4:3: error: Spec name 'add' is also defined at op_specs/add.yaml:2:5; rename one.",
        f"{FILE}:29:5: error: Kernel 'add' is also defined at op_specs/add.yaml:10:3; rename one.",
    )


def test_a_comment_of_one_operator_has_no_variables(project: Project) -> None:
    project.spec("# y = a + alpha * b\n", "# $schema, for 5$\n")
    library = project.load()
    assert library.ops["aten.add.Tensor"].formula == "$schema, for 5$"
    text = single_spec_text(library.specs[0], "add", library.templates)
    assert text == (project.root / "op_specs/add.yaml").read_text()


def test_an_empty_for(compare: Project) -> None:
    compare.write(FILE, SPEC[: SPEC.index("  gt:")] + "  {}\n" + SPEC[SPEC.index("op: test") :])
    compare.rejects(f"{FILE}:3:3: error: 'for' has no operator.")


def test_the_text_of_one_operator(compare: Project) -> None:
    library = compare.load()
    specs = Directory(compare.root / "op_specs", "op_specs")
    source = find_spec("lt", specs)
    assert source is not None
    assert find_spec("le", specs) is None
    text = single_spec_text(source, "lt", library.templates)
    assert text.startswith("# y = a < b: less\nop: test.lt.Tensor\n")
    assert "$" not in text
    assert 'outputs:\n  y: {shape: "broadcast(a.shape, b.shape)", dtype: a.dtype}\n' in text
    (compare.root / FILE).unlink()
    compare.write("op_specs/lt.yaml", text)
    alone = load_library(
        [compare.root / "op_specs"], [compare.root / "templates/glsl"], compare.root
    )
    old, new = library.ops["test.lt.Tensor"], alone.ops["test.lt.Tensor"]
    assert [v.id for v in old.variants] == [v.id for v in new.variants]
    assert (new.overloads, len(new.tests), len(new.steps)) == (("test.less",), 3, 3)
