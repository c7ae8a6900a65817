"""The operator table that people read: docs/operators.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from codegen.catalog import OpFacts, catalogue
from codegen.loader import Library
from codegen.yaml_reader import read_text

INTRODUCTION = """\
# Operators

Made from the specs by `./dev update`; `spirloom-ops --json` prints the same of a binary.

- *Dynamic shapes*: with *yes* only push constants and dispatch sizes follow the shapes; with
  *new plan* they also decide the kernel, the number of dispatches or a specialisation constant.
- *ONNX*: the operators that become this one in some case of ONNX's test suite, views and casts
  apart ([onnx_operators.txt](../generated/onnx_operators.txt)). Others may use it as a part.
- *Lines*: the spec's. The templates' are below.
"""
_HEAD = "operator|signature|computes|dtypes|storages|dynamic shapes|ONNX|templates|variants|lines"


def op_table_text(library: Library) -> str:
    """The page: operators in order of name, absent storages, templates."""
    facts = catalogue(library)
    parts = [
        INTRODUCTION,
        _table(_HEAD, map(_operator, facts)),
        "## Storages that an operator does not have\n",
        _table("operator|storage|why", _absent(facts)),
        "## Templates\n",
        _table("template|lines|operators|variants", _templates(library)),
    ]
    return "\n".join(parts)


def _table(head: str, rows: Iterable[Iterable[object]]) -> str:
    cells = [head.split("|"), ["---"] * (head.count("|") + 1), *rows]
    return "".join(f"| {' | '.join(str(cell) for cell in row)} |\n" for row in cells)


def _operator(facts: OpFacts) -> Iterator[object]:
    yield f"[`{facts.op}`](../{facts.spec})"
    yield _code(facts.signature)
    yield _code(facts.formula.split("\n")[0])
    yield ", ".join(facts.dtypes)
    yield ", ".join(facts.storages)
    yield facts.dynamic_shapes
    yield ", ".join(facts.onnx)
    yield ", ".join(name.removesuffix(".glsl.j2") for name in facts.templates)
    yield facts.variants
    yield facts.lines


def _absent(facts: Iterable[OpFacts]) -> Iterator[Iterable[object]]:
    for op in facts:
        for why in dict.fromkeys(op.absent_storages.values()):
            storages = (name for name, reason in op.absent_storages.items() if reason == why)
            yield f"`{op.op}`", ", ".join(storages), why.replace("|", "\\|")


def _templates(library: Library) -> Iterator[Iterable[object]]:
    for name in sorted({kernel.template for kernel in library.kernels}):
        source = library.templates.find(name)
        assert source is not None
        users = [v for v in library.variants if v.kernel.template == name]
        lines = len(read_text(source).splitlines())
        yield f"[{name}](../{source.name})", lines, len({v.op for v in users}), len(users)


def _code(text: str) -> str:
    return "`` " + text.replace("|", "\\|") + " ``" if text else ""
