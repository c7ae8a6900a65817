"""The lines of a template's opening comment that list what its users declare for it:

  Bindings: x, y (out)
  Push: int rows, count, inner (scan.yaml)
  Constants: int ACTIVATION (lib/activation.yaml)

They contain the names that all kernels of the template have, and those that only some have (`?`)
and the template mentions; `…` stands for others. A template without these lines is not checked.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from codegen.includes import OPENING, described_params
from spec_model.errors import ErrorList, Position, SpecError
from spec_model.library import Library
from spec_model.spec import Kernel
from spec_model.templates import BUILTIN_SPECS, BUILTIN_TEMPLATES, KERNEL_SET_SUFFIX, Templates
from spec_model.vocabulary import Access
from spec_model.yaml_reader import SourceFile, read_text

COMMAND = "python3 -m codegen headers --write --spec-dir DIR"
_WIDTH = 100
_SPEC = "spec "
_KEYS = ("Bindings", "Push", "Constants")
_LINE = re.compile(rf"({'|'.join(_KEYS)}): \S.*\n(?:  .*\n)*", re.MULTILINE)
_COMMENT = re.compile(r"\{#.*?#\}", re.DOTALL)
_ACCESSOR = re.compile(
    r"(?:\bt\.|\")(?P<quoted>\w+)|\b(?P<tensor>\w+?)_(?:load|store|texel|nchw|flat|data|unpack|broadcast)"
)
_OUT = {Access.READ: "", Access.WRITE: " (out)", Access.READWRITE: " (inout)"}


@dataclass(frozen=True, slots=True)
class Named:
    """A binding, a push constant or a constant of some of a template's kernels."""

    name: str
    text: str  # with its array size
    note: str  # its access
    type: str  # empty for bindings
    source: str  # the file that declares it; empty for bindings


@dataclass(frozen=True, slots=True)
class Interface:
    """What the kernels of a template declare."""

    kernels: tuple[tuple[tuple[Named, ...], ...], ...]  # by kernel, by key of _KEYS
    params: frozenset[str]

    def lines(self, template: str) -> str:
        """The lines for the text of the template."""
        code = _COMMENT.sub("", template)
        tensors = {match["quoted"] or match["tensor"] for match in _ACCESSOR.finditer(code)}
        words = set(re.findall(r"\w+", code))
        return "".join(self._line(i, words if i else tensors) for i in range(len(_KEYS)))

    def renamed(self, files: Mapping[str, str], spec: str) -> Interface:
        """The interface of a copy, of which other files declare the names. Its spec contains the
        kernels of kernel sets.
        """

        def source(old: str) -> str:
            in_spec = old.startswith(_SPEC) or old.endswith(KERNEL_SET_SUFFIX)
            return f"{_SPEC}{spec}" if in_spec else files.get(old, old)

        kernels = tuple(
            tuple(tuple(replace(x, source=source(x.source)) for x in key) for key in kernel)
            for kernel in self.kernels
        )
        return replace(self, kernels=kernels)

    def _line(self, key: int, mentioned: set[str]) -> str:
        found: dict[str, Named] = {}
        uses: dict[str, int] = {}
        for kernel in sorted(self.kernels, key=lambda kernel: -len(kernel[key])):
            for named in kernel[key]:
                uses[named.name] = uses.get(named.name, 0) + 1
                known = found.setdefault(named.name, named)
                if known.note != named.note:
                    found[named.name] = replace(known, note=_OUT[Access.READWRITE])
                if known.source.startswith(_SPEC):  # a default of the template is more general
                    found[named.name] = named
        everywhere = {name for name, count in uses.items() if count == len(self.kernels)}
        shown = [found[name] for name in found if name in everywhere | mentioned]
        specs = {each.source for each in shown if each.source.startswith(_SPEC)}
        source_of = {spec: "specs" if len(specs) > 1 else spec for spec in specs}
        if not shown:
            return ""
        groups = [
            _group([x for x in shown if source_of.get(x.source, x.source) == source], everywhere)
            + (f" ({source})" if source else "")
            for source in dict.fromkeys(source_of.get(x.source, x.source) for x in shown)
        ]
        if len(shown) < len(found):
            groups.append("…")
        line = f"{_KEYS[key]}: {'; '.join(groups)}"
        lines = textwrap.wrap(line, _WIDTH, subsequent_indent="  ", break_on_hyphens=False)
        return "\n".join(lines).replace(_JOINED, " ") + "\n"


_JOINED = "\x1f"  # a space at which lines do not break


def _group(members: Iterable[Named], everywhere: set[str]) -> str:
    """Members of one source; a type stands before the first of several."""
    parts, last = [], ""
    for each in members:
        prefix = f"{each.type}{_JOINED}" if each.type != last else ""
        last = each.type
        mark = "" if each.name in everywhere else "?"
        parts.append(f"{prefix}{each.text}{mark}{each.note}")
    return ", ".join(parts)


