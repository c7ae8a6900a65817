"""The operators that a spec declares: one, or with `for` one for each of its entries.

An entry of `for` is an operator's short name with values of the spec's variables and with keys of
its own, merged over those of the spec. `$name` is the short name. `for` in an item of `kernels`
declares kernels in the same way.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Iterator
from collections.abc import Mapping as Map
from contextlib import contextmanager
from dataclasses import dataclass

from spec_model.errors import Diagnostic, Position, SpecError, one_of
from spec_model.fields import Fields, as_items, as_mapping, as_scalar, check_name
from spec_model.load.declaration import with_declaration
from spec_model.load.defaults import in_order_of_use
from spec_model.templates import merge
from spec_model.yaml_reader import (
    Entry,
    Mapping,
    Node,
    Scalar,
    Sequence,
    SourceFile,
    read_text,
    read_yaml,
)

EDITOR_COMMENT = "# yaml-language-server:"
OPERATOR_KEYS = (
    "op",
    "overloads",
    "executorch",
    "onnx",
    "traits",
    "args",
    "let",
    "checks",
    "outputs",
    "bounds",
    "view_of",
    "view_offset",
    "in_place",
    "fused_from",
    "kernel",
    "kernels",
    "reference",
    "tests",
    "domain",
    "tolerance",
)
_FOR = "for"
_OPERATOR, _KERNEL = "Operator", "Kernel"
_NAME = "name"
_ADDED = ("checks", "tests")  # lists of the spec and of an entry add up
_VARIABLE = re.compile(r"\$(\w+)|\$\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Declared:
    """An operator of a spec: its keys, without `for` and variables."""

    name: Scalar  # the short name
    written: Mapping  # the file
    spec: Mapping
    values: Map[str, Node]  # of the variables

    @property
    def is_one_of_several(self) -> bool:
        """Whether the spec has `for`."""
        return _NAME in self.values

    def text(self, text: str) -> str:
        """The spec's comment for this operator."""
        if not self.is_one_of_several:
            return text
        return _Values(self.values, self.name).text(text, self.name.position)

    def named(self, error: SpecError) -> SpecError:
        """The error with the operator's name."""
        if not self.is_one_of_several:
            return error
        suffix = f" (For {self.name.text}.)"
        return SpecError(Diagnostic(d.position, d.message + suffix) for d in error.diagnostics)


def operators_of(spec: SourceFile) -> Iterator[Declared]:
    """The operators that a spec declares."""
    return declared(read_yaml(spec), spec.path.stem, OPERATOR_KEYS, opening_comment(spec))


def opening_comment(spec: SourceFile) -> str:
    """The spec's opening comment."""
    lines = []
    for line in read_text(spec).splitlines():
        if not line.startswith("#"):
            break
        if not line.startswith(EDITOR_COMMENT):
            lines.append(line.lstrip("#").strip())
    return " ".join(lines)


def declared(root: Mapping, stem: str, keys: Collection[str], comment: str) -> Iterator[Declared]:
    """The operators of a spec. `stem`: the file's name, and that of a single operator.

    `keys`: those of an operator. `comment`: the file's opening comment.
    """
    file_name = Scalar(root.position, stem, quoted=False, located=False)
    check_name(file_name, "Spec file", lower=True)
    fields = Fields.of(root, "a spec", (*keys, _FOR))
    if fields.get(_FOR) is None:
        yield Declared(file_name, root, with_declaration(root), {})
        return
    body = Mapping(root.position, tuple(e for e in root.entries if e.key.text != _FOR))
    body = with_declaration(body)
    used = {*_names(comment), *_variables(body)}
    entries = fields.entries(_FOR)
    if not entries:
        raise SpecError.at(fields.need(_FOR).position, "'for' has no operator.")
    for entry in entries:
        row = with_declaration(as_mapping(entry.value, f"operator '{entry.key.text}'"))
        each = _row(Entry(entry.key, row), _OPERATOR, body, used, keys)
        yield dataclasses.replace(each, written=root)


def kernels_of(item: Node, keys: Collection[str]) -> Iterator[Node]:
    """The kernels of an item of `kernels`: itself, or with `for` one for each of its entries.

    `keys`: those of a kernel.
    """
    rows = item.get(_FOR) if isinstance(item, Mapping) else None
    if rows is None or not isinstance(item, Mapping):
        yield item
        return
    entries = as_mapping(rows, "'for'").entries
    if not entries:
        raise SpecError.at(rows.position, "'for' has no kernel.")
    body = Mapping(item.position, tuple(e for e in item.entries if e.key.text != _FOR))
    used = set(_variables(body))
    for entry in entries:
        row = as_mapping(entry.value, f"kernel '{entry.key.text}'")
        kernel = _row(Entry(entry.key, row), _KERNEL, body, used, keys).spec
        if kernel.get(_NAME) is None:
            name = Entry(Scalar(entry.key.position, _NAME, False, False), entry.key)
            kernel = Mapping(kernel.position, (name, *kernel.entries))
        yield kernel


