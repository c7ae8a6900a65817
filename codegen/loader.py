"""Spec folders → a Library: every op, its kernels numbered and expanded."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from codegen.cases import load_case, load_tolerance
from codegen.domain import load_domain
from codegen.errors import Diagnostic, ErrorList, Position, SpecError
from codegen.expr.check import parse
from codegen.expr.types import Expr, Kind, Variable
from codegen.fields import Fields, as_int, as_scalar, as_sequence, check_name
from codegen.foreign import check_foreign_names, load_foreign_names
from codegen.inserted_calls import check_inserted_calls
from codegen.kernels import load_kernel, special_arguments
from codegen.op import Op
from codegen.packing import link_packs
from codegen.reference import load_reference
from codegen.shared_spec import completed
from codegen.signature import Signature, load_signature
from codegen.spec import Kernel, TestCase, Variant
from codegen.templates import Folder, Templates
from codegen.unused import check_lets, unused_lets
from codegen.updates import load_updates
from codegen.variants import expand
from codegen.yaml_reader import Mapping as YamlMapping
from codegen.yaml_reader import Node, Scalar, SourceFile, read_text, read_yaml

_KEYS = (
    "op",
    "also",
    "executorch",
    "args",
    "let",
    "checks",
    "outputs",
    "view_of",
    "view_at",
    "updates",
    "fused_from",
    "kernel",
    "kernels",
    "reference",
    "tests",
    "domain",
    "tolerance",
)


@dataclass(frozen=True, slots=True)
class Library:
    """Every op of some spec folders, and what was read to learn it."""

    ops: Mapping[str, Op]  # by op name, sorted
    variants: tuple[Variant, ...]  # sorted by key
    specs: tuple[SourceFile, ...]
    templates: Templates

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """All kernels in order of their index."""
        kernels = (kernel for op in self.ops.values() for kernel in op.kernels)
        return tuple(sorted(kernels, key=lambda kernel: kernel.index))


def load_folders(spec_folders: Iterable[Folder], templates: Templates) -> Library:
    """Loads every `*.yaml` of the folders. Fails with all mistakes found."""
    specs = [
        folder.file(path.name)
        for folder in spec_folders
        for path in sorted(folder.path.glob("*.yaml"))
    ]
    ops: list[Op] = []
    errors = ErrorList()
    for spec in specs:
        with errors:
            ops.append(load_op(spec, templates))
    with errors:
        _check_unique(ops)
        check_foreign_names(ops)
    with errors:
        check_inserted_calls(ops)
    errors.raise_any()
    ops = sorted(_expanded(ops, errors), key=lambda op: op.name)
    errors.raise_any()
    variants = sorted((v for op in ops for v in op.variants), key=lambda v: v.key)
    _check_ids(variants)
    by_name = {op.name: op for op in ops}
    return Library(by_name, tuple(variants), tuple(specs), templates)


def load_op(spec: SourceFile, templates: Templates) -> Op:
    """One spec, without what depends on the others: kernel numbers, packing ops and variants."""
    fields = completed(Fields.of(read_yaml(spec), "a spec", _KEYS), templates)
    stem_text = spec.path.stem
    stem = Scalar(fields.node.position, stem_text, False, False)
    check_name(stem, "Spec file", lower=True)
    signature = load_signature(fields)
    kernels = tuple(_kernels(fields, stem, signature, templates))
    fused_from, fused_least = _fused_from(fields)
    view_at = _view_at(fields, signature)
    check_lets(spec.name, unused_lets(signature.steps, signature.outputs, kernels, view_at))
    op_name = fields.need_scalar("op")
    _check_op_name(op_name)
    also = _also(fields)
    reference = load_reference(
        fields.need_scalar("reference"),
        spec.path.parent / "reference",
        (arg.name for arg in signature.args),
    )
    return Op(
        name=op_name.text,
        also=also,
        foreign=load_foreign_names(fields, op_name, also, signature),
        short_name=stem_text,
        formula=_formula(spec),
        position=op_name.position,
        args=signature.args,
        steps=signature.steps,
        outputs=signature.outputs,
        view_of=_view_of(fields, signature),
        view_at=view_at,
        updates=load_updates(fields, signature, kernels),
        fused_from=fused_from,
        fused_least=fused_least,
        kernels=kernels,
        variants=(),
        reference=reference,
        tests=tuple(_tests(fields, signature, kernels, templates)),
        domain=load_domain(fields, signature.args, signature.outputs),
        tolerance=load_tolerance(fields),
    )


def _fused_from(fields: Fields) -> tuple[tuple[str, ...], int]:
    """The ops that this one may be made of, and of how many at least: all, unless it says."""
    node = fields.get("fused_from")
    if not isinstance(node, YamlMapping):
        names = tuple(as_scalar(item, "an op").text for item in fields.items("fused_from"))
        return names, len(names)
    parts = Fields.of(node, "'fused_from'", ("least", "of"))
    names = tuple(as_scalar(item, "an op").text for item in parts.items("of"))
    return names, as_int(parts.need("least"), "'least'")


def _also(fields: Fields) -> tuple[str, ...]:
    """The further names that calls of the op have in PyTorch."""
    names = [as_scalar(item, "an op") for item in fields.items("also")]
    for name in names:
        _check_op_name(name)
    return tuple(name.text for name in names)


def _check_op_name(name: Scalar) -> None:
    namespace, dot, rest = name.text.partition(".")
    valid = namespace.isidentifier() and dot and all(p.isidentifier() for p in rest.split("."))
    if not valid or not name.text.isascii():
        message = f"Op '{name.text}' is not a name like aten.add.Tensor or spirloom.copy."
        raise SpecError.at(name.position, message)


def _formula(spec: SourceFile) -> str:
    """The spec's opening comment."""
    lines = []
    for line in read_text(spec).splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.lstrip("#").strip())
    return " ".join(lines)


