"""The C++ files of a library, rendered from templates/cpp/*.j2."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import jinja2

from codegen.cpp.op_code import OpCode
from codegen.expr.emit import quoted
from codegen.loader import Library
from codegen.op import Op


class CppWriter:
    """Renders the C++ of a library."""

    def __init__(self, templates: Path, library: str, function: str, digest: int) -> None:
        self._facts = {
            "library": quoted(library),
            "function": function,
            "digest": f"0x{digest:016x}",
        }
        self._environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(templates),
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            auto_reload=False,
        )
        self._environment.filters["quoted"] = quoted

    def files(self, library: Library) -> Iterator[tuple[str, str]]:
        """Names and texts of the files, relative to the output folder."""
        ops = list(library.ops.values())
        names = ["cpp/library.cpp"]
        yield names[0], self._render("library.cpp.j2", ops=[OpCode(op) for op in ops])
        for op in ops:
            names.append(f"cpp/ops/{op.short_name}.cpp")
            yield names[-1], self.op_text(op)
        yield "cpp/sources.cmake", self._render("sources.cmake.j2", names=sorted(names))

    def op_text(self, op: Op) -> str:
        """The file of one op."""
        return self._render("op.cpp.j2", op=OpCode(op))

    def _render(self, template: str, **values: object) -> str:
        return self._environment.get_template(template).render(self._facts | values)
