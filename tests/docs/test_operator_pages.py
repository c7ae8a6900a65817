"""The pages of operators, from the sections of operators.md."""

from __future__ import annotations

from tools.docs.operator_pages import SOURCE, index_text, page_text, read_operators

TEXT = """\
# Operators

Introduction.

### `local.op`

`` y = x ``

- Dtypes: f32
- Variants: 1

## Math

### `aten.add.Tensor`

Adds as `local.op` | more. The second sentence.

- Dtypes: f16, f32
- Variants: 2
- Spec: [op_specs/add.yaml](../../op_specs/add.yaml), 3 lines

## Templates

| Template |
"""


def test_operators_of_a_page() -> None:
    introduction, (first, second), templates = read_operators(TEXT)
    assert introduction == "# Operators\n\nIntroduction.\n\n"
    assert (first.name, first.family, first.summary) == ("local.op", "", "`` y = x ``")
    assert (second.family, second.summary) == ("Math", "Adds as `local.op` | more.")
    assert templates == "\n## Templates\n\n| Template |\n"


def test_the_index_has_a_line_for_each_operator() -> None:
    lines = index_text(TEXT).splitlines()
    assert r"| [`local.op`](operators/local.op.md) | `` y = x `` | f32 | 1 |" in lines
    add = r"| [`aten.add.Tensor`](operators/aten.add.Tensor.md) | Adds as `local.op` \| more. "
    assert f"{add}| f16, f32 | 2 |" in lines


def test_the_page_of_an_operator() -> None:
    _, operators, _ = read_operators(TEXT)
    page = page_text(operators[1], frozenset(op.name for op in operators))
    assert page.startswith(
        "---\norphan: true\nkeywords: aten.add.Tensor, add.Tensor, add\n---\n\n"
        "# `aten.add.Tensor`\n\n[Operators](../operators.md) › Math\n\n"
        "Adds as [`local.op`](local.op.md) | more. The second sentence.\n"
    )
    assert "[op_specs/add.yaml](../../../op_specs/add.yaml)" in page


def test_no_section_is_lost() -> None:
    text = SOURCE.read_text(encoding="utf-8")
    introduction, operators, templates = read_operators(text)
    assert len(operators) == text.count("\n### `")
    assert introduction.startswith("# Operators") and templates.count("\n|") > 100
