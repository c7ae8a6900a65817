"""The files of a new operator, written all or none."""

from __future__ import annotations

from collections.abc import Mapping as Map
from dataclasses import dataclass
from pathlib import Path
from string import Template

from codegen.interface_comments import Interface, interface_of, with_interface
from spec_model import Arg, ArgType
from spec_model.files import replaced_together
from spec_model.json_schema import schema_text
from spec_model.templates import BUILTIN_TEMPLATES, open_templates
from spec_model.yaml_reader import Mapping, Scalar, SourceFile, read_yaml
from spirloom.errors import ImportFailure
from spirloom.new_op.reference_text import copied_reference
from spirloom.new_op.spec_text import spec_text
from spirloom.new_op.target import Target, general_kernel

_HERE = Path(__file__).parent
_SUFFIX = ".glsl.j2"
_TYPES = {
    ArgType.TENSOR: "Array",
    ArgType.TENSORS: "list[Array]",
    ArgType.INT: "int",
    ArgType.FLOAT: "float",
    ArgType.NUMBER: "float",
    ArgType.BOOL: "bool",
    ArgType.INTS: "list[int]",
    ArgType.STR: "str",
}


@dataclass(frozen=True, slots=True)
class Scaffold:
    """The files to write."""

    files: Map[Path, str]
    shares_template: bool


def scaffold(target: Target, own_template: bool) -> Scaffold:
    """The contents of the files. A template with required params is shared."""
    sidecar = target.like_template.with_name(
        target.like_template.name.removesuffix(_SUFFIX) + ".yaml"
    )
    shared = not own_template and _has_required_params(sidecar)
    template = target.like_template.name if shared else target.template.name
    files = {target.spec: spec_text(target, template)}
    files[target.reference] = _reference(target)
    if not shared:
        own_sidecar = target.template_dir / f"{target.stem}.yaml"
        files[target.template] = _template(target, own_sidecar)
        if sidecar.is_file():
            files[own_sidecar] = sidecar.read_text(encoding="utf-8")
    if not target.schema.exists():
        files[target.schema] = schema_text()
    return Scaffold(files, shared)


def _has_required_params(sidecar: Path) -> bool:
    """Whether a template's sidecar declares params without defaults."""
    if not sidecar.is_file():
        return False
    params = read_yaml(SourceFile(sidecar, sidecar.name)).get("params")
    entries = params.entries if isinstance(params, Mapping) else ()
    return any(isinstance(e.value, Scalar) and e.value.is_null for e in entries)


def write(files: Map[Path, str]) -> None:
    """Writes the files, none of which may exist."""
    for path in files:
        if path.exists():
            raise ImportFailure(f"{path} already exists. No file was written.")
    try:
        for path in files:
            path.parent.mkdir(parents=True, exist_ok=True)
        with replaced_together(list(files)) as streams:
            for stream, text in zip(streams, files.values(), strict=True):
                stream.write(text.encode())
    except OSError as error:
        for path in filter(Path.is_file, files):
            path.unlink()
        raise ImportFailure(f"Cannot write {error.filename}: {error.strerror}.") from error


def _reference(target: Target) -> str:
    arrays = ", ".join(["Array"] * len(target.like.outputs))
    copied = copied_reference(target.like.reference, target.stem)
    return _filled(
        "reference.py.in",
        op=target.op,
        like=target.like.name,
        name=target.stem,
        parameters="".join(f"\n    {arg.name}: {_type(arg)}," for arg in target.args) + "\n",
        result=arrays if len(target.like.outputs) == 1 else f"tuple[{arrays}]",
        imports=copied.imports,
        definitions=copied.definitions,
        absent="".join(f"    {name} = None\n" for name in sorted(target.left_out)),
        value=copied.result,
    )


def _type(arg: Arg) -> str:
    return _TYPES[arg.type] + (" | None" if arg.optional else "")


def _template(target: Target, sidecar: Path) -> str:
    """A copy of the template, with notes after its first comment."""
    text = target.like_template.read_text(encoding="utf-8")
    opening, end, rest = text.partition("#}\n")
    notes = _filled(
        "template_notes.in",
        source=target.like_template.name,
        sidecar=target.shown(sidecar),
    )
    copied = f"{opening}{end}{notes}{rest}" if text.startswith("{#") else notes + text
    return with_interface(copied, _interface(target, sidecar))


def _interface(target: Target, sidecar: Path) -> Interface:
    """What the copied kernel declares, in the new files."""
    general = general_kernel(target.like)
    derived = [k for k in target.like.kernels if k.derived and k.template == general.template]
    own = target.like_template.name.removesuffix(_SUFFIX) + ".yaml"
    interface = interface_of([*derived, general], open_templates([BUILTIN_TEMPLATES]))
    return interface.renamed({own: sidecar.name}, f"{target.stem}.yaml")


def _filled(file: str, **values: str) -> str:
    return Template((_HERE / file).read_text(encoding="utf-8")).substitute(values)
