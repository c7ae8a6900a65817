"""A spec like another one: its text with the new names, and marks where the author must think."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from codegen.yaml_reader import Entry, Mapping, Scalar, Sequence, SourceFile, read_text, read_yaml
from spirloom.new_op.target import Target


def spec_text(target: Target, template: str) -> str:
    """The new spec. Of several kernels it keeps the last, which is the most general."""
    source = SourceFile(target.like_spec, target.like_spec.name)
    old = _Spec(read_text(source).splitlines(), read_yaml(source))
    lines = [f"# TODO: the formula, y = … (this is a copy of {target.like.name})"]
    for i, entry in enumerate(old.root.entries):
        lines += _entry(target, template, old, entry, old.span(i))
    return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True)
class _Spec:
    lines: list[str]
    root: Mapping

    def span(self, index: int) -> range:
        """The lines of a top-level entry, counted from 0."""
        starts = [entry.key.position.line - 1 for entry in self.root.entries]
        return range(starts[index], [*starts, len(self.lines)][index + 1])

    def text(self, span: range) -> Iterator[tuple[int, str]]:
        """Lines with their numbers, but for the marks of a scaffold that nobody has filled in."""
        for i in span:
            if not self.lines[i].lstrip().startswith("# TODO"):
                yield i, self.lines[i]


def _entry(target: Target, template: str, old: _Spec, entry: Entry, span: range) -> Iterator[str]:
    match entry.key.text, entry.value:
        case "op", _:
            yield f"op: {target.op}"
        case "reference", _:
            yield f"# TODO: write reference/{target.stem}.py; a short one may stand here instead"
            yield f"reference: {target.stem}.{target.stem}"
        case "kernel", Mapping() as kernel:
            yield from _kernel(template, old, kernel, range(span.start + 1, span.stop))
        case "kernels", Sequence(items=(*_, Mapping() as kernel)):
            yield from _kernel(template, old, kernel, range(kernel.position.line - 1, span.stop))
        case "tests", Sequence() as tests:
            yield "# TODO: odd, empty, broadcast and misaligned shapes, and every option"
            yield "tests:"
            yield from _tests(old, tests, span.stop)
        case _:
            yield from (line for _, line in old.text(span))


def _kernel(template: str, old: _Spec, kernel: Mapping, span: range) -> Iterator[str]:
    """The one kernel: it bears the operator's name, and may have a template of its own."""
    yield "kernel:"
    yield "  # TODO: what of this is the new operator's? Its dtypes, params, push constants, grid"
    named = {entry.key.text: entry for entry in kernel.entries}
    extra = kernel.position.column - 3
    for i, line in old.text(span):
        if "name" in named and named["name"].key.position.line - 1 == i:
            continue
        if named["template"].key.position.line - 1 == i:
            line = _replaced(line, named["template"].value, template)
        yield line[extra:]


def _replaced(line: str, value: object, text: str) -> str:
    assert isinstance(value, Scalar)
    start = value.position.column - 1
    return line[:start] + text + line[start + len(value.text) :]


def _tests(old: _Spec, tests: Sequence, end: int) -> Iterator[str]:
    """The cases, without those for a kernel that the new operator lacks."""
    starts = [item.position.line - 1 for item in tests.items]
    for item, first, stop in zip(tests.items, starts, [*starts[1:], end], strict=True):
        if not isinstance(item, Mapping) or item.get("kernel") is None:
            yield from (line for _, line in old.text(range(first, stop)))
