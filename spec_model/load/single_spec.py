"""The text of one operator's spec without kernel sets: to copy it, and to change its kernels."""

from __future__ import annotations

from collections.abc import Iterator

from spec_model.load.kernel_sets import with_kernel_sets
from spec_model.templates import Templates
from spec_model.yaml_reader import Mapping, Scalar, SourceFile, read_text, read_yaml
from spec_model.yaml_text import entry_text


def single_spec_text(source: SourceFile, name: str, templates: Templates) -> str:
    """The operator's spec. Entries without kernel sets are as written, with their comments."""
    written = read_yaml(source)
    stem = Scalar(written.position, name, quoted=False, one_line=False)
    spec, _ = with_kernel_sets(written, stem, templates)
    return "\n".join(_lines(read_text(source).splitlines(), written, spec)) + "\n"


def _lines(lines: list[str], written: Mapping, spec: Mapping) -> Iterator[str]:
    starts = [entry.key.position.line - 1 for entry in written.entries]
    ends = [*starts[1:], len(lines)]
    spans = {id(e): at for e, *at in zip(written.entries, starts, ends, strict=True)}
    yield from lines[: starts[0]]
    for entry in spec.entries:
        start, end = spans.get(id(entry), (0, 0))
        yield from lines[start:end] if end else [entry_text(entry)]
