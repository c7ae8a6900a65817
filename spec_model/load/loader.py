"""`load_library`: directories of specs → a Library with all ops, kernels and variants."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

from spec_model.errors import Diagnostic, ErrorList, Position, SpecError
from spec_model.fields import Fields, as_int, as_scalar, as_sequence
from spec_model.library import Library
from spec_model.load.aliasing import load_in_place, load_view_of, load_view_offset
from spec_model.load.axes import expand
from spec_model.load.bounds import load_bounds
from spec_model.load.cached_specs import cached
from spec_model.load.cases import load_case, load_domain, load_tolerance, swept
from spec_model.load.checks import (
    check_functions,
    check_inserted_calls,
    check_lets,
    unused_lets,
)
from spec_model.load.defaults import completed, special_optional_args, with_long_loops
from spec_model.load.executorch import check_executorch, load_executorch
from spec_model.load.kernel_sets import naming_uses, with_kernel_sets
from spec_model.load.kernels import load_kernel
from spec_model.load.onnx import check_onnx, load_onnx
from spec_model.load.operands import builtin_ops, link_packs
from spec_model.load.operators import Declared, naming_kernel, opening_comment, operators_of
from spec_model.load.signature import Signature, load_signature
from spec_model.load.traits import load_traits
from spec_model.op import Op
from spec_model.reference import load_reference
from spec_model.spec import Kernel, TestCase, Variant
from spec_model.templates import (
    BUILTIN_SPECS,
    BUILTIN_TEMPLATES,
    ROOT,
    Directory,
    Templates,
    named_directory,
    open_templates,
)
from spec_model.traits import names_of_traits
from spec_model.yaml_reader import Mapping as YamlMapping
from spec_model.yaml_reader import Node, Scalar, SourceFile


def load_library(
    spec_dirs: Iterable[str | Path],
    template_dirs: Iterable[str | Path],
    root: Path = ROOT,
    use_cache: bool = True,
) -> Library:
    """Every op of the spec directories. Later template directories take precedence.

    Messages and products name files relative to `root`, the root of the project. `use_cache`: the
    built-in operators are read from the cache of loaded specs (cached_specs.py). Raises SpecError
    with all errors, one line each.
    """
    templates = open_templates(template_dirs, root)
    return load_directories(
        [named_directory(directory, root) for directory in spec_dirs], templates, use_cache
    )


def load_directories(
    spec_directories: Iterable[Directory], templates: Templates, use_cache: bool = True
) -> Library:
    """Loads every `*.yaml` of the directories and their subdirectories. Reports all errors."""
    specs = [
        (directory, [directory.file(directory.relative(p)) for p in directory.ending(".yaml")])
        for directory in spec_directories
    ]
    ops: list[Op] = []
    errors = ErrorList()
    for directory, files in specs:
        with errors:
            load = partial(_load_files, files, directory, templates)
            ops += cached(directory, templates, load) if use_cache else load()
    with errors:
        _check_unique(ops)
        check_executorch(ops)
        check_onnx(ops)
    with errors:
        check_inserted_calls(ops)
    errors.raise_any()
    builtin = _builtin_packing_ops(ops)
    packing_ops = chain.from_iterable(builtin.values())
    ops = sorted(_expanded(ops, packing_ops, errors), key=lambda op: op.name)
    errors.raise_any()
    variants = sorted((v for op in ops for v in op.variants), key=lambda v: v.key)
    _check_ids(variants)
    by_name = {op.name: op for op in ops}
    read = (*chain.from_iterable(files for _, files in specs), *builtin)
    return Library(by_name, tuple(variants), read, templates)


def _load_files(
    files: Iterable[SourceFile], directory: Directory, templates: Templates
) -> list[Op]:
    """The ops of the specs of a directory. Reports the errors of all."""
    ops: list[Op] = []
    errors = ErrorList()
    for spec in files:
        with errors:
            ops += load_ops(spec, directory, templates)
    errors.raise_any()
    return ops


def load_ops(spec: SourceFile, directory: Directory, templates: Templates) -> list[Op]:
    """The ops of a spec, without kernel indices, packing ops and variants, which depend on other
    specs."""
    ops = []
    for each in operators_of(spec):
        try:
            ops.append(_load_declared(each, spec, directory, templates))
        except SpecError as error:
            raise each.named(error) from None
    return ops


def _load_declared(
    each: Declared, spec: SourceFile, directory: Directory, templates: Templates
) -> Op:
    node, uses = with_kernel_sets(each.spec, each.name, templates)
    with naming_uses(uses):
        fields = completed(Fields(node, "a spec"), templates)
        op = _load(fields, spec, each.name, directory, templates)
    position = each.name.position if each.is_one_of_several else op.position
    return dataclasses.replace(op, position=position, formula=each.text(op.formula))


def _load(
    fields: Fields, spec: SourceFile, stem: Scalar, directory: Directory, templates: Templates
) -> Op:
    signature = load_signature(fields)
    kernels = tuple(_kernels(fields, stem, signature, templates))
    fused_from, fused_at_least = _fused_from(fields)
    view_offset = load_view_offset(fields, signature)
    traits = load_traits(fields, signature)
    bounds = load_bounds(fields, signature)
    used = names_of_traits(traits).union(*(e.names for e in bounds if e is not None))
    if view_offset is not None:
        used |= view_offset.names
    check_lets(spec.name, unused_lets(signature.steps, signature.outputs, kernels, used))
    check_functions(spec.name, signature.scope.functions.values())
    op_name = fields.need_scalar("op")
    _check_op_name(op_name)
    overloads = _overloads(fields)
    reference = load_reference(
        fields.need_scalar("reference"),
        directory,
        (arg.name for arg in signature.args),
    )
    return Op(
        name=op_name.text,
        overloads=overloads,
        executorch=load_executorch(fields, op_name, overloads, signature),
        onnx=load_onnx(fields, signature),
        traits=traits,
        short_name=stem.text,
        formula=opening_comment(spec),
        position=op_name.position,
        args=signature.args,
        steps=signature.steps,
        outputs=signature.outputs,
        bounds=bounds,
        view_of=load_view_of(fields, signature),
        view_offset=view_offset,
        in_place=load_in_place(fields, signature, kernels),
        fused_from=fused_from,
        fused_at_least=fused_at_least,
        kernels=kernels,
        variants=(),
        reference=reference,
        tests=tuple(_tests(fields, signature, kernels, templates)),
        domain=load_domain(fields, signature.args, signature.outputs),
        tolerance=load_tolerance(fields),
    )


def _fused_from(fields: Fields) -> tuple[tuple[str, ...], int]:
    """The ops that may be fused into this one, and the minimum count of them; by default all."""
    node = fields.get("fused_from")
    if not isinstance(node, YamlMapping):
        names = tuple(as_scalar(item, "an op").text for item in fields.items("fused_from"))
        return names, len(names)
    parts = Fields.of(node, "'fused_from'", ("at_least", "of"))
    names = tuple(as_scalar(item, "an op").text for item in parts.items("of"))
    return names, as_int(parts.need("at_least"), "'at_least'")


def _overloads(fields: Fields) -> tuple[str, ...]:
    """Further PyTorch overloads that bind to the op."""
    names = [as_scalar(item, "an op") for item in fields.items("overloads")]
    for name in names:
        _check_op_name(name)
    return tuple(name.text for name in names)


def _check_op_name(name: Scalar) -> None:
    namespace, dot, rest = name.text.partition(".")
    valid = namespace.isidentifier() and dot and all(p.isidentifier() for p in rest.split("."))
    if not valid or not name.text.isascii():
        message = f"Op '{name.text}' is invalid; expected a name such as aten.add.Tensor."
        raise SpecError.at(name.position, message)


def _kernels(
    fields: Fields, stem: Scalar, signature: Signature, templates: Templates
) -> Sequence[Kernel]:
    one, several = fields.get("kernel"), fields.get("kernels")
    if (one is None) == (several is None):
        message = "A spec must have either 'kernel' or 'kernels'."
        raise SpecError.at(fields.node.position, message)
    nodes: Sequence[Node] = [one] if one else as_sequence(several or stem, "'kernels'").items
    if not nodes:
        raise SpecError.at(fields.need("kernels").position, "List of kernels is empty.")
    special = special_optional_args(nodes, templates) & {arg.name for arg in signature.args}
    kernels = []
    for node, derived in with_long_loops(nodes, stem, templates):
        with naming_kernel(node):
            kernels.append(load_kernel(node, stem, signature, templates, special, derived))
    if kernels[-1].prefer is not None:
        message = (
            f"Kernel '{kernels[-1].name}' is the last; "
            "it must support every device, without 'prefer'."
        )
        raise SpecError.at(kernels[-1].position, message)
    return kernels


def _tests(
    fields: Fields, signature: Signature, kernels: Sequence[Kernel], templates: Templates
) -> Iterator[TestCase]:
    fields.need("tests")
    named = {kernel.name: kernel for kernel in kernels}
    items = (case for node in fields.items("tests") for case in swept(node, signature.args))
    own = [load_case(case, signature.args, named) for case in items]
    yield from own
    for template in dict.fromkeys(kernel.template for kernel in kernels):
        sidecar = templates.sidecar(template)
        shapes = sidecar.get("test_shapes") if sidecar else None
        if shapes is not None:
            for node in as_sequence(shapes, "'test_shapes'").items:
                for case in swept(node, signature.args):
                    yield _shared_case(case, signature, named, own)


def _shared_case(
    node: Node, signature: Signature, named: Mapping[str, Kernel], own: Sequence[TestCase]
) -> TestCase:
    """A case of a template's `test_shapes`. Errors name the spec.

    It contains tensors. Scalars of the spec without a default are from the spec's first case.
    """
    known = {entry.key.text for entry in node.entries} if isinstance(node, YamlMapping) else set()
    needed = [a for a in signature.args if not a.type.is_tensor and a.required]
    given = {}
    for arg in needed:
        if arg.name in known:
            continue
        if not own:
            message = (
                f"Argument '{arg.name}' has no default. Add a case to 'tests': the cases of the"
            )
            message += f" template ({node.position}) use its value."
            raise SpecError.at(arg.position, message)
        given[arg.name] = own[0].args[arg.name]
    try:
        return load_case(node, signature.args, named, shared=given)
    except SpecError as error:
        user = f"(For {signature.args[0].position.file}.)" if signature.args else ""
        raise SpecError(
            Diagnostic(d.position, f"{d.message} {user}".rstrip()) for d in error.diagnostics
        ) from None


def _check_unique(ops: Sequence[Op]) -> None:
    """Fails if two specs have the same op, file stem or kernel name."""
    errors = ErrorList()
    for what, claims in (
        ("Op", [(name, op.position) for op in ops for name in {op.name, *op.overloads}]),
        ("Spec name", [(op.short_name, op.position) for op in ops]),
        ("Kernel", [(kernel.name, kernel.position) for op in ops for kernel in op.kernels]),
    ):
        first: dict[str, Position] = {}
        for name, position in claims:
            if name in first:
                with errors:
                    message = f"{what} '{name}' is also defined at {first[name]}; rename one."
                    raise SpecError.at(position, message)
            first.setdefault(name, position)
    errors.raise_any()


def _builtin_packing_ops(ops: Sequence[Op]) -> dict[SourceFile, list[Op]]:
    """Spirloom's own packing ops that kernels of other libraries use, by their specs."""
    directory = Directory(BUILTIN_SPECS, BUILTIN_SPECS.name)
    known = {op.name for op in ops}
    packs = dict.fromkeys(
        operand.pack.op
        for op in ops
        for kernel in op.kernels
        for operand in kernel.operands
        if operand.pack is not None and operand.pack.op not in known
    )
    specs = builtin_ops() if packs else {}
    templates = open_templates([BUILTIN_TEMPLATES])
    found = {}
    for name in (pack for pack in packs if pack in specs):
        spec = directory.file(directory.relative(specs[name]))
        found[spec] = load_ops(spec, directory, templates)
    return found


def _expanded(ops: Sequence[Op], packing_ops: Iterable[Op], errors: ErrorList) -> Iterator[Op]:
    """The ops with kernel indices in order of name, linked packing calls, and variants.

    `packing_ops`: packing ops of other libraries.
    """
    names = sorted(kernel.name for op in ops for kernel in op.kernels)
    indices = {name: index for index, name in enumerate(names)}
    by_name = {op.name: op for op in (*packing_ops, *ops)}
    for op in ops:
        with errors:
            kernels = tuple(
                dataclasses.replace(link_packs(kernel, by_name), index=indices[kernel.name])
                for kernel in op.kernels
            )
            variants = tuple(v for kernel in kernels for v in expand(op.name, kernel))
            yield dataclasses.replace(op, kernels=kernels, variants=variants)


def _check_ids(variants: Sequence[Variant]) -> None:
    first: dict[str, Variant] = {}
    for variant in variants:
        known = first.setdefault(variant.id, variant)
        if known is not variant:
            message = f"Variant '{variant.id}' is also a variant of kernel '{known.kernel.name}'."
            raise SpecError.at(variant.kernel.position, message)
