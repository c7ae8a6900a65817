"""`generate`: loads, renders and writes everything."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from codegen.catalog import ONNX_OPERATORS, catalogue_text
from codegen.errors import ErrorList
from codegen.library import load_library
from codegen.loader import Library
from codegen.manifest import REGISTRY, glsl_path, manifest_text
from codegen.registry import registry_bytes
from codegen.render import Rendered, Renderer
from codegen.select.selection import read_selection, reduced
from codegen.writer import Output, write_atomically

_CODEGEN = Path(__file__).resolve().parent
_STALE = ("glsl/*.glsl",)


@dataclass(frozen=True, slots=True)
class Request:
    """What to generate, from what, and where."""

    spec_dirs: tuple[Path, ...]
    template_dirs: tuple[Path, ...]
    out: Path
    library: str
    overrides: bool
    depfile: Path | None
    root: Path
    selection: Path | None = None  # of `select`; None: everything


def generate(request: Request) -> list[str]:
    """Writes the products and returns the names of changed files. Fails before writing any."""
    library = load_library(request.spec_dirs, request.template_dirs, request.root)
    if request.selection is not None:
        library = reduced(library, read_selection(request.selection, library))
    shaders = render_all(library)
    registry = registry_bytes(library, request.library, overrides=request.overrides)
    output = Output(request.out)
    for shader in shaders:
        output.write(glsl_path(shader.variant), shader.text)
    output.write_bytes(REGISTRY, registry)
    output.write("manifest.json", manifest_text(request.library, library.variants))
    output.write("glsl.digest", _glsl_digest(shaders))
    output.write("operators.json", catalogue_text(library))
    output.remove_stale(_STALE)
    if request.depfile is not None:
        _write_depfile(request, library)
    return output.changed


def render_all(library: Library) -> list[Rendered]:
    """The GLSL of every variant. Fails with every mistake found, once for each template line."""
    renderer = Renderer(library.templates)
    errors = ErrorList()
    broken: set[str] = set()
    shaders: list[Rendered] = []
    for variant in library.variants:
        if variant.kernel.name in broken:
            continue
        with errors:
            broken.add(variant.kernel.name)
            shaders.append(renderer.render(variant))
            broken.discard(variant.kernel.name)
    errors.raise_any()
    return shaders


def _glsl_digest(shaders: Iterable[Rendered]) -> str:
    """Changes when any shader does: what build tools depend on instead of on every file."""
    digest = hashlib.blake2b(digest_size=16)
    for shader in shaders:
        digest.update(f"{shader.variant.id} {len(shader.text)}\n{shader.text}".encode())
    return digest.hexdigest() + "\n"


def _write_depfile(request: Request, library: Library) -> None:
    assert request.depfile is not None
    inputs = {source.path for source in (*library.specs, *library.templates.files.values())}
    if request.selection is not None:
        inputs.add(request.selection)
    inputs |= set(_CODEGEN.rglob("*.py"))
    inputs |= {ONNX_OPERATORS} if ONNX_OPERATORS.is_file() else set()
    target = _escaped(request.out.resolve() / "manifest.json")
    lines = " \\\n  ".join(_escaped(path.resolve()) for path in sorted(inputs))
    data = f"{target}: \\\n  {lines}\n".encode()
    if not request.depfile.is_file() or request.depfile.read_bytes() != data:
        request.depfile.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(request.depfile, data)


def _escaped(path: Path) -> str:
    return (
        str(path).replace("\\", "\\\\").replace(" ", "\\ ").replace("#", "\\#").replace("$", "$$")
    )
