"""Kernel sets: kernels declared once, in `<set>.kernels.yaml` among the templates, for many specs.

An item `use: SET` of `kernels` stands for the set's kernels, with the changes of the spec.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from collections.abc import Mapping as Map
from contextlib import contextmanager
from fnmatch import fnmatchcase

from spec_model.errors import Diagnostic, Position, SpecError, one_of
from spec_model.fields import Fields, as_scalar
from spec_model.load.defaults import KERNEL_KEYS
from spec_model.load.operators import kernels_of
from spec_model.templates import Templates, merge
from spec_model.yaml_reader import Entry, Mapping, Node, Scalar, Sequence

USE_KEYS = ("use", "prefix", "only", "omit", "with", "override")
_SHARED_KEYS = tuple(key for key in KERNEL_KEYS if key != "name")


def with_kernel_sets(
    spec: Mapping, stem: Scalar, templates: Templates
) -> tuple[Mapping, dict[str, Position]]:
    """The spec with the kernels of the sets that it uses. Also the files of sets, each with the
    position of its first use."""
    kernels, uses = spec.get("kernels"), dict[str, Position]()
    if not isinstance(kernels, Sequence):
        return spec, uses
    each = (kernel for item in kernels.items for kernel in kernels_of(item, KERNEL_KEYS))
    items = tuple(k for item in each for k in _kernels(item, stem, templates, uses))
    if not uses and len(items) == len(kernels.items):
        return spec, uses
    listed = Sequence(kernels.position, items)
    entries = [Entry(e.key, listed) if e.value is kernels else e for e in spec.entries]
    return Mapping(spec.position, tuple(entries)), uses


@contextmanager
def naming_uses(uses: Map[str, Position]) -> Iterator[None]:
    """Errors in a set also name the spec that uses it."""
    try:
        yield
    except SpecError as error:
        raise SpecError(_named(d, uses) for d in error.diagnostics) from None


def _named(diagnostic: Diagnostic, uses: Map[str, Position]) -> Diagnostic:
    use = uses.get(diagnostic.position.file)
    if use is None:
        return diagnostic
    return dataclasses.replace(diagnostic, message=f"{diagnostic.message} (Used at {use}.)")


def _kernels(
    item: Node, stem: Scalar, templates: Templates, uses: dict[str, Position]
) -> Iterator[Node]:
    if not isinstance(item, Mapping) or item.get("use") is None:
        yield item
        return
    fields = Fields.of(item, "a use of a kernel set", USE_KEYS)
    name = fields.need_scalar("use")
    kernel_set = templates.kernel_set(name)
    uses.setdefault(kernel_set.position.file, name.position)
    with naming_uses(uses):
        kernels = _read(kernel_set)
    used = _chosen(fields, name.text, kernels)
    shared = fields.get("with") or Mapping(item.position, ())
    shared = Fields.of(shared, "'with'", _SHARED_KEYS).node
    changes = fields.entries("override")
    for entry in changes:
        _matches(entry.key, name.text, used)
    prefix = (fields.scalar("prefix") or stem).text
    for short, kernel in used.items():
        merged = merge(_with_name(kernel, f"{prefix}_{short}"), shared)
        for entry in changes:
            if fnmatchcase(short, entry.key.text):
                merged = merge(merged, Fields.of(entry.value, "a kernel", KERNEL_KEYS).node)
        yield dataclasses.replace(merged, position=kernel.position)


def _read(node: Mapping) -> dict[str, Mapping]:
    """The kernels of a set, by name."""
    fields = Fields.of(node, "a kernel set", ("kernels",))
    kernels: dict[str, Mapping] = {}
    items = (k for item in fields.items("kernels") for k in kernels_of(item, KERNEL_KEYS))
    for each in items:
        kernel = Fields.of(each, "a kernel", KERNEL_KEYS)
        name = kernel.need_scalar("name")
        if name.text in kernels:
            raise SpecError.at(name.position, f"Kernel '{name.text}' is repeated.")
        kernels[name.text] = kernel.node
    if not kernels:
        raise SpecError.at(fields.need("kernels").position, "List of kernels is empty.")
    return kernels


def _chosen(fields: Fields, name: str, kernels: Map[str, Mapping]) -> dict[str, Mapping]:
    """The kernels that a spec uses: all, those of `only`, or all but those of `omit`."""
    only, omitted = (
        [_matches(as_scalar(item, "a kernel"), name, kernels) for item in fields.items(key)]
        for key in ("only", "omit")
    )
    kept = set(kernels) if fields.get("only") is None else set().union(*only)
    kept -= set().union(*omitted)
    return {short: kernel for short, kernel in kernels.items() if short in kept}


def _matches(pattern: Scalar, name: str, kernels: Iterable[str]) -> set[str]:
    """The kernels that a name or glob denotes: at least one."""
    found = {short for short in kernels if fnmatchcase(short, pattern.text)}
    if not found:
        message = f"'{pattern.text}' is none of the used kernels of set '{name}': "
        raise SpecError.at(pattern.position, f"{message}{one_of(kernels)}.")
    return found


def _with_name(kernel: Mapping, name: str) -> Mapping:
    entries = (
        Entry(e.key, dataclasses.replace(e.value, text=name))
        if e.key.text == "name" and isinstance(e.value, Scalar)
        else e
        for e in kernel.entries
    )
    return Mapping(kernel.position, tuple(entries))
