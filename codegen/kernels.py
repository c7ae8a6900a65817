"""Kernels: a spec's `kernel` merged over its template's defaults, checked and typed."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Iterator
from math import prod

from codegen import number_args
from codegen.axes import Axes, load_axes
from codegen.errors import Position, SpecError, one_of
from codegen.expr.check import parse
from codegen.expr.scope import Scope
from codegen.expr.types import Expr, Kind, Literal, Origin, Variable
from codegen.fields import (
    Fields,
    as_int,
    as_mapping,
    as_scalar,
    as_word,
    check_name,
    plain,
)
from codegen.glsl_names import check_glsl_name
from codegen.operands import load_operands
from codegen.signature import DEVICE_FACTS, Signature
from codegen.spec import ArgType, Constant, Kernel, PushMember
from codegen.templates import Templates, merge
from codegen.vocabulary import (
    CONTEXT_NAMES,
    MAX_CONSTANTS,
    MAX_LANES,
    MAX_LANES_DEEP,
    MAX_PUSH_BYTES,
    PROMISED_LANES,
    Capability,
)
from codegen.yaml_reader import Entry, Mapping, Node, Scalar, Sequence

_SIDECAR_KEYS = (
    "when",
    "prefer",
    "dtypes",
    "storages",
    "no_storage",
    "axes",
    "where",
    "inserted",
    "tensors",
    "takes",
    "params",
    "push",
    "constants",
    "workgroup",
    "grid",
    "repeat",
    "joined_at",
    "needs",
    "portable",
    "for_tests",
)
_KEYS = ("name", "template", "extends", *_SIDECAR_KEYS)
_ONE = Literal(Kind.INT, 1)
_NEVER = Literal(Kind.BOOL, False)


def special_arguments(nodes: Iterable[Node], templates: Templates) -> frozenset[str]:
    """The arguments that some of the kernels name under `takes`, whose calls are theirs."""
    kernels = (_with_defaults(node, templates) for node in nodes)
    return frozenset(name for kernel in kernels for name in _taken(kernel))


def _with_defaults(node: Node, templates: Templates) -> Mapping:
    """A kernel's keys over those of its template and of what it extends."""
    own = Fields.of(node, "a kernel", _KEYS)
    sidecar = templates.sidecar(own.need_scalar("template").text)
    bases = templates.extended_by(own.node)
    merged = own.node
    for base in reversed([sidecar, *bases] if sidecar is not None else bases):
        merged = _merged(base, merged)
    return merged


def _taken(kernel: Mapping) -> set[str]:
    items = Fields.of(kernel, "a kernel", _KEYS).items("takes")
    return {as_scalar(item, "an argument").text for item in items}


def _without_untaken(kernel: Mapping, special: Iterable[str]) -> Mapping:
    """The kernel, which leaves the special arguments that it does not take unbound, and computes no
    calls that have them."""
    entries = {entry.key.text: entry for entry in kernel.entries}
    for name in sorted(set(special) - _taken(kernel)):
        unbound = Mapping(kernel.position, (_entry(kernel.position, name, "none"),))
        entries["tensors"] = _over(unbound, entries.get("tensors"), kernel.position)
        when = entries.get("when")
        absent = f"not present({name})"
        if when is None:
            entries["when"] = _entry(kernel.position, "when", absent)
        else:
            given = as_scalar(when.value, "'when'")
            text = f"({given.text}) and {absent}"
            entries["when"] = Entry(when.key, dataclasses.replace(given, text=text, one_line=False))
    return Mapping(kernel.position, tuple(entries.values()))


def _over(base: Mapping, given: Entry | None, position: Position) -> Entry:
    """The entry of a map, with those of `base` that it lacks."""
    own = base if given is None else merge(base, as_mapping(given.value, "'tensors'"))
    return Entry(given.key if given else _scalar(position, "tensors"), own)


def _entry(position: Position, key: str, text: str) -> Entry:
    return Entry(_scalar(position, key), _scalar(position, text))


def _scalar(position: Position, text: str) -> Scalar:
    return Scalar(position, text, quoted=False, one_line=False)


