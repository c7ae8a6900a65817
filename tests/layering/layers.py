"""The modules of the C++ and Python code, and the modules that each may include or import.

  python3 -m tests.layering.layers      # prints the modules and their dependencies

A module is a directory; a key that ends in /** also covers its subdirectories. Every directory with
sources must be in MODULES.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_PUBLIC = ("runtime/include/spirloom",)
_TABLES = ("spec_model/**",)  # *.inc: data types, storages, capabilities, device properties
_BASE = (*_PUBLIC, "runtime/base")
_PACK = (*_BASE, "runtime/pack")
_OPS = (*_PACK, "runtime/ops")
_SESSION = (*_OPS, "runtime/vulkan", "runtime/session")
_GRAPH = (*_SESSION, "runtime/graph/file", "runtime/graph/plan", "runtime/graph/memory")
_CHECKS = (*_PACK, "compiler/base", "compiler/manifest", "compiler/spirv")
_DELEGATE = "integrations/executorch"

_CORE = ("frontend/spirloom", "spec_model/**")  # graphs, graph files, shapes
_PASSES = (
    *_CORE,
    "frontend/spirloom/layers",
    "frontend/spirloom/passes",
    "frontend/spirloom/symbolic",
)
_FAMILY = (*_PASSES, "frontend/spirloom/family")
_TORCH = (*_PASSES, "frontend/spirloom/torch", "frontend/spirloom/torch/rules")
_SEGMENTS = ("frontend/spirloom/partition", "frontend/spirloom/runtime")
_ONNX = (
    *_PASSES,
    "frontend/spirloom/onnx",
    "frontend/spirloom/onnx/constant_folding",
    "frontend/spirloom/onnx/ops",
    "frontend/spirloom/onnx/partition",
)

ANY = "*"  # instead of modules: all modules

# Each module with the modules that it may include or import.
MODULES: dict[str, tuple[str, ...]] = {
    # The runtime.
    "runtime/include/spirloom": ("runtime/include/spirloom/c",),
    "runtime/include/spirloom/c": (),
    "runtime/base": (*_PUBLIC, *_TABLES),
    "runtime/pack": (*_BASE, *_TABLES),
    "runtime/vulkan": (*_PACK, *_TABLES),
    "runtime/ops": _PACK,
    "runtime/session": (*_OPS, "runtime/vulkan"),
    "runtime/graph/file": (*_OPS, *_TABLES),
    "runtime/graph/plan": (*_OPS, "runtime/session", "runtime/graph/file"),  # no Vulkan
    "runtime/graph/memory": (*_SESSION, "runtime/graph/file", "runtime/graph/plan"),
    "runtime/graph/record": _GRAPH,
    "runtime/graph/constants": (*_GRAPH, "runtime/graph/record"),
    "runtime/graph/model": (*_GRAPH, "runtime/graph/record", "runtime/graph/constants"),
    "runtime/eager": (*_GRAPH, "runtime/graph/record"),
    "runtime/c": (*_BASE, *_TABLES),
    # Language models.
    "llm/tokenizer": _BASE,
    "llm/model": (*_BASE, "llm/tokenizer"),
    "llm/include/spirloom": ("llm/tokenizer", "llm/model"),
    "llm/spirloom-llm": (*_BASE, "llm/tokenizer", "llm/model", "tools/common"),
    # The shader compiler.
    "compiler/base": (*_PACK, *_TABLES),
    "compiler/manifest": (*_PACK, "compiler/base"),
    "compiler/glsl": (*_BASE, "compiler/base"),
    "compiler/spirv": (*_PACK, "compiler/base"),
    "compiler/checks": _CHECKS,
    "compiler/pack": (*_CHECKS, "compiler/glsl", "compiler/checks"),
    "compiler/driver": (*_CHECKS, "compiler/glsl", "compiler/checks", "compiler/pack"),
    # The tools.
    "tools/common": _BASE,
    "tools/dev-templates/include/spirloom": _PUBLIC,
    "tools/dev-templates": (*_BASE, "tools/dev-templates/include/spirloom"),
    "tools/peaks": (*_BASE, "runtime/vulkan", "tools/common"),
    "tools/shader-stats": (*_BASE, "runtime/pack", "runtime/vulkan", "runtime/ops"),
    "tools/plan": (
        *_GRAPH,
        "runtime/graph/record",
        "runtime/graph/constants",
        "runtime/graph/model",
    ),
    "tools/races": (
        *_GRAPH,
        "runtime/graph/record",
        "runtime/graph/constants",
        "runtime/graph/model",
        "tools/plan",
    ),
    "tools/amber": (
        *_GRAPH,
        "runtime/graph/record",
        "runtime/graph/model",
        "tools/races",
    ),
    "tools/spirloom-ops": (*_GRAPH, "runtime/graph/record", "tools/common", "tools/plan"),
    "tools/spirloom-run": (
        *_GRAPH,
        "runtime/graph/record",
        "runtime/graph/model",
        "tools/amber",
        "tools/common",
        "tools/dev-templates/include/spirloom",
        "tools/peaks",
        "tools/plan",
        "tools/races",
        "tools/shader-stats",
    ),
    # The ExecuTorch backends.
    f"{_DELEGATE}/runner": (*_BASE, f"{_DELEGATE}/include/spirloom"),
    f"{_DELEGATE}/include/spirloom": (),
    f"{_DELEGATE}/blob": _BASE,
    f"{_DELEGATE}/names": _PACK,
    f"{_DELEGATE}/lower": (
        *_BASE,
        f"{_DELEGATE}/blob",
        f"{_DELEGATE}/names",
    ),
    f"{_DELEGATE}/backend": (
        *_BASE,
        f"{_DELEGATE}/include/spirloom",
        f"{_DELEGATE}/blob",
        f"{_DELEGATE}/names",
        f"{_DELEGATE}/lower",
    ),
    # PyTorch's device, over the C API.
    "integrations/torch": _PUBLIC,
    # Imported memory.
    "integrations/external_memory/include/spirloom": _PUBLIC,
    "integrations/external_memory": (*_PUBLIC, "integrations/external_memory/include/spirloom"),
    # Replicas of a model.
    "integrations/pool/include/spirloom": _PUBLIC,
    "integrations/pool": (*_PUBLIC, "integrations/pool/include/spirloom"),
    # Java and Android.
    "integrations/java/jni": (*_BASE, "runtime/c", "llm/tokenizer", "llm/model"),
    # The code generator. Importers read specs with spec_model; only generation uses codegen.
    "spec_model/**": (),
    "codegen/**": ("spec_model/**",),
    "op_specs/**": _TABLES,  # dtypes and activations of references
    # The Python package. Its top directory contains the core and the entry points over the rest.
    "frontend/spirloom": (
        *_TORCH,
        "codegen/**",
        "frontend/spirloom/eager",
        "frontend/spirloom/executorch",
        "frontend/spirloom/formats",
        "frontend/spirloom/llm",
        "frontend/spirloom/onnx",
        "frontend/spirloom/pte",
        "frontend/spirloom/runtime",
        "frontend/spirloom/verify",
    ),
    "frontend/spirloom/runtime": ("frontend/spirloom", "frontend/spirloom/eager"),
    "frontend/spirloom/eager": ("frontend/spirloom", "frontend/spirloom/runtime"),
    "frontend/spirloom/symbolic": _CORE,
    "frontend/spirloom/layers": _CORE,  # what several importers build
    "frontend/spirloom/passes": (
        *_PASSES,
        "frontend/spirloom/passes/attention",
        "frontend/spirloom/passes/patterns",
    ),
    "frontend/spirloom/passes/attention": _PASSES,
    "frontend/spirloom/passes/patterns": _PASSES,
    "frontend/spirloom/partition": _CORE,
    "frontend/spirloom/family": _PASSES,
    "frontend/spirloom/hf": _FAMILY,
    "frontend/spirloom/gguf": (*_FAMILY, "frontend/spirloom/hf"),
    "frontend/spirloom/llm": (
        *_FAMILY,
        "frontend/spirloom/gguf",
        "frontend/spirloom/hf",
        "frontend/spirloom/runtime",
    ),
    "frontend/spirloom/serve": (
        "frontend/spirloom",
        "frontend/spirloom/llm",
        "frontend/spirloom/runtime",
    ),
    "frontend/spirloom/onnx": _ONNX,
    "frontend/spirloom/onnx/constant_folding": _ONNX,
    "frontend/spirloom/onnx/ops": _ONNX,
    "frontend/spirloom/onnx/partition": (*_ONNX, *_SEGMENTS),
    "frontend/spirloom/torch": (*_TORCH, *_SEGMENTS, "frontend/spirloom/torch_device"),
    "frontend/spirloom/torch_device": ("frontend/spirloom", "frontend/spirloom/runtime"),
    "frontend/spirloom/torch/rules": _TORCH,
    "frontend/spirloom/pte": _TORCH,
    "frontend/spirloom/executorch": (*_TORCH, *_SEGMENTS),
    "frontend/spirloom/profiling": _CORE,
    "frontend/spirloom/report": (
        *_CORE,
        "codegen/**",
        "frontend/spirloom/commands",
        "frontend/spirloom/profiling",
        "frontend/spirloom/runtime",
    ),
    "frontend/spirloom/casegen": _CORE,
    "frontend/spirloom/facts": (*_CORE, "frontend/spirloom/casegen"),
    "frontend/spirloom/new_op": (*_CORE, "codegen/**", "frontend/spirloom/casegen"),
    "frontend/spirloom/debug": (*_TORCH, "frontend/spirloom/runtime"),
    "frontend/spirloom/verify": (
        *_CORE,
        "codegen/**",
        "frontend/spirloom/casegen",
        "frontend/spirloom/commands",
        "frontend/spirloom/debug",
        "frontend/spirloom/runtime",
    ),
    "frontend/spirloom/formats": (
        *_FAMILY,
        *_ONNX,
        "frontend/spirloom/gguf",
        "frontend/spirloom/hf",
        "frontend/spirloom/pte",
        "frontend/spirloom/runtime",
        "frontend/spirloom/torch",
    ),
    "frontend/spirloom/commands": (ANY,),
    # Development tools and clients.
    "tools": ("spec_model/**", "codegen/**", "frontend/spirloom", "tests/**"),
    "tools/device_cases": ("benchmarks/**",),
    "tools/docs": ("frontend/spirloom", "frontend/spirloom/report", "codegen/**"),
    "tools/template_coverage": ("tools", "spec_model/**", "codegen/**"),
    "tools/shader_diff": ("tools", "tools/drivers", "tools/vendors", "codegen/**"),
    "tools/function_errors": _CORE,
    "tools/mutation": (),
    "tools/sweep": (ANY,),
    "tools/drivers": ("tools", "tests/**"),
    "tools/modules": ("tools/drivers", "codegen/**"),
    "tools/vendors": ("tools", "tools/drivers", "codegen/**", "spec_model/**"),
    "benchmarks/**": (ANY,),
    "examples/**": (ANY,),
    "tests/**": (ANY,),
}

_SUFFIXES = (".h", ".cpp", ".c")
_CPP_ROOTS = ("runtime", "compiler", "llm", "tools", "integrations")
_PYTHON_ROOTS = ("spec_model", "codegen", "op_specs", "frontend", "tools")
_CLIENT_ROOTS = ("benchmarks", "examples", "tests")  # Python only
# Directories that "spirloom/x.h" may be in.
_INCLUDE_DIRECTORIES = (
    "runtime/include",
    "tools/dev-templates/include",
    "integrations/executorch/include",
    "integrations/external_memory/include",
    "integrations/pool/include",
)
_INCLUDE = re.compile(r'^\s*#include "([^"]+)"', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Dependency:
    """An include or an import; `target` is the path of the file or directory."""

    file: str
    line: int
    target: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {module_of(self.file)} uses {self.target}"


def module_of(path: str) -> str | None:
    """The key of MODULES for the directory of a file; None if the table does not cover it."""
    directory = Path(path).parent
    if str(directory) in MODULES:
        return str(directory)
    ancestors = (f"{ancestor}/**" for ancestor in (directory, *directory.parents))
    return next((key for key in ancestors if key in MODULES), None)


def _files(roots: tuple[str, ...], suffixes: tuple[str, ...]) -> list[str]:
    found = (file for root in roots for file in (ROOT / root).rglob("*"))
    return sorted(str(file.relative_to(ROOT)) for file in found if file.suffix in suffixes)


@cache
def sources() -> tuple[str, ...]:
    """The C++ and Python files that the table covers, as paths from the root."""
    return (*_files(_CPP_ROOTS, _SUFFIXES), *_files((*_PYTHON_ROOTS, *_CLIENT_ROOTS), (".py",)))


def _included_file(name: str) -> str | None:
    """The file of an include; None if it is generated."""
    if not name.startswith("spirloom/"):
        return name if (ROOT / name).is_file() else None
    paths = (f"{directory}/{name}" for directory in _INCLUDE_DIRECTORIES)
    return next((path for path in paths if (ROOT / path).is_file()), None)


def _includes(file: str, text: str) -> Iterator[Dependency]:
    for match in _INCLUDE.finditer(text):
        target = _included_file(match[1])
        if target is not None:
            yield Dependency(file, text.count("\n", 0, match.start(1)) + 1, target)


def _python_file(name: str) -> str | None:
    """The file of a module or package of the repository; None for other packages."""
    path = "/".join(name.split("."))
    for base in ("", "frontend/"):
        for candidate in (f"{base}{path}.py", f"{base}{path}/__init__.py"):
            if (ROOT / candidate).is_file():
                return candidate
        if (ROOT / base / path).is_dir() and path != "spirloom":
            return f"{base}{path}/__init__.py"
    return None


def _imported_names(node: ast.AST, package: tuple[str, ...]) -> Iterator[str]:
    """The modules of an import, each with the imported name if that is a module itself."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        above = package[: len(package) - node.level + 1] if node.level else ()
        base = ".".join((*above, *((node.module,) if node.module else ())))
        for alias in node.names:
            submodule = f"{base}.{alias.name}"
            yield submodule if _python_file(submodule) else base