@contextmanager
def naming_kernel(kernel: Node) -> Iterator[None]:
    """Errors in a kernel of `for` also name the kernel, whose text is that of several."""
    try:
        yield
    except SpecError as error:
        entries = kernel.entries if isinstance(kernel, Mapping) else ()
        name = next((e for e in entries if e.key.text == _NAME), None)
        if name is None or name.key.position != name.value.position:
            raise  # the name is written in the kernel
        suffix = f" (For {as_scalar(name.value, _NAME).text}.)"
        raise SpecError(
            Diagnostic(d.position, d.message + suffix) for d in error.diagnostics
        ) from None


def _row(entry: Entry, what: str, body: Mapping, used: set[str], keys: Collection[str]) -> Declared:
    """The operator or kernel of an entry of `for`."""
    check_name(entry.key, what, lower=True)
    row = as_mapping(entry.value, "an entry of 'for'")
    own = tuple(each for each in row.entries if each.key.text in keys)
    used = used | {each for e in own for each in _variables(e.value)}
    given = {e.key.text: e for e in row.entries if e.key.text not in keys}
    for variable, value in given.items():
        if variable not in used or variable == _NAME:
            place = "spec" if what == _OPERATOR else "kernel"
            message = (
                f"'{variable}' is neither a variable of the {place} nor a key; variables are: "
            )
            names = one_of(sorted(used - {_NAME}))
            raise SpecError.at(value.key.position, f"{message}{names}.")
    values: dict[str, Node] = {_NAME: entry.key}
    values.update((variable, each.value) for variable, each in given.items())
    spec = _Values(values, entry.key).mapping(_merged(body, Mapping(row.position, own)))
    return Declared(entry.key, body, spec, values)


def _merged(body: Mapping, own: Mapping) -> Mapping:
    entries = []
    for entry in merge(body, own).entries:
        both = [each.get(entry.key.text) for each in (body, own)]
        if entry.key.text in _ADDED and None not in both:
            what = f"'{entry.key.text}'"
            items = tuple(i for node in both if node is not None for i in as_items(node, what))
            entry = Entry(entry.key, Sequence(entry.value.position, items))
        elif entry.key.text == "let" and None not in both and isinstance(entry.value, Mapping):
            entry = Entry(entry.key, in_order_of_use(entry.value))
        entries.append(entry)
    return Mapping(body.position, tuple(entries))


def _names(text: str) -> Iterator[str]:
    return (match[1] or match[2] for match in _VARIABLE.finditer(text))


def _variables(node: Node) -> Iterator[str]:
    if isinstance(node, Scalar):
        yield from _names(node.text)
    elif isinstance(node, Sequence):
        for item in node.items:
            yield from _variables(item)
    else:
        for entry in node.entries:
            yield from (*_variables(entry.key), *_variables(entry.value))


@dataclass(frozen=True, slots=True)
class _Values:
    """Replaces variables by an operator's values. Unchanged nodes are kept."""

    values: Map[str, Node]
    name: Scalar

    def mapping(self, node: Mapping) -> Mapping:
        entries = tuple(map(self._entry, node.entries))
        same = all(new is old for new, old in zip(entries, node.entries, strict=True))
        return node if same else Mapping(node.position, entries)

    def _entry(self, entry: Entry) -> Entry:
        key, value = self._node(entry.key), self._node(entry.value)
        if key is entry.key and value is entry.value:
            return entry
        return Entry(as_scalar(key, "a key"), value)

    def _node(self, node: Node) -> Node:
        if isinstance(node, Mapping):
            return self.mapping(node)
        if isinstance(node, Sequence):
            items = tuple(map(self._node, node.items))
            same = all(new is old for new, old in zip(items, node.items, strict=True))
            return node if same else Sequence(node.position, items)
        if "$" not in node.text:
            return node
        match = _VARIABLE.fullmatch(node.text)
        if match is not None and not node.quoted:
            return self._value(match, node.position)
        return self._substituted(node)

    def _substituted(self, scalar: Scalar) -> Scalar:
        """The text with its variables replaced: values have their own positions."""
        text, end = "", 0
        pieces: list[tuple[int, Position]] = []
        for match in _VARIABLE.finditer(scalar.text):
            value = as_scalar(
                self._value(match, scalar.at(match.start())),
                f"variable '{match[1] or match[2]}' in a text",
            )
            between = scalar.part(end, match.start())
            for part in (between, value) if between.text else (value,):
                pieces.append((len(text), part.position))
                pieces += [(len(text) + offset, position) for offset, position in part.pieces]
                text += part.text
            end = match.end()
        rest = scalar.part(end, len(scalar.text))
        if rest.text:
            pieces.append((len(text), rest.position))
            pieces += [(len(text) + offset, position) for offset, position in rest.pieces]
        text += rest.text
        position = pieces[0][1] if pieces else scalar.position
        return Scalar(position, text, scalar.quoted, scalar.located, tuple(pieces[1:]))

    def text(self, text: str, position: Position) -> str:
        """The text with the values of its variables, which must be scalars."""

        def replaced(match: re.Match[str]) -> str:
            value = self._value(match, position)
            return as_scalar(value, f"variable '{match[1] or match[2]}' in a text").text

        return _VARIABLE.sub(replaced, text)

    def _value(self, match: re.Match[str], position: Position) -> Node:
        name = match[1] or match[2]
        if name not in self.values:
            at = self.name.position
            message = f"'{self.name.text}' ({at}) has no value of '${name}'."
            raise SpecError.at(position, message)
        return self.values[name]
