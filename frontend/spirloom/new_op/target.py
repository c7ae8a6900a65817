"""What is to be made: the new operator's name, the one it is like, and where its files go."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from codegen import Arg, Kernel, Library, Op, SpecError, load_library
from codegen.errors import Position
from codegen.library import ROOT
from codegen.signature import load_arg
from codegen.yaml_reader import Entry, Scalar
from spirloom.errors import ImportFailure

OWN_SPECS, OWN_TEMPLATES = ROOT / "op_specs", ROOT / "templates" / "glsl"

_NAME = re.compile(r"((?P<namespace>[A-Za-z_]\w*)\.)?(?P<stem>[a-z][a-z0-9_]*)(\.\w+)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Target:
    """A new operator. Paths are relative to `root` in all texts."""

    op: str  # e.g. custom.snake
    stem: str  # of its files: snake
    like: Op
    like_spec: Path
    like_template: Path  # of its last kernel
    spec_dir: Path
    template_dir: Path
    root: Path
    inside: bool  # the repository
    added: tuple[Arg, ...] = ()  # arguments to have too, or with other defaults

    @property
    def args(self) -> tuple[Arg, ...]:
        """Those of the operator that it is like, as far as the kernel takes them, and its own."""
        named = {arg.name: arg for arg in (*self.like.args, *self.added)}
        return tuple(arg for name, arg in named.items() if name not in self.left_out)

    @property
    def left_out(self) -> frozenset[str]:
        """Optional arguments that are for other kernels than the one to be copied."""
        kernel = general_kernel(self.like)
        bound = {operand.name for operand in kernel.operands}
        asked = kernel.when.names if kernel.when is not None else frozenset()
        optional = {arg.name for arg in self.like.args if arg.optional}
        return frozenset((optional & asked) - bound)

    def shown(self, path: Path) -> str:
        """A path as texts have it."""
        full = path.resolve()
        return str(full.relative_to(self.root)) if full.is_relative_to(self.root) else str(path)

    @property
    def spec(self) -> Path:
        """The spec to be made."""
        return self.spec_dir / f"{self.stem}.yaml"

    @property
    def reference(self) -> Path:
        """The module of the reference to be made."""
        return self.spec_dir / "reference" / f"{self.stem}.py"

    @property
    def template(self) -> Path:
        """The template, if one is to be made."""
        return self.template_dir / f"{self.stem}.glsl.j2"


def find_target(
    name: str,
    like: str,
    spec_dir: Path | None,
    template_dir: Path | None,
    folder: Path,
    added: Iterable[str] = (),
) -> Target:
    """Checks the names, and arguments to add. Inside the repository its own folders are meant
    unless others are given."""
    root = folder.resolve()
    inside = spec_dir is None and template_dir is None and root.is_relative_to(ROOT)
    specs = OWN_SPECS if inside else root / (spec_dir or "op_specs")
    templates = OWN_TEMPLATES if inside else root / (template_dir or "templates")
    libraries = _libraries(specs, templates, root)
    match = _NAME.fullmatch(name)
    if match is None:
        raise ImportFailure(
            f"'{name}' is not an operator's name, which is lower case as in snake or, with a "
            "namespace, custom.snake."
        )
    op = name if match["namespace"] else f"{'spirloom' if inside else 'custom'}.{name}"
    # Two libraries that hold the same operator cannot be used together.
    for library in libraries:
        _check_new(op, match["stem"], library)
    found = _find(like, libraries)
    return Target(
        op=op,
        stem=match["stem"],
        like=found,
        like_spec=_spec_file(found, libraries),
        like_template=_template_file(found, libraries),
        spec_dir=specs,
        template_dir=templates,
        root=ROOT if inside else root,
        inside=inside,
        added=tuple(_added_arg(text) for text in added),
    )


def _added_arg(text: str) -> Arg:
    """An argument that calls may leave out, so that kernel and tests hold as they are."""
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
            f"--arg '{text}': A new argument has a default, as in 'slope: float = 0.5'; the kernel "
            "and the tests that are copied do without it. Tensors are added by hand."
        )
    return arg


def _libraries(specs: Path, templates: Path, root: Path) -> list[Library]:
    """Spirloom's operators, and those of the project if it has any."""
    try:
        libraries = [_own_library()]
        if specs.is_dir() and specs.resolve() != OWN_SPECS:
            folders = [OWN_TEMPLATES, *([templates] if templates.is_dir() else [])]
            libraries.append(load_library([specs], folders, root))
    except SpecError as error:
        raise ImportFailure(str(error)) from error
    return libraries


@cache
def _own_library() -> Library:
    return load_library([OWN_SPECS], [OWN_TEMPLATES])


def _check_new(op: str, stem: str, library: Library) -> None:
    for known in library.ops.values():
        taken = {known.short_name, *(kernel.name for kernel in known.kernels)}
        if known.name == op or stem in taken:
            what = f"{known.name}, {known.position.file}"
            raise ImportFailure(f"The name '{stem}' is taken: {what}. Choose another.")


def _find(like: str, libraries: Iterable[Library]) -> Op:
    ops = [op for library in libraries for op in library.ops.values()]
    names = {name: op for op in ops for name in (op.name, op.short_name)}
    if like in names:
        return names[like]
    near = ", ".join(get_close_matches(like, names, n=3, cutoff=0.5))
    hint = f"Nearest are: {near}." if near else "`spirloom ops` lists them."
    raise ImportFailure(f"There is no operator '{like}' to be like. {hint}")


def _spec_file(op: Op, libraries: Iterable[Library]) -> Path:
    files = {source.name: source.path for library in libraries for source in library.specs}
    return files[op.position.file]


def _template_file(op: Op, libraries: Iterable[Library]) -> Path:
    library = next(library for library in libraries if op.name in library.ops)
    source = library.templates.find(general_kernel(op).template)
    assert source is not None
    return source.path


def general_kernel(op: Op) -> Kernel:
    """The kernel for any call on any device; of several the one with most variants, or floats."""

    def worth(kernel: Kernel) -> tuple[bool, int, int]:
        variants = op.variants_of(kernel)
        floats = sum(variant.dtype.is_float for variant in variants)
        return (kernel.when is None and kernel.prefer is None, len(variants), floats)

    return max(reversed(op.kernels), key=worth)
