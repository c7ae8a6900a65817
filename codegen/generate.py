"""The command `generate`: loads specs, renders templates and writes all products."""

from __future__ import annotations

import time
from pathlib import Path

from codegen.catalog import ONNX_OPERATORS, catalog_text
from codegen.incremental import regenerate, save
from codegen.interface_comments import check_interfaces, interfaces
from codegen.manifest import REGISTRY, manifest_text
from codegen.output import Output, Request
from codegen.registry import executorch_bytes, registry_bytes
from codegen.render import Rendered, Renderer, glsl_digest, unused_in
from codegen.select.selection import read_selection, reduced
from codegen.shader import check_members
from codegen.shared_modules import with_shared_modules
from spec_model.errors import ErrorList
from spec_model.files import write_depfile
from spec_model.library import Library, ops_with_test_kernels, without_test_kernels
from spec_model.load.loader import load_library
from spec_model.templates import PACKAGE, open_templates

_SOURCES = (Path(__file__).resolve().parent, PACKAGE)
_STALE = ("glsl/*.glsl",)


def generate(request: Request) -> list[str]:
    """Writes the products and returns the names of changed files. Errors occur before writing."""
    changed = regenerate(request, open_templates(request.template_dirs, request.root))
    return _generate(request) if changed is None else changed


def _generate(request: Request) -> list[str]:
    started = time.time_ns()
    library = load_library(request.spec_dirs, request.template_dirs, request.root)
    check_interfaces(library)
    interface_of = {source.name: interface for source, interface in interfaces(library)}
    if request.test_kernels:
        library = ops_with_test_kernels(library)
    else:
        library = without_test_kernels(library)
    if request.selection is not None:
        library = reduced(library, read_selection(request.selection, library))
    library = with_shared_modules(library)
    shaders = render_all(library, complete=request.selection is None)
    registry = registry_bytes(library, request.library, overrides=request.overrides)
    output = Output(request.out)
    for shader in shaders:
        output.write(shader.shader.path, shader.text)
    output.write_bytes(REGISTRY, registry)
    output.write_bytes("executorch.bin", executorch_bytes(library))
    output.write("manifest.json", manifest_text(request.library, library.variants))
    output.write("glsl.digest", glsl_digest((each.shader.id, each.digest) for each in shaders))
    output.write("operators.json", catalog_text(library))
    output.remove_stale(_STALE)
    inputs = _inputs(request, library)
    if request.depfile is not None:
        write_depfile(request.depfile, request.out / "manifest.json", inputs)
    save(request, started, inputs, library.templates, output.written, shaders, interface_of)
    return output.changed


def render_all(library: Library, *, complete: bool = True) -> list[Rendered]:
    """The GLSL of every variant. Reports all errors, once for each template line.

    Unused push constants and constants are errors only in a `complete` library: other variants of a
    selection may use them.
    """
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
    if complete:
        kernels = (kernel for op in library.ops.values() for kernel in op.kernels)
        check_members(kernels, unused_in(shaders))
    return shaders


def _inputs(request: Request, library: Library) -> set[Path]:
    """All input files of the products."""
    inputs = {source.path for source in (*library.specs, *library.templates.files.values())}
    if request.selection is not None:
        inputs.add(request.selection)
    inputs |= {path for package in _SOURCES for path in package.rglob("*.py")}
    inputs |= {ONNX_OPERATORS} if ONNX_OPERATORS.is_file() else set()
    return inputs