def interface_of(kernels: Iterable[Kernel], templates: Templates) -> Interface:
    """The interface of a template with these kernels."""
    kernels = list(kernels)
    return Interface(
        tuple(_declared(kernel, templates) for kernel in kernels),
        frozenset(name for kernel in kernels for name in kernel.params),
    )


def _declared(kernel: Kernel, templates: Templates) -> tuple[tuple[Named, ...], ...]:
    def source(position: Position) -> str:
        return _source(position, templates)

    bindings = tuple(Named(x.name, x.name, _OUT[x.access], "", "") for x in kernel.operands)
    push = tuple(
        Named(m.name, m.name + (f"[{m.count}]" if m.count else ""), "", m.type, source(m.position))
        for m in kernel.push
    )
    constants = tuple(
        Named(c.name, c.name, "", c.type, source(c.position)) for c in kernel.constants
    )
    return (bindings, push, constants)


def _source(position: Position, templates: Templates) -> str:
    """The file of the defaults that declare a name, or the spec."""
    names = sorted((directory.name for directory in templates.directories), key=len)
    for name in reversed(names):
        if position.file.startswith(f"{name}/"):
            path = position.file.removeprefix(f"{name}/")
            return path if path.startswith("lib/") else path.rpartition("/")[2]
    return f"{_SPEC}{position.file.rpartition('/')[2]}"


def interfaces(library: Library) -> Iterator[tuple[SourceFile, Interface]]:
    """The templates of the library's kernels. Spirloom's templates have users elsewhere if other
    specs than Spirloom's are loaded: they are left out."""
    users: dict[str, list[Kernel]] = {}
    sources: dict[str, SourceFile] = {}
    for kernel in library.kernels:
        source = library.templates.find(kernel.template)
        assert source is not None
        sources[source.name] = source
        users.setdefault(source.name, []).append(kernel)
    builtin = all(spec.path.is_relative_to(BUILTIN_SPECS) for spec in library.specs)
    for name, source in sorted(sources.items()):
        if builtin or not source.path.is_relative_to(BUILTIN_TEMPLATES):
            yield source, interface_of(users[name], library.templates)


def check_interfaces(library: Library) -> None:
    """Fails if a template's lines, or the names below `Params:`, differ from its kernels'."""
    errors = ErrorList()
    for source, interface in interfaces(library):
        with errors:
            check_interface(read_text(source), source.name, interface)
    errors.raise_any()


def check_interface(text: str, name: str, interface: Interface) -> None:
    """As check_interfaces(), for one template."""
    opening = OPENING.match(text)
    body = opening["body"] + "\n" if opening else ""
    found = [match[0] for match in _LINE.finditer(body)]
    errors = ErrorList()
    with errors:
        _check_params(body, name, interface)
    expected = interface.lines(text)
    if found and "".join(found) != expected:
        wrong = next((line for line in found if line not in expected), found[0])
        line = 2 + body.count("\n", 0, body.index(wrong))
        message = (
            "The comment does not list what the specs of the template declare. Replace "
            f"'{_flat(''.join(found))}' by '{_flat(expected)}', with `./dev update` or "
            f"`{COMMAND}`."
        )
        with errors:
            raise SpecError.at(Position(name, line, 1), message)
    errors.raise_any()


def _flat(lines: str) -> str:
    return " ".join(lines.split())


def _check_params(body: str, name: str, interface: Interface) -> None:
    section = re.search(r"^Params:$", body, re.MULTILINE)
    if section is None:
        return
    described = described_params(body)
    for param, line in described.items():
        if param not in interface.params:
            known = ", ".join(sorted(interface.params)) or "none"
            message = f"Param '{param}' is described, but the template declares: {known}."
            raise SpecError.at(Position(name, 2 + line, 3), message)
    missing = sorted(interface.params - set(described))
    if missing:
        message = f"Param '{missing[0]}' is not described; add a line for it below 'Params:'."
        line = 2 + body.count("\n", 0, section.start())
        raise SpecError.at(Position(name, line, 1), message)


def with_interface(text: str, interface: Interface) -> str:
    """The template with its lines, which end the opening comment."""
    opening = OPENING.match(text)
    if opening is None:
        return f"{{#\n{interface.lines(text)}#}}\n{text}"
    body = _LINE.sub("", opening["body"] + "\n")
    return f"{{#\n{body}{interface.lines(text)}#}}\n{text[opening.end() :]}"


def write_interfaces(library: Library) -> Sequence[Path]:
    """Rewrites the lines of all templates. Returns the changed files."""
    changed = []
    for source, interface in interfaces(library):
        text = read_text(source)
        if (rewritten := with_interface(text, interface)) != text:
            source.path.write_text(rewritten, encoding="utf-8")
            changed.append(source.path)
    return changed
