"""The defaults of templates: merged into a spec, and into its kernels."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Iterable
from math import prod

from spec_model.errors import Position, SpecError, one_of
from spec_model.fields import Fields, as_int, as_mapping, as_scalar
from spec_model.templates import Templates, merge
from spec_model.yaml_reader import Entry, Mapping, Node, Scalar, Sequence

SPEC_KEYS = ("traits", "args", "let", "checks", "outputs", "domain")
_JOINED = ("traits", "checks")  # lists of a template, then of the spec


def completed(fields: Fields, templates: Templates) -> Fields:
    """The spec merged over the `spec` of its first template that has one; traits and checks of both
    apply."""
    shared = _shared_spec(fields, templates)
    if shared is None:
        return fields
    base = Fields.of(shared, "the shared spec of a template", SPEC_KEYS)
    merged = merge(base.node, fields.node)
    entries = []
    for entry in merged.entries:
        if entry.key.text == "args" and isinstance(entry.value, Mapping):
            entry = Entry(entry.key, _in_own_order(entry.value, fields))
        elif entry.key.text in _JOINED:
            both = base.items(entry.key.text) + fields.items(entry.key.text)
            entry = Entry(entry.key, Sequence(entry.key.position, both))
        elif entry.key.text == "let" and isinstance(entry.value, Mapping):
            entry = Entry(entry.key, in_order_of_use(entry.value))
        entries.append(entry)
    return Fields(Mapping(fields.node.position, tuple(entries)), fields.what)


def _in_own_order(args: Mapping, own: Fields) -> Mapping:
    """The arguments of the template only, then those of the spec in its order."""
    named = {entry.key.text: index for index, entry in enumerate(own.entries("args"))}
    entries = sorted(args.entries, key=lambda entry: named.get(entry.key.text, -1))
    return Mapping(args.position, tuple(entries))


def in_order_of_use(lets: Mapping) -> Mapping:
    """Definitions in order of dependency: template and spec can use each other's."""
    waiting = list(lets.entries)
    ordered: list[Entry] = []
    while waiting:
        names = {_defined(entry) for entry in waiting}
        free = (e for e in waiting if not (_words(e.value) - {_defined(e)}) & names)
        ordered.append(next(free, waiting[0]))  # a cycle: reported later as an unknown name
        waiting.remove(ordered[-1])
    return Mapping(lets.position, tuple(ordered))


def _defined(entry: Entry) -> str:
    """The name of a definition, without the parameters of a function."""
    return entry.key.text.partition("(")[0]


def _words(node: Node) -> set[str]:
    return set(re.findall(r"[a-z_]\w*", node.text)) if isinstance(node, Scalar) else set()


def _shared_spec(fields: Fields, templates: Templates) -> Node | None:
    for kernel in (fields.get("kernel"), *fields.items("kernels")):
        template = kernel.get("template") if isinstance(kernel, Mapping) else None
        sidecar = templates.sidecar(template.text) if isinstance(template, Scalar) else None
        shared = sidecar.get("spec") if sidecar else None
        if shared is not None:
            return shared
    return None


SIDECAR_KEYS = (
    "when",
    "prefer",
    "loop_iterations",
    "long_loops",
    "dtypes",
    "storages",
    "unsupported_storage",
    "axes",
    "where",
    "auto_inserted",
    "tensors",
    "access",
    "intermediates",
    "optional_args",
    "params",
    "alternatives",
    "push",
    "constants",
    "workgroup",
    "grid",
    "repeat",
    "concat_offset",
    "needs",
    "portable",
    "test_only",
)
KERNEL_KEYS = ("name", "template", "extends", *SIDECAR_KEYS)


def special_optional_args(nodes: Iterable[Node], templates: Templates) -> frozenset[str]:
    """The arguments that some of the kernels list in `optional_args`."""
    kernels = (with_defaults(node, templates) for node in nodes)
    return frozenset(name for kernel in kernels for name in _optional_args(kernel))


def with_defaults(node: Node, templates: Templates) -> Mapping:
    """A kernel merged over its template's defaults and the defaults that it extends."""
    own = Fields.of(node, "a kernel", KERNEL_KEYS)
    sidecar = templates.sidecar(own.need_scalar("template").text)
    bases = templates.extended_by(own.node)
    merged = own.node
    for base in reversed([sidecar, *bases] if sidecar is not None else bases):
        merged = _merged(base, merged)
    return merged


def with_long_loops(
    nodes: Iterable[Node], stem: Scalar, templates: Templates
) -> list[tuple[Node, bool]]:
    """The kernels, each after the kernel for long loops that its `long_loops` derives from it.
    True: a derived kernel, which no device prefers."""
    result: list[tuple[Node, bool]] = []
    for node in nodes:
        merged = with_defaults(node, templates)
        overrides = merged.get("long_loops")
        is_removed = isinstance(overrides, Scalar) and overrides.text == "none"
        if overrides is not None and not is_removed and merged.get("test_only") is None:
            changes = as_mapping(overrides, "'long_loops'")
            result.append((_derived(as_mapping(node, "a kernel"), changes, stem), True))
        result.append((node, False))
    return result


