"""What the specs of one template share: the `spec` part of the template's defaults."""

from __future__ import annotations

from codegen.fields import Fields
from codegen.templates import Templates, merge
from codegen.yaml_reader import Entry, Mapping, Node, Scalar, Sequence

_KEYS = ("args", "let", "checks", "outputs")


def completed(fields: Fields, templates: Templates) -> Fields:
    """The spec over what the first template that shares something does; the checks of both hold."""
    shared = _shared(fields, templates)
    if shared is None:
        return fields
    base = Fields.of(shared, "the spec that users of a template share", _KEYS)
    merged = merge(base.node, fields.node)
    checks = base.items("checks") + fields.items("checks")
    entries = [
        Entry(entry.key, Sequence(entry.key.position, checks))
        if entry.key.text == "checks"
        else entry
        for entry in merged.entries
    ]
    return Fields(Mapping(fields.node.position, tuple(entries)), fields.what)


def _shared(fields: Fields, templates: Templates) -> Node | None:
    for kernel in (fields.get("kernel"), *fields.items("kernels")):
        template = kernel.get("template") if isinstance(kernel, Mapping) else None
        sidecar = templates.sidecar(template.text) if isinstance(template, Scalar) else None
        shared = sidecar.get("spec") if sidecar else None
        if shared is not None:
            return shared
    return None