def _imports(file: str, text: str) -> Iterator[Dependency]:
    package = Path(file.removeprefix("frontend/")).parent.parts
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for name in _imported_names(node, package):
                target = _python_file(name)
                if target is not None:
                    yield Dependency(file, node.lineno, target)


@cache
def dependencies() -> tuple[Dependency, ...]:
    """All includes and imports of files of the repository, except generated ones."""
    found: list[Dependency] = []
    for file in sources():
        read = _imports if file.endswith(".py") else _includes
        found += read(file, (ROOT / file).read_text())
    return tuple(found)


def is_allowed(dependency: Dependency) -> bool:
    here, there = module_of(dependency.file), module_of(dependency.target)
    if here is None or there is None:
        return False
    return here == there or there in MODULES[here] or ANY in MODULES[here]


def table() -> str:
    """A line for each module: the number of its files and its dependencies, with their counts."""
    files = Counter(module_of(file) for file in sources())
    edges = Counter((module_of(found.file), module_of(found.target)) for found in dependencies())
    lines = []
    for module in MODULES:
        others = (f"{other} {edges[module, other]}" for other in MODULES if other != module)
        used = ", ".join(other for other in others if not other.endswith(" 0"))
        lines.append(f"{module:40} {files[module]:3} files -> {used or 'none'}")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
