"""The reviewable index: one line per variant."""

from __future__ import annotations

from collections.abc import Iterator

from codegen.loader import Library
from codegen.spec import Variant


def index_text(library: Library) -> str:
    """The variants in order of id, with the spec line and the template each comes from."""
    return "\n".join(_lines(library)) + "\n"


def _lines(library: Library) -> Iterator[str]:
    yield f"# {len(library.variants)} variants of {len(library.ops)} operators: id, spec, template"
    rows = [
        (v.id, f"{v.kernel.position.file}:{v.kernel.position.line}", _template(v))
        for v in sorted(library.variants, key=lambda v: v.id)
    ]
    widths = [max((len(row[i]) for row in rows), default=0) for i in range(2)]
    for name, spec, template in rows:
        yield f"{name:{widths[0]}}  {spec:{widths[1]}}  {template}"


def _template(variant: Variant) -> str:
    kernel = variant.kernel
    return f"{kernel.template}, for tests" if kernel.for_tests else kernel.template
