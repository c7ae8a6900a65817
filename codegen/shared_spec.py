"""What the specs of one template share: the `spec` part of the template's defaults."""

from __future__ import annotations

import re

from codegen.fields import Fields
from codegen.templates import Templates, merge
from codegen.yaml_reader import Entry, Mapping, Node, Scalar, Sequence

_KEYS = ("args", "let", "checks", "outputs", "domain")


def completed(fields: Fields, templates: Templates) -> Fields:
    """The spec over what the first template that shares something does; the checks of both hold."""
    shared = _shared(fields, templates)
    if shared is None:
        return fields
    base = Fields.of(shared, "the spec that users of a template share", _KEYS)
    merged = merge(base.node, fields.node)
    checks = base.items("checks") + fields.items("checks")
    entries = []
    for entry in merged.entries:
        if entry.key.text == "args" and isinstance(entry.value, Mapping):
            entry = Entry(entry.key, _in_own_order(entry.value, fields))
        elif entry.key.text == "checks":
            entry = Entry(entry.key, Sequence(entry.key.position, checks))
        elif entry.key.text == "let" and isinstance(entry.value, Mapping):
            entry = Entry(entry.key, _in_order_of_use(entry.value))
        entries.append(entry)
    return Fields(Mapping(fields.node.position, tuple(entries)), fields.what)


def _in_own_order(args: Mapping, own: Fields) -> Mapping:
    """Arguments that the spec names stand where it has them, after the template's others."""
    named = {entry.key.text: place for place, entry in enumerate(own.entries("args"))}
    entries = sorted(args.entries, key=lambda entry: named.get(entry.key.text, -1))
    return Mapping(args.position, tuple(entries))


def _in_order_of_use(lets: Mapping) -> Mapping:
    """Definitions after those they refer to: either of template and spec may use the other's."""
    waiting = list(lets.entries)
    ordered: list[Entry] = []
    while waiting:
        names = {entry.key.text for entry in waiting}
        free = (e for e in waiting if not (_words(e.value) - {e.key.text}) & names)
        ordered.append(next(free, waiting[0]))  # in a circle any is first: its names are unknown
        waiting.remove(ordered[-1])
    return Mapping(lets.position, tuple(ordered))


def _words(node: Node) -> set[str]:
    return set(re.findall(r"[a-z_]\w*", node.text)) if isinstance(node, Scalar) else set()


def _shared(fields: Fields, templates: Templates) -> Node | None:
    for kernel in (fields.get("kernel"), *fields.items("kernels")):
        template = kernel.get("template") if isinstance(kernel, Mapping) else None
        sidecar = templates.sidecar(template.text) if isinstance(template, Scalar) else None
        shared = sidecar.get("spec") if sidecar else None
        if shared is not None:
            return shared
    return None