def load_kernel(
    node: Node,
    stem: Scalar,
    signature: Signature,
    templates: Templates,
    special: Iterable[str] = (),
) -> Kernel:
    """Reads one kernel; `stem` is its name unless it has one, `special` what few kernels take."""
    own = Fields.of(node, "a kernel", _KEYS)
    template = own.need_scalar("template")
    templates.need(template)
    sidecar = templates.sidecar(template.text)
    bases = templates.extended_by(own.node)
    if sidecar is not None:
        known = (*_SIDECAR_KEYS, "spec", "test_shapes")
        Fields.of(sidecar, f"the defaults of template '{template.text}'", known)
        bases = [sidecar, *bases]
    merged = _without_untaken(_with_defaults(node, templates), special)
    for key in ("axes", "push", "constants"):
        merged = _without_left_out(merged, key, bases)
    own_tensors = {arg.name for arg in signature.args} | {out.name for out in signature.outputs}
    merged = _without_left_out(merged, "tensors", bases, own_tensors)
    fields = Fields.of(merged, "a kernel", _KEYS)
    name = own.scalar("name") or stem
    scope = signature.scope
    axes = load_axes(fields, signature)
    placed = dataclasses.replace(scope, storages=True)
    dispatch = _dispatch_scope(placed)
    constants = tuple(_constants(fields, _device_scope(placed)))
    launched = _with_values(_device_scope(dispatch), constants)
    push = tuple(_push(fields, launched, signature, axes))
    repeat = _optional(fields, "repeat", scope, Kind.INT)
    for_tests = fields.flag("for_tests", False)
    prefer = _optional(fields, "prefer", _device_scope(scope), Kind.BOOL)
    return Kernel(
        name=check_name(name, "Kernel name", lower=True),
        template=template.text,
        when=_optional(fields, "when", scope, Kind.BOOL),
        prefer=_NEVER if for_tests else prefer,
        axes=axes.axes,
        where=axes.where,
        inserted=axes.inserted,
        no_storage=axes.no_storage,
        operands=load_operands(fields, signature, axes, repeat is not None),
        params=_params(own, sidecar, template),
        push=push,
        constants=constants,
        workgroup=_workgroup(fields),
        grid=_grid(fields, _with_values(launched, push), own.node.position),
        repeat=repeat,
        joined_at=_optional(fields, "joined_at", dispatch, Kind.INT),
        needs=frozenset(as_word(item, Capability, "Capability") for item in fields.items("needs")),
        portable=fields.flag("portable", True),
        for_tests=for_tests,
        position=name.position if own.get("name") else own.node.position,
    )


def _merged(sidecar: Mapping, own: Mapping) -> Mapping:
    """Kernel keys of both; the others are read apart."""
    kept = [e for e in sidecar.entries if e.key.text not in ("params", "spec", "test_shapes")]
    return merge(Mapping(sidecar.position, tuple(kept)), own)


def _without_left_out(
    node: Mapping, key: str, bases: Iterable[Mapping], unbound: Collection[str] = ()
) -> Mapping:
    """The kernel without the entries of a map that are `none`: defaults that it does not want.

    Those of the names in `unbound` stay, of which `none` says something else.
    """
    given = node.get(key)
    if not isinstance(given, Mapping):
        return node
    left_out = [e for e in given.entries if isinstance(e.value, Scalar) and e.value.text == "none"]
    left_out = [e for e in left_out if e.key.text not in unbound]
    for entry in left_out:
        maps = [base.get(key) for base in bases]
        names = [e.key.text for found in maps if isinstance(found, Mapping) for e in found.entries]
        if entry.key.text not in names:
            message = f"'{entry.key.text}' is not among the defaults that can be left out: "
            raise SpecError.at(entry.key.position, f"{message}{one_of(names)}.")
    kept = Mapping(given.position, tuple(e for e in given.entries if e not in left_out))
    entries = [Entry(e.key, kept) if e.key.text == key else e for e in node.entries]
    return Mapping(node.position, tuple(entries))


def _device_scope(scope: Scope) -> Scope:
    for name, values in DEVICE_FACTS.items():
        kind = Kind.BOOL if isinstance(values[0], bool) else Kind.INT
        scope = scope.with_variable(Variable(kind, name, Origin.DEVICE))
    return scope


def _with_values(scope: Scope, named: Iterable[Constant | PushMember]) -> Scope:
    for each in named:
        scope = scope.with_value(each.name, each.value)
    return scope


def _dispatch_scope(scope: Scope) -> Scope:
    for name, kind in (("storage", Kind.STORAGE), ("i", Kind.INT)):
        scope = scope.with_variable(Variable(kind, name, Origin.SPECIAL))
    return scope


def _optional(fields: Fields, key: str, scope: Scope, kind: Kind) -> Expr | None:
    scalar = fields.scalar(key)
    return None if scalar is None else parse(scalar, scope, kind)


def _params(own: Fields, sidecar: Mapping | None, template: Scalar) -> dict[str, object]:
    """The template's variables: declared in its defaults, given by the spec."""
    declared: dict[str, object] = {}
    node = sidecar.get("params") if sidecar else None
    if node is not None:
        entries = as_mapping(node, "'params'").entries
        declared = {check_name(e.key, "Param"): plain(e.value) for e in entries}
    taken = CONTEXT_NAMES.intersection(declared)
    if taken:
        message = f"Param '{min(taken)}' is a name that every template has; choose another."
        raise SpecError.at(node.position if node else template.position, message)
    given: dict[str, object] = {}
    for entry in own.entries("params"):
        if entry.key.text not in declared:
            message = f"Param '{entry.key.text}' is unknown in template {template.text}; "
            message += f"it declares: {one_of(declared)}."
            raise SpecError.at(entry.key.position, message)
        given[entry.key.text] = plain(entry.value)
    missing = [name for name, value in declared.items() if value is None and name not in given]
    if missing:
        message = (
            f"Param '{missing[0]}' of template {template.text} is missing; add it to 'params'."
        )
        raise SpecError.at(own.node.position, message)
    return {**declared, **given}


