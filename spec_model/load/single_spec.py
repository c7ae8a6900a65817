"""The text of one operator's spec, without `for` and kernel sets: to copy or change it."""

from __future__ import annotations

from collections.abc import Iterator

from spec_model.load.kernel_sets import with_kernel_sets
from spec_model.load.operators import EDITOR_COMMENT, operators_of
from spec_model.templates import Directory, Templates
from spec_model.yaml_reader import Mapping, SourceFile, read_text
from spec_model.yaml_text import entry_text


def single_spec_text(source: SourceFile, name: str, templates: Templates) -> str:
    """The operator's spec. Entries without variables and kernel sets are as written."""
    (op,) = (op for op in operators_of(source) if op.name.text == name)
    spec, _ = with_kernel_sets(op.spec, op.name, templates)
    lines = read_text(source).splitlines()
    opening = lines[: op.written.entries[0].key.position.line - 1]
    comment = [op.text(line) for line in opening if not line.startswith(EDITOR_COMMENT)]
    return "\n".join([*comment, *_lines(lines, op.written, spec)]) + "\n"


def _lines(lines: list[str], written: Mapping, spec: Mapping) -> Iterator[str]:
    starts = [entry.key.position.line - 1 for entry in written.entries]
    ends = [*starts[1:], len(lines)]
    spans = {id(e): at for e, *at in zip(written.entries, starts, ends, strict=True)}
    for entry in spec.entries:
        start, end = spans.get(id(entry), (0, 0))
        yield from lines[start:end] if end else [entry_text(entry)]


def find_spec(name: str, directory: Directory) -> SourceFile | None:
    """The file that declares an operator."""
    files = (directory.file(directory.relative(path)) for path in directory.ending(".yaml"))
    declared = ((file, op.name.text) for file in files for op in operators_of(file))
    return next((file for file, short_name in declared if short_name == name), None)
