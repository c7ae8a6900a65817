"""Kernels: a spec's `kernel` merged over its template's defaults, then type-checked."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Iterator
from math import prod

from spec_model.device_properties import DEVICE_PROPERTIES
from spec_model.errors import Position, SpecError, one_of
from spec_model.expr import operations as ops
from spec_model.expr.check import parse
from spec_model.expr.semantics import INT32_MAX, INT32_MIN
from spec_model.expr.types import (
    Apply,
    Conditional,
    Expr,
    Kind,
    Literal,
    Logic,
    Operation,
    Origin,
    Scope,
    Variable,
    names_of,
)
from spec_model.fields import Fields, as_int, as_mapping, as_scalar, as_word, check_name, plain
from spec_model.load.axes import Axes, load_axes
from spec_model.load.defaults import (
    KERNEL_KEYS,
    SIDECAR_KEYS,
    removed_names,
    with_defaults,
    without_removed,
    without_unsupported,
)
from spec_model.load.operands import load_access, load_operands
from spec_model.load.push import GLSL_WORDS, pushable, used_values
from spec_model.load.signature import Signature
from spec_model.spec import ArgType, Axis, Constant, Kernel, PushMember
from spec_model.templates import Templates
from spec_model.vocabulary import (
    CONTEXT_NAMES,
    FIRST_CONSTANT,
    GUARANTEED_INVOCATIONS,
    MAX_CONSTANTS,
    MAX_INVOCATIONS,
    MAX_PUSH_BYTES,
    MAX_WORKGROUP_DEPTH,
    Capability,
    DType,
)
from spec_model.yaml_reader import Entry, Mapping, Node, Scalar, Sequence, read_text

_ONE = Literal(Kind.INT, 1)
_NEVER = Literal(Kind.BOOL, False)


def load_kernel(
    node: Node,
    stem: Scalar,
    signature: Signature,
    templates: Templates,
    special: Iterable[str] = (),
    derived: bool = False,
) -> Kernel:
    """Reads one kernel. `stem`: the default name. `special`: args of `optional_args` of the op's
    kernels. `derived`: by `long_loops` of another kernel."""
    own = Fields.of(node, "a kernel", KERNEL_KEYS)
    template = own.need_scalar("template")
    source = templates.need(template)
    sidecar = templates.sidecar(template.text)
    bases = templates.extended_by(own.node)
    if sidecar is not None:
        known = (*SIDECAR_KEYS, "spec", "test_shapes")
        Fields.of(sidecar, f"the defaults of template '{template.text}'", known)
        bases = [sidecar, *bases]
    merged = without_unsupported(with_defaults(node, templates), special)
    values = pushable(signature.args, signature.steps)
    removed = removed_names(merged, "push")
    for key in ("access", "axes", "push", "constants", "intermediates"):
        merged = without_removed(merged, key, bases, implied=values if key == "push" else ())
    own_tensors = {arg.name for arg in signature.args} | {out.name for out in signature.outputs}
    merged = without_removed(merged, "tensors", bases, own_tensors)
    fields = Fields.of(merged, "a kernel", KERNEL_KEYS)
    name = own.scalar("name") or stem
    scope = signature.scope
    axes = load_axes(fields, signature)
    test_only = fields.flag("test_only", False)
    never_preferred = derived or test_only
    workgroup = _workgroup(fields, never_preferred)
    size = Literal(Kind.INT, prod(workgroup))
    placed = dataclasses.replace(scope, storages=True).with_value("workgroup_size", size)
    dispatch = _dispatch_scope(placed)
    constants = tuple(_constants(fields, _device_scope(placed)))
    launched = _with_values(_device_scope(dispatch), constants)
    params = _params(own, sidecar, template)
    named = {entry.key.text for key in ("push", "constants") for entry in fields.entries(key)}
    named |= removed
    nameable = {name: at for name, at in values.items() if name not in named}
    used = used_values(read_text(source), params, nameable, templates)
    implied = [at for name, at in nameable.items() if name in used]
    push = tuple(_push(fields, launched, signature, axes, implied))
    repeat = _optional(fields, "repeat", scope, Kind.INT)
    operands = load_operands(fields, signature, axes, _device_scope(scope), repeat is not None)
    prefer = _optional(fields, "prefer", _device_scope(scope), Kind.BOOL)
    return Kernel(
        name=check_name(name, "Kernel name", lower=True),
        template=template.text,
        texts={key: _source_text(fields, key) for key in ("when", "prefer") if fields.get(key)},
        when=_optional(fields, "when", scope, Kind.BOOL),
        prefer=_NEVER if never_preferred else prefer,
        loop_iterations=_loop_iterations(fields, _device_scope(dispatch), [*constants, *push]),
        axes=axes.axes,
        where=axes.where,
        auto_inserted=axes.auto_inserted,
        unsupported_storage=axes.unsupported_storage,
        operands=operands,
        access=load_access(fields, own, operands),
        params=params,
        alternatives=_alternatives(fields, params),
        push=push,
        pushable=frozenset(nameable),
        constants=constants,
        workgroup=workgroup,
        grid=_grid(fields, _with_values(launched, push), own.node.position),
        repeat=repeat,
        concat_offset=_optional(fields, "concat_offset", dispatch, Kind.INT),
        needs=frozenset(as_word(item, Capability, "Capability") for item in fields.items("needs")),
        portable=fields.flag("portable", True),
        derived=derived,
        test_only=test_only,
        position=name.position if own.get("name") else own.node.position,
    )


def _source_text(fields: Fields, key: str) -> str:
    return " ".join(fields.need_scalar(key).text.split())


def _device_scope(scope: Scope) -> Scope:
    for name, each in DEVICE_PROPERTIES.items():
        kind = Kind.BOOL if each.is_bool else Kind.INT
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


def _loop_iterations(
    fields: Fields, scope: Scope, named: Iterable[Constant | PushMember]
) -> Expr | None:
    """The names of the template's loop conditions: its constants hide names of the spec."""
    hidden = {each.name for each in named}
    variables = {name: v for name, v in scope.variables.items() if name not in hidden}
    scope = _with_values(dataclasses.replace(scope, variables=variables), named)
    iterations = _optional(fields, "loop_iterations", scope, Kind.INT)
    if iterations is not None and "i" in iterations.names:
        message = "'loop_iterations' is the maximum over all dispatches; it cannot depend on 'i'."
        raise SpecError.at(fields.need_scalar("loop_iterations").position, message)
    return iterations