def _derived(node: Mapping, changes: Mapping, stem: Scalar) -> Mapping:
    """The kernel with the changes, named for its workgroup, or its dispatches without one."""
    fields = Fields.of(changes, "'long_loops'", ("template", *SIDECAR_KEYS))
    sizes = [as_int(item, "a workgroup size") for item in fields.items("workgroup")]
    base = Fields.of(node, "a kernel", KERNEL_KEYS).scalar("name") or stem
    suffix = f"wg{prod(sizes)}" if sizes else "repeat"
    name = dataclasses.replace(base, text=f"{base.text}_{suffix}")
    own = [e for e in node.entries if e.key.text not in ("name", "prefer")]
    named = Mapping(node.position, (Entry(_scalar(node.position, "name"), name), *own))
    merged = dataclasses.replace(merge(named, changes), position=node.position)
    # `none` removes an entry of the kernel or of its defaults, not of both.
    for key in ("push", "constants"):
        if node.get(key) is not None and changes.get(key) is not None:
            merged = without_removed(merged, key, [node])
    return merged


def _optional_args(kernel: Mapping) -> set[str]:
    items = Fields.of(kernel, "a kernel", KERNEL_KEYS).items("optional_args")
    return {as_scalar(item, "an argument").text for item in items}


def without_unsupported(kernel: Mapping, special: Iterable[str]) -> Mapping:
    """The kernel without bindings of special arguments that it does not list. Its `when` rejects
    calls with them."""
    entries = {entry.key.text: entry for entry in kernel.entries}
    for name in sorted(set(special) - _optional_args(kernel)):
        unbound = Mapping(kernel.position, (_entry(kernel.position, name, "none"),))
        entries["tensors"] = _completed(unbound, entries.get("tensors"), kernel.position)
        when = entries.get("when")
        absent = f"not present({name})"
        if when is None:
            entries["when"] = _entry(kernel.position, "when", absent)
        else:
            given = as_scalar(when.value, "'when'")
            text = f"({given.text}) and {absent}"
            entries["when"] = Entry(when.key, dataclasses.replace(given, text=text, located=False))
    return Mapping(kernel.position, tuple(entries.values()))


def _completed(base: Mapping, given: Entry | None, position: Position) -> Entry:
    """The entry of a map, completed by the entries of `base`."""
    own = base if given is None else merge(base, as_mapping(given.value, "'tensors'"))
    return Entry(given.key if given else _scalar(position, "tensors"), own)


def _entry(position: Position, key: str, text: str) -> Entry:
    return Entry(_scalar(position, key), _scalar(position, text))


def _scalar(position: Position, text: str) -> Scalar:
    return Scalar(position, text, quoted=False, located=False)


def _merged(sidecar: Mapping, own: Mapping) -> Mapping:
    """The kernel keys of both; other keys are read separately."""
    kept = [e for e in sidecar.entries if e.key.text not in ("params", "spec", "test_shapes")]
    return merge(Mapping(sidecar.position, tuple(kept)), own)


def removed_names(node: Mapping, key: str) -> frozenset[str]:
    """The names of the entries of a map that are `none`."""
    given = node.get(key)
    entries = given.entries if isinstance(given, Mapping) else ()
    return frozenset(
        e.key.text for e in entries if isinstance(e.value, Scalar) and e.value.text == "none"
    )


def without_removed(
    node: Mapping,
    key: str,
    bases: Iterable[Mapping],
    unbound: Collection[str] = (),
    implied: Collection[str] = (),
) -> Mapping:
    """The kernel without the entries of a map that are `none`, which remove a default.

    Entries of the names in `unbound` remain: for tensors, `none` means unbound. `implied`: defaults
    without an entry.
    """
    given = node.get(key)
    if not isinstance(given, Mapping):
        return node
    none = removed_names(node, key)
    removed = [e for e in given.entries if e.key.text in none and e.key.text not in unbound]
    for entry in removed:
        if entry.key.text in implied:
            continue
        maps = [base.get(key) for base in bases]
        names = [e.key.text for found in maps if isinstance(found, Mapping) for e in found.entries]
        if entry.key.text not in names:
            message = f"'{entry.key.text}' is not one of the defaults that 'none' can remove: "
            raise SpecError.at(entry.key.position, f"{message}{one_of(names)}.")
    kept = Mapping(given.position, tuple(e for e in given.entries if e not in removed))
    entries = [Entry(e.key, kept) if e.key.text == key else e for e in node.entries]
    return Mapping(node.position, tuple(entries))