def _kernels(
    fields: Fields, stem: Scalar, signature: Signature, templates: Templates
) -> Sequence[Kernel]:
    one, several = fields.get("kernel"), fields.get("kernels")
    if (one is None) == (several is None):
        message = "A spec has either 'kernel' or 'kernels'."
        raise SpecError.at(fields.node.position, message)
    nodes: Sequence[Node] = [one] if one else as_sequence(several or stem, "'kernels'").items
    if not nodes:
        raise SpecError.at(fields.need("kernels").position, "List of kernels is empty.")
    special = special_arguments(nodes, templates) & {arg.name for arg in signature.args}
    kernels = [load_kernel(node, stem, signature, templates, special) for node in nodes]
    if kernels[-1].prefer is not None:
        message = (
            f"Kernel '{kernels[-1].name}' is the last; "
            "it must serve every device, without 'prefer'."
        )
        raise SpecError.at(kernels[-1].position, message)
    return kernels


def _view_of(fields: Fields, signature: Signature) -> int | None:
    scalar = fields.scalar("view_of")
    if scalar is None:
        return None
    variable = signature.scope.variables.get(scalar.text)
    arg = signature.arg(scalar.text)
    if not isinstance(variable, Variable) or variable.kind is not Kind.TENSOR or arg is None:
        raise SpecError.at(scalar.position, f"'{scalar.text}' is not a tensor argument.")
    if len(signature.outputs) != 1:
        message = f"A view has one output, not {len(signature.outputs)}: it shares one's elements."
        raise SpecError.at(scalar.position, message)
    return arg.index


def _view_at(fields: Fields, signature: Signature) -> Expr | None:
    scalar = fields.scalar("view_at")
    if scalar is None:
        return None
    if fields.get("view_of") is None:
        raise SpecError.at(scalar.position, "'view_at' is a place in what 'view_of' names.")
    return parse(scalar, signature.scope, Kind.INT)


def _tests(
    fields: Fields, signature: Signature, kernels: Sequence[Kernel], templates: Templates
) -> Iterator[TestCase]:
    fields.need("tests")
    named = {kernel.name: kernel for kernel in kernels}
    own = [load_case(node, signature.args, named) for node in fields.items("tests")]
    yield from own
    for template in dict.fromkeys(kernel.template for kernel in kernels):
        sidecar = templates.sidecar(template)
        shapes = sidecar.get("test_shapes") if sidecar else None
        if shapes is not None:
            for node in as_sequence(shapes, "'test_shapes'").items:
                yield _shared_case(node, signature, named, own)


def _shared_case(
    node: Node, signature: Signature, named: Mapping[str, Kernel], own: Sequence[TestCase]
) -> TestCase:
    """A case that stands beside the template; a mistake is one of some spec's, so it is named.

    It knows tensors. Scalars of the spec's own without a default are as in the spec's first case.
    """
    known = {entry.key.text for entry in node.entries} if isinstance(node, YamlMapping) else set()
    needed = [a for a in signature.args if not a.type.is_tensor and a.required]
    given = {}
    for arg in needed:
        if arg.name in known:
            continue
        if not own:
            message = f"Argument '{arg.name}' has no default; give it a value in a case of 'tests',"
            message += f" which the cases beside the template ({node.position}) then take too."
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
    """No two specs claim one op, one file stem or one kernel name."""
    errors = ErrorList()
    for what, claims in (
        ("Op", [(name, op.position) for op in ops for name in (op.name, *op.also)]),
        ("Spec name", [(op.short_name, op.position) for op in ops]),
        ("Kernel", [(kernel.name, kernel.position) for op in ops for kernel in op.kernels]),
    ):
        first: dict[str, Position] = {}
        for name, position in claims:
            known = first.setdefault(name, position)
            if known is not position:
                with errors:
                    message = f"{what} '{name}' is claimed by {known} as well; rename one."
                    raise SpecError.at(position, message)
    errors.raise_any()


def _expanded(ops: Sequence[Op], errors: ErrorList) -> Iterator[Op]:
    """The ops with kernels numbered in order of name, packing calls linked, and variants."""
    names = sorted(kernel.name for op in ops for kernel in op.kernels)
    index = {name: number for number, name in enumerate(names)}
    by_name = {op.name: op for op in ops}
    for op in ops:
        with errors:
            kernels = tuple(
                dataclasses.replace(link_packs(kernel, by_name), index=index[kernel.name])
                for kernel in op.kernels
            )
            variants = tuple(v for kernel in kernels for v in expand(op.name, kernel))
            yield dataclasses.replace(op, kernels=kernels, variants=variants)


def _check_ids(variants: Sequence[Variant]) -> None:
    first: dict[str, Variant] = {}
    for variant in variants:
        known = first.setdefault(variant.id, variant)
        if known is not variant:
            message = f"Variant '{variant.id}' is made by kernel '{known.kernel.name}' as well."
            raise SpecError.at(variant.kernel.position, message)