def _push(fields: Fields, scope: Scope, signature: Signature, axes: Axes) -> Iterator[PushMember]:
    offset = 0
    for entry in fields.entries("push"):
        name = check_glsl_name(entry.key, "Push constant")
        if any(constant.key.text == name for constant in fields.entries("constants")):
            message = f"Push constant '{name}' is a specialisation constant already; rename one."
            raise SpecError.at(entry.key.position, message)
        scalar = as_scalar(entry.value, f"push constant '{name}'")
        value = parse(scalar, scope, Kind.INT, Kind.FLOAT, Kind.BOOL, Kind.INTS)
        if value.kind is Kind.INTS and not value.length:
            message = f"The length of '{name}' is not known here; wrap it in pad_left(…, N, fill)"
            raise SpecError.at(scalar.position, message + " with a literal N.")
        kind, pushed = _pushed(value, signature, axes)
        member = PushMember(name, kind, value.length, offset, value, pushed, entry.key.position)
        offset += member.size
        if offset > MAX_PUSH_BYTES:
            message = (
                f"Push constants up to '{name}' take {offset} bytes; the limit is {MAX_PUSH_BYTES}."
            )
            raise SpecError.at(entry.key.position, message)
        yield member


def _pushed(value: Expr, signature: Signature, axes: Axes) -> tuple[str, Expr]:
    """A push constant's type, and what is put there."""
    if isinstance(value, Variable) and value.origin is Origin.ARG:
        arg = signature.arg(value.name)
        if arg is not None and arg.type is ArgType.NUMBER:
            return number_args.pushed(value, axes.axes[0])
    return "float" if value.kind is Kind.FLOAT else "int", value


def _constants(fields: Fields, scope: Scope) -> Iterator[Constant]:
    for number, entry in enumerate(fields.entries("constants")):
        if number >= MAX_CONSTANTS:
            message = f"A kernel has at most {MAX_CONSTANTS} specialisation constants."
            raise SpecError.at(entry.key.position, message)
        name = check_glsl_name(entry.key, "Constant")
        scalar = as_scalar(entry.value, f"constant '{name}'")
        value = parse(scalar, scope, Kind.INT, Kind.FLOAT, Kind.BOOL)
        default = {Kind.INT: "1", Kind.FLOAT: "1.0", Kind.BOOL: "false"}[value.kind]
        yield Constant(name, 3 + number, value.kind.value, default, value, entry.key.position)


def _workgroup(fields: Fields) -> tuple[int, int, int]:
    node = fields.get("workgroup")
    if node is None:
        return (64, 1, 1)
    items = node.items if isinstance(node, Sequence) else ()
    sizes = [as_int(item, "a workgroup size") for item in items]
    if len(sizes) != 3 or min(sizes) < 1 or prod(sizes) > MAX_LANES or sizes[2] > MAX_LANES_DEEP:
        message = f"A workgroup is three positive ints, the last at most {MAX_LANES_DEEP}, with a "
        message += f"product of at most {MAX_LANES}."
        raise SpecError.at(node.position, message)
    is_passed_by = fields.get("prefer") is not None or fields.flag("for_tests", False)
    if prod(sizes) > PROMISED_LANES and not is_passed_by:
        message = f"A workgroup has {prod(sizes)} invocations, of which Vulkan promises "
        message += f"{PROMISED_LANES}: with 'prefer', devices that have less take a later kernel."
        raise SpecError.at(node.position, message)
    return (sizes[0], sizes[1], sizes[2])


def _grid(fields: Fields, scope: Scope, kernel: Position) -> tuple[Expr, Expr, Expr]:
    node = fields.get("grid")
    if node is None:
        message = "Key 'grid' is missing from the kernel and its template's defaults."
        raise SpecError.at(kernel, message)
    if isinstance(node, Scalar):
        return (parse(as_scalar(node, "'grid'"), scope, Kind.INT), _ONE, _ONE)
    items = node.items if isinstance(node, Sequence) else ()
    if len(items) not in (1, 3):
        raise SpecError.at(node.position, "A grid is one int expression, or a list of three.")
    sizes = [parse(as_scalar(item, "a grid size"), scope, Kind.INT) for item in items]
    return (sizes[0], *(sizes[1:] or (_ONE, _ONE)))  # type: ignore[return-value]
