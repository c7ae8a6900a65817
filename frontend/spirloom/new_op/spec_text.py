"""A spec from another one: its text with new names, and TODOs for the author."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

from spec_model.fields import as_mapping
from spec_model.load.cases import swept
from spec_model.load.checks import unused_lets
from spec_model.load.operators import EDITOR_COMMENT
from spec_model.spec import Let
from spec_model.spec.signature import argument_text
from spec_model.yaml_parser import parse_yaml
from spec_model.yaml_reader import (
    Entry,
    Mapping,
    Node,
    Scalar,
    Sequence,
)
from spec_model.yaml_text import case_text
from spirloom.casegen.runs import run_of
from spirloom.new_op.block_layout import in_block_layout
from spirloom.new_op.target import Target, general_kernel

_FUNCTION = re.compile(r"  (\w+)\([^()]*\)")


def spec_text(target: Target, template: str) -> str:
    """The new spec, with the most general kernel."""
    text = in_block_layout(target.like_text, target.like_spec.name)
    old = _Spec(text.splitlines(), as_mapping(parse_yaml(text, target.like_spec.name), "a spec"))
    schema = os.path.relpath(target.schema, target.spec_dir)
    lines = [f"{EDITOR_COMMENT} $schema={schema}"]
    lines += [f"# TODO: the formula, y = … (this is a copy of {target.like.name})"]
    for i, entry in enumerate(old.root.entries):
        lines += _entry(target, template, old, entry, old.span(i))
    return "\n".join(_without_unused_functions(lines)) + "\n"


def _without_unused_functions(lines: list[str]) -> list[str]:
    """The spec without functions of `let` that only other kernels call."""
    for i, line in enumerate(lines):
        match = _FUNCTION.match(line)
        calls = re.compile(rf"\b{match[1]}\(") if match else None
        if calls and not any(calls.search(other) for other in lines[:i] + lines[i + 1 :]):
            return _without_unused_functions(lines[:i] + lines[i + 1 :])
    return lines


@dataclass(frozen=True, slots=True)
class _Spec:
    lines: list[str]
    root: Mapping

    def span(self, index: int) -> range:
        """The lines of a top-level entry, counted from 0."""
        starts = [entry.key.position.line - 1 for entry in self.root.entries]
        return range(starts[index], [*starts, len(self.lines)][index + 1])

    def text(self, span: range) -> Iterator[tuple[int, str]]:
        """Indices and lines, without the TODOs of an earlier scaffold."""
        for i in span:
            if not self.lines[i].lstrip().startswith("# TODO"):
                yield i, self.lines[i]


def _entry(target: Target, template: str, old: _Spec, entry: Entry, span: range) -> Iterator[str]:
    match entry.key.text, entry.value:
        case "op", _:
            yield f"op: {target.op}"
            yield from _args(target, template, old)
        case "args", Mapping() if target.added or target.left_out:
            pass
        case "checks", Sequence() as checks:
            yield "checks:"
            yield from _items(target, old, checks, span.stop)
        case "overloads" | "executorch" | "onnx", _:
            pass  # names of the old operator
        case "reference", _:
            yield f"# TODO: adapt {target.stem}.py, or write a NumPy expression here"
            yield f"reference: {target.stem}.{target.stem}"
        case "kernel", Mapping() as kernel:
            yield from _kernel(template, old, kernel, range(span.start + 1, span.stop))
        case "kernels", Sequence(items=items):
            listed = [kernel for kernel in target.like.kernels if not kernel.derived]
            chosen = listed.index(general_kernel(target.like))
            starts = [*(item.position.line - 1 for item in items), span.stop]
            kernel_span = range(starts[chosen], starts[chosen + 1])
            yield from _kernel(template, old, as_mapping(items[chosen], "a kernel"), kernel_span)
        case "let", Mapping() as lets:
            yield from _lets(target, old, lets, span)
        case "tests", Sequence() as tests:
            yield "# TODO: odd, empty, broadcast and misaligned shapes, and every option"
            yield "tests:"
            yield from _items(target, old, tests, span.stop)
        case _:
            yield from (line for _, line in old.text(span))


def _args(target: Target, template: str, old: _Spec) -> Iterator[str]:
    """The arguments of a shared template, as a comment, and the added ones."""
    file = target.like.position.file
    shared = [arg for arg in target.like.args if arg.position.file != file]
    if shared:
        own_sidecar = target.shown(target.template.with_name(f"{target.stem}.yaml"))
        copied = template == target.template.name
        where = own_sidecar if copied else shared[0].position.file
        yield f"# {where} has: {', '.join(map(argument_text, shared))}"
    if target.added or target.left_out:
        own = old.root.get("args")
        given = {e.key.text: e.value for e in own.entries} if isinstance(own, Mapping) else {}
        texts = {name: _as_written(value) for name, value in given.items()}
        texts |= {arg.name: argument_text(arg).partition(": ")[2] for arg in target.added}
        yield "args:"
        kept = {name: text for name, text in texts.items() if name not in target.left_out}
        yield from (f"  {name}: {text}" for name, text in kept.items())


def _as_written(value: object) -> str:
    assert isinstance(value, Scalar)
    return f'"{value.text}"' if value.quoted else value.text


def _lets(target: Target, old: _Spec, lets: Mapping, span: range) -> Iterator[str]:
    """The definitions that the operator uses with this kernel."""
    op, kernel = target.like, general_kernel(target.like)
    steps = [
        step
        for step in op.steps
        if isinstance(step, Let) or target.left_out.isdisjoint(step.condition.names)
    ]
    while idle := unused_lets(steps, op.outputs, [kernel], op.other_names):
        steps = [step for step in steps if step not in idle]
    needed = {step.name for step in steps if isinstance(step, Let)}
    starts = [*(entry.key.position.line - 1 for entry in lets.entries), span.stop]
    kept = [
        i
        for i, entry in enumerate(lets.entries)
        if entry.key.text in needed or _FUNCTION.match(f"  {entry.key.text}")
    ]
    if kept:
        yield from (line for _, line in old.text(range(span.start, starts[0])))
    for i in kept:
        yield from (line for _, line in old.text(range(starts[i], starts[i + 1])))


def _kernel(template: str, old: _Spec, kernel: Mapping, span: range) -> Iterator[str]:
    """The kernel: it has the name of the operator, and possibly its own template."""
    yield "kernel:"
    yield "  # TODO: adapt the dtypes, params, push constants and grid"
    named = {entry.key.text: entry for entry in kernel.entries}
    extra = kernel.position.column - 3
    for i, line in old.text(span):
        if "name" in named and named["name"].key.position.line - 1 == i:
            continue
        if named["template"].key.position.line - 1 == i:
            line = _replaced(line, named["template"].value, template)
        if kernel.position.line - 1 == i and extra > 0:
            line = " " * (extra + 2) + line[extra + 2 :]  # without the dash of the list item
        yield line[extra:]


def _replaced(line: str, value: object, text: str) -> str:
    assert isinstance(value, Scalar)
    start = value.position.column - 1
    return line[:start] + text + line[start + len(value.text) :]


def _items(target: Target, old: _Spec, items: Sequence, end: int) -> Iterator[str]:
    """The items of a list, without those for other kernels."""
    starts = [item.position.line - 1 for item in items.items]
    spans = zip(items.items, starts, [*starts[1:], end], strict=True)
    index = 0
    for item, first, stop in spans:
        cases = list(swept(item, target.like.args))
        kept = [case for i, case in enumerate(cases, index) if not _is_for_others(target, case, i)]
        if len(kept) == len(cases):
            yield from (line for _, line in old.text(range(first, stop)))
        else:
            yield from map(case_text, kept)
        index += len(cases)


def _is_for_others(target: Target, item: Node, index: int) -> bool:
    """Whether a case is of another kernel, or only other kernels compute it, or a case or check has
    an omitted argument. `index`: of the case among those of the spec.
    """
    if isinstance(item, Scalar):
        return not target.left_out.isdisjoint(re.findall(r"\w+", item.text))
    assert isinstance(item, Mapping)
    if any(item.get(name) is not None for name in ("kernel", *target.left_out)):
        return True
    op = target.like
    variants = op.variants_of(general_kernel(op))
    case = [case for case in op.tests if not case.shared][index]
    return not any(run_of(op, "", case, variant) for variant in variants)