def _params(own: Fields, sidecar: Mapping | None, template: Scalar) -> dict[str, object]:
    """The template's params: declared in its defaults, set by the spec."""
    declared: dict[str, object] = {}
    node = sidecar.get("params") if sidecar else None
    if node is not None:
        entries = as_mapping(node, "'params'").entries
        declared = {check_name(e.key, "Param"): plain(e.value) for e in entries}
    reserved = CONTEXT_NAMES.intersection(declared)
    if reserved:
        message = f"Param '{min(reserved)}' is a name that every template defines; choose another."
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


def _alternatives(fields: Fields, params: Collection[str]) -> tuple[str, ...]:
    items = [as_scalar(item, "a param") for item in fields.items("alternatives")]
    for item in items:
        if item.text not in params:
            message = f"'{item.text}' is not a param; the template declares: {one_of(params)}."
            raise SpecError.at(item.position, message)
    return tuple(item.text for item in items)


def _push(
    fields: Fields, scope: Scope, signature: Signature, axes: Axes, implied: Collection[Scalar]
) -> Iterator[PushMember]:
    """The entries of `push`, then the implied ones in their order."""
    offset = 0
    constants = {constant.key.text for constant in fields.entries("constants")}
    members = (
        *((entry.key, _pushed_expression(entry)) for entry in fields.entries("push")),
        *((each, each) for each in implied),
    )
    for key, scalar in members:
        name = check_glsl_name(key, "Push constant")
        if name in constants:
            message = f"Push constant '{name}' is also a specialization constant; rename one."
            raise SpecError.at(key.position, message)
        value = parse(scalar, scope, Kind.INT, Kind.FLOAT, Kind.BOOL, Kind.INTS)
        if value.kind is Kind.INTS and not value.length:
            message = f"The length of '{name}' is not constant; wrap it in pad_left(…, N, fill)"
            raise SpecError.at(scalar.position, message + " with a literal N.")
        kind, pushed = _pushed(value, signature, axes)
        is_implied = key in implied
        member = PushMember(
            name, kind, value.length, offset, value, pushed, key.position, is_implied
        )
        offset += member.size
        if offset > MAX_PUSH_BYTES:
            message = (
                f"Push constants up to '{name}' have {offset} bytes; the limit is {MAX_PUSH_BYTES}."
            )
            raise SpecError.at(key.position, message)
        yield member


def _pushed_expression(entry: Entry) -> Scalar:
    """The expression of an entry of `push`; `rows` alone, in YAML null, means `rows: rows`."""
    if isinstance(entry.value, Scalar) and entry.value.is_null:
        return entry.key
    return as_scalar(entry.value, f"push constant '{entry.key.text}'")


def _pushed(value: Expr, signature: Signature, axes: Axes) -> tuple[str, Expr]:
    """A push constant's type and stored value."""
    if isinstance(value, Variable) and value.origin is Origin.ARG:
        arg = signature.arg(value.name)
        if arg is not None and arg.type is ArgType.NUMBER:
            return pushed_number(value, axes.axes[0])
    return "float" if value.kind is Kind.FLOAT else "int", value


