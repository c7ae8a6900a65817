"""The new operator: its name, the operator to copy, and the paths of its files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from spec_model import Arg, Kernel, Library, Op, SpecError, load_library
from spec_model.errors import Position
from spec_model.load.signature import load_arg
from spec_model.load.single_spec import single_spec_text
from spec_model.templates import BUILTIN_SPECS, BUILTIN_TEMPLATES, ROOT
from spec_model.vocabulary import Storage
from spec_model.yaml_reader import Entry, Scalar
from spirloom.errors import ImportFailure

_NAME = re.compile(r"((?P<namespace>[A-Za-z_]\w*)\.)?(?P<stem>[a-z][a-z0-9_]*)(\.\w+)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Target:
    """A new operator. Paths in texts are relative to `root`."""

    op: str  # e.g. custom.snake
    stem: str  # of its files: snake
    like: Op
    like_spec: Path
    like_text: str  # of its spec, without kernel sets
    like_template: Path  # of its last kernel
    spec_dir: Path
    template_dir: Path
    root: Path
    inside: bool  # the repository
    added: tuple[Arg, ...] = ()  # additional arguments, or other defaults

    @property
    def args(self) -> tuple[Arg, ...]:
        """The arguments of the copied operator that the kernel supports, and the added ones."""
        named = {arg.name: arg for arg in (*self.like.args, *self.added)}
        return tuple(arg for name, arg in named.items() if name not in self.left_out)

    @property
    def left_out(self) -> frozenset[str]:
        """Optional arguments of kernels that are not copied."""
        kernel = general_kernel(self.like)
        bound = {operand.name for operand in kernel.operands}
        asked = kernel.when.names if kernel.when is not None else frozenset()
        optional = {arg.name for arg in self.like.args if arg.optional}
        return frozenset((optional & asked) - bound)

    def shown(self, path: Path) -> str:
        """A path relative to `root`, if it is below it."""
        full = path.resolve()
        return str(full.relative_to(self.root)) if full.is_relative_to(self.root) else str(path)

    @property
    def spec(self) -> Path:
        """The path of the new spec."""
        return self.spec_dir / f"{self.stem}.yaml"

    @property
    def schema(self) -> Path:
        """The JSON Schema of specs, for editors: the repository's, or a copy next to the spec."""
        return (ROOT / "schema" if self.inside else self.spec_dir) / "spec.schema.json"

    @property
    def reference(self) -> Path:
        """The path of the new reference module."""
        return self.spec_dir / f"{self.stem}.py"

    @property
    def template(self) -> Path:
        """The path of the new template, if there is one."""
        return self.template_dir / f"{self.stem}.glsl.j2"


def find_target(
    name: str,
    like: str,
    spec_dir: Path | None,
    template_dir: Path | None,
    directory: Path,
    added: Iterable[str] = (),
) -> Target:
    """Checks the names and the added arguments. Raises ImportFailure. In the repository, the
    directories default to its own.
    """
    root = directory.resolve()
    inside = spec_dir is None and template_dir is None and root.is_relative_to(ROOT)
    specs = BUILTIN_SPECS if inside else root / (spec_dir or "op_specs")
    templates = BUILTIN_TEMPLATES if inside else root / (template_dir or "templates")
    libraries = _libraries(specs, templates, root)
    match = _NAME.fullmatch(name)
    if match is None:
        raise ImportFailure(
            f"'{name}' is not an operator name. Use lower case, such as snake, or custom.snake "
            "with a namespace."
        )
    op = name if match["namespace"] else f"{'spirloom' if inside else 'custom'}.{name}"
    # Libraries with the same operator cannot be used together.
    for library in libraries:
        _check_new(op, match["stem"], library)
    found = _find(like, libraries)
    like_spec, like_template = _spec_file(found, libraries), _template_file(found, libraries)
    return Target(
        op=op,
        stem=match["stem"],
        like=found,
        like_spec=like_spec,
        like_text=_spec_text(found, libraries),
        like_template=like_template,
        spec_dir=like_spec.parent if inside else specs,
        template_dir=like_template.parent if inside else templates,
        root=ROOT if inside else root,
        inside=inside,
        added=tuple(_added_arg(text) for text in added),
    )


def _added_arg(text: str) -> Arg:
    """An argument with a default, so that the copied kernel and tests stay valid."""
    name, _, given = text.partition(":")
    at = Position("--arg")
    words = [Scalar(at, part.strip(), False, True) for part in (name, given)]
    try:
        arg = load_arg(Entry(words[0], words[1]), ())
    except SpecError as error:
        (diagnostic,) = error.diagnostics
        raise ImportFailure(f"--arg '{text}': {diagnostic.message}") from error
    if arg.default is None:
        raise ImportFailure(
            f"--arg '{text}': A new argument requires a default, such as 'slope: float = 0.5', "
            "because the copied kernel and tests do not set it. Add tensor arguments manually."
        )
    return arg


def _libraries(specs: Path, templates: Path, root: Path) -> list[Library]:
    """The built-in operators, and those of the project, if any."""
    try:
        libraries = [_own_library()]
        if specs.is_dir() and specs.resolve() != BUILTIN_SPECS:
            directories = [BUILTIN_TEMPLATES, *([templates] if templates.is_dir() else [])]
            libraries.append(load_library([specs], directories, root))
    except SpecError as error:
        raise ImportFailure(str(error)) from error
    return libraries


@cache
def _own_library() -> Library:
    return load_library([BUILTIN_SPECS], [BUILTIN_TEMPLATES])


def _check_new(op: str, stem: str, library: Library) -> None:
    for known in library.ops.values():
        taken = {known.short_name, *(kernel.name for kernel in known.kernels)}
        if known.name == op or stem in taken:
            what = f"{known.name}, {known.position.file}"
            raise ImportFailure(f"The name '{stem}' is already used: {what}. Choose another one.")


def _find(like: str, libraries: Iterable[Library]) -> Op:
    ops = [op for library in libraries for op in library.ops.values()]
    names = {name: op for op in ops for name in (op.name, op.short_name)}
    if like in names:
        return names[like]
    near = ", ".join(get_close_matches(like, names, n=3, cutoff=0.5))
    hint = f"Similar names: {near}." if near else "`spirloom ops` lists all operators."
    raise ImportFailure(f"--like: unknown operator '{like}'. {hint}")


def _spec_file(op: Op, libraries: Iterable[Library]) -> Path:
    files = {source.name: source.path for library in libraries for source in library.specs}
    return files[op.position.file]


def _spec_text(op: Op, libraries: Iterable[Library]) -> str:
    library = next(library for library in libraries if op.name in library.ops)
    source = next(source for source in library.specs if source.name == op.position.file)
    return single_spec_text(source, op.short_name, library.templates)


def _template_file(op: Op, libraries: Iterable[Library]) -> Path:
    library = next(library for library in libraries if op.name in library.ops)
    source = library.templates.find(general_kernel(op).template)
    assert source is not None
    return source.path


def general_kernel(op: Op) -> Kernel:
    """The kernel for all calls on all devices. Ties: one for buffers, then the one with most
    variants, then most float variants.
    """

    def worth(kernel: Kernel) -> tuple[bool, bool, int, int]:
        variants = op.variants_of(kernel)
        floats = sum(variant.dtype.is_float for variant in variants)
        in_buffers = any(variant.storage is Storage.BUFFER for variant in variants)
        is_general = kernel.when is None and kernel.prefer is None
        return (is_general, in_buffers, len(variants), floats)

    return max(reversed(op.kernels), key=worth)
