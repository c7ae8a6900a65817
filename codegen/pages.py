"""The page of operators, docs/reference/operators.md."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import PurePosixPath

from codegen.catalog import OpFacts, catalog
from spec_model.library import Library
from spec_model.yaml_reader import read_text

INTRODUCTION = """\
# Operators

Generated from the operator specs by `./dev update`. `spirloom-ops --json` prints the same facts of
a binary, and [the spec language](spec-language.md) explains the terms.

- *Shapes*: other input shapes change either only push constants and dispatch sizes (*dynamic*), or
  also the kernel, the number of dispatches or a specialization constant (*new plan*).
- *Traits*: [what passes and importers assume](spec-language.md#traits).
- *ONNX*: the operators that become this one by its spec or in a case of ONNX's test suite
  ([list](../../generated/onnx_operators.txt)), views and casts aside. Others may use it as a part.
- *Lines*: of the spec. [Templates](#templates) lists those of the templates.
"""
_ROOT = "../.."  # from the page to the repository
_SHAPES = {"yes": "dynamic", "new plan": "new plan"}


def op_table_text(library: Library) -> str:
    """The page: families of operators in order of name, each operator a section; templates."""
    facts = sorted(catalog(library), key=lambda op: (_family(op), op.op))
    parts = [INTRODUCTION]
    for family, ops in groupby(facts, key=_family):
        if family:
            parts.append(f"## {family.capitalize()}\n")
        parts += map(_section, ops)
    parts += ["## Templates\n", _table("Template|Lines|Operators|Variants", _templates(library))]
    return "\n".join(parts)


def _family(op: OpFacts) -> str:
    """The name of the spec's directory in op_specs/; empty if there is none."""
    directories = PurePosixPath(op.spec).parts[1:-1]
    return " ".join(directories).replace("_", " ")


def _section(op: OpFacts) -> str:
    lines = [
        f"### `{op.op}`\n",
        f"{_description(op.formula)}\n",
        f"- Signature: {_code(op.signature)}",
        f"- Dtypes: {', '.join(op.dtypes)}",
        f"- Storages: {', '.join(op.storages)}",
        f"- Shapes: {_SHAPES[op.dynamic_shapes]}",
        *_listed("Traits", map(_quoted, op.traits)),
        *_listed("PyTorch overloads", map(_quoted, op.overloads)),
        *_listed("ONNX", op.onnx),
        *_listed("ExecuTorch", map(_quoted, op.executorch)),
        f"- Templates: {', '.join(name.removesuffix('.glsl.j2') for name in op.templates)}",
        f"- Variants: {op.variants}",
        f"- Spec: [{op.spec}]({_ROOT}/{op.spec}), {op.lines} lines",
        *_absent(op),
    ]
    return "\n".join(lines) + "\n"


def _description(formula: str) -> str:
    """The first line of the spec: code if it is a formula, otherwise text."""
    first = formula.split("\n")[0]
    if re.match(r"^[\w, ]+(\[.*?\])? = ", first):
        return _code(first)
    pieces = re.split(r"(`[^`]*`)", first)
    pieces[::2] = (re.sub(r"([\\*_<>\[\]])", r"\\\1", piece) for piece in pieces[::2])
    return "".join(pieces)


def _listed(what: str, names: Iterable[str]) -> list[str]:
    text = ", ".join(names)
    return [f"- {what}: {text}"] if text else []


def _quoted(name: str) -> str:
    return f"`{name}`"


def _absent(op: OpFacts) -> Iterator[str]:
    for why in dict.fromkeys(op.absent_storages.values()):
        storages = (name for name, reason in op.absent_storages.items() if reason == why)
        yield f"- Not in {', '.join(storages)}: {_description(why)}"


def _templates(library: Library) -> Iterator[Iterable[object]]:
    for name in sorted({kernel.template for kernel in library.kernels}):
        source = library.templates.find(name)
        assert source is not None
        users = [v for v in library.variants if v.kernel.template == name]
        lines = len(read_text(source).splitlines())
        yield f"[{name}]({_ROOT}/{source.name})", lines, len({v.op for v in users}), len(users)


def _table(head: str, rows: Iterable[Iterable[object]]) -> str:
    cells = [head.split("|"), ["---"] * (head.count("|") + 1), *rows]
    return "".join(f"| {' | '.join(str(cell) for cell in row)} |\n" for row in cells)


def _code(text: str) -> str:
    return f"`` {text} ``" if text else ""