def _constants(fields: Fields, scope: Scope) -> Iterator[Constant]:
    for index, entry in enumerate(fields.entries("constants")):
        if index >= MAX_CONSTANTS:
            message = f"A kernel has at most {MAX_CONSTANTS} specialization constants."
            raise SpecError.at(entry.key.position, message)
        name = check_glsl_name(entry.key, "Constant")
        scalar = as_scalar(entry.value, f"constant '{name}'")
        value = parse(scalar, scope, Kind.INT, Kind.FLOAT, Kind.BOOL)
        default = {Kind.INT: "1", Kind.FLOAT: "1.0", Kind.BOOL: "false"}[value.kind]
        identifier = FIRST_CONSTANT + index
        yield Constant(name, identifier, value.kind.value, default, value, entry.key.position)


def _workgroup(fields: Fields, is_optional: bool) -> tuple[int, int, int]:
    node = fields.get("workgroup")
    if node is None:
        return (64, 1, 1)
    items = node.items if isinstance(node, Sequence) else ()
    sizes = [as_int(item, "a workgroup size") for item in items]
    if (
        len(sizes) != 3
        or min(sizes) < 1
        or prod(sizes) > MAX_INVOCATIONS
        or sizes[2] > MAX_WORKGROUP_DEPTH
    ):
        message = (
            f"A workgroup has three positive sizes, the last at most {MAX_WORKGROUP_DEPTH}, and "
        )
        message += f"at most {MAX_INVOCATIONS} invocations."
        raise SpecError.at(node.position, message)
    is_optional = is_optional or fields.get("prefer") is not None
    if prod(sizes) > GUARANTEED_INVOCATIONS and not is_optional:
        message = f"The workgroup has {prod(sizes)} invocations; Vulkan guarantees "
        message += (
            f"{GUARANTEED_INVOCATIONS}. Add 'prefer', so that other devices select a later kernel."
        )
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
        raise SpecError.at(node.position, "A grid is one int expression or a list of three.")
    sizes = [parse(as_scalar(item, "a grid size"), scope, Kind.INT) for item in items]
    return (sizes[0], *(sizes[1:] or (_ONE, _ONE)))  # type: ignore[return-value]


def pushed_number(value: Expr, dtype: Axis) -> tuple[str, Expr]:
    """The type and stored value of a push constant that is a `number`. A kernel for both float and
    integer dtypes stores the bits of the variant's type."""
    floats = [x for x in dtype.values if isinstance(x, DType) and x.is_float]
    if len(floats) == len(dtype.values):
        return "float", value
    integer = _saturated(value)
    if DType.B8 in dtype.values:
        integer = _chosen(
            dtype, [DType.B8], _compared("!=", value, Literal(Kind.FLOAT, 0.0)), integer
        )
    if not floats:
        return "int", integer
    bits = ops.FUNCTIONS["float_bits"][0].operation
    return "number", _chosen(dtype, floats, _apply(Kind.INT, bits, value), integer)


def _saturated(value: Expr) -> Expr:
    """The value saturated to int32."""
    for name, bound in (("max", INT32_MIN), ("min", INT32_MAX)):
        operation = ops.VARIADIC[name][Kind.FLOAT]
        value = _apply(Kind.FLOAT, operation, value, Literal(Kind.FLOAT, bound))
    return _apply(Kind.INT, ops.TO_INT, value)


def _chosen(axis: Axis, dtypes: list[DType], then: Expr, otherwise: Expr) -> Expr:
    """`then` in variants of these dtypes, `otherwise` in others."""
    if set(dtypes) == set(axis.values):
        return then
    assert axis.of is not None
    conditions = [_compared("==", axis.of, Literal(Kind.DTYPE, dtype)) for dtype in dtypes]
    condition = conditions[0]
    for other in conditions[1:]:
        condition = Logic(False, condition, other, axis.of.names)
    names = names_of(axis.of, then, otherwise)
    return Conditional(Kind.INT, condition, then, otherwise, None, names)


def _compared(symbol: str, left: Expr, right: Expr) -> Expr:
    return _apply(Kind.BOOL, ops.COMPARISONS[symbol][1], left, right)


def _apply(kind: Kind, operation: Operation, *operands: Expr) -> Expr:
    return Apply(kind, operation, operands, None, names_of(*operands))


def check_glsl_name(scalar: Scalar, what: str) -> str:
    """The scalar, which must be a valid identifier of GLSL."""
    name = check_name(scalar, what)
    if name in GLSL_WORDS or name.startswith("gl_"):
        raise SpecError.at(scalar.position, f"{what} '{name}' is reserved in GLSL; choose another.")
    return name
