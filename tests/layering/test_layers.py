"""Includes and imports follow the table in layers.py."""

from __future__ import annotations

import re

import pytest

from tests.layering import layers


def test_every_directory_is_in_the_table() -> None:
    assert not {file for file in layers.sources() if layers.module_of(file) is None}


def test_every_module_of_the_table_has_sources() -> None:
    assert not layers.MODULES.keys() - {layers.module_of(file) for file in layers.sources()}


def test_the_table_names_modules_only() -> None:
    named = {other for others in layers.MODULES.values() for other in others}
    assert not named - layers.MODULES.keys() - {layers.ANY}


def test_includes_and_imports_follow_the_table() -> None:
    assert not [str(found) for found in layers.dependencies() if not layers.is_allowed(found)]


def test_libraries_use_no_streams() -> None:
    """Streams, locales and the functions of std::filesystem add 0.6 MB to programs with a static
    libstdc++. path.h has inline functions for programs.
    """
    directories = ("runtime", "integrations/executorch/backend", "integrations/java")
    headers = re.compile(r"#include <(?:\w*stream|filesystem|iomanip|locale|regex)>")
    found = {
        path.relative_to(layers.ROOT).as_posix()
        for directory in directories
        for path in (layers.ROOT / directory).rglob("*")
        if path.suffix in {".h", ".cpp"} and headers.search(path.read_text(encoding="utf-8"))
    }
    assert found == {"runtime/base/path.h"}


def test_includes_and_imports_are_found() -> None:
    found = {(found.file, found.target) for found in layers.dependencies()}
    assert {
        ("runtime/vulkan/buffer.h", "runtime/vulkan/device.h"),
        ("runtime/base/error.h", "runtime/include/spirloom/status.h"),
        ("compiler/driver/main.cpp", "compiler/driver/compiler.h"),
        ("frontend/spirloom/serve/app.py", "frontend/spirloom/errors.py"),
        ("tools/device_cases/__main__.py", "benchmarks/gpu/bundle.py"),
    } <= found


@pytest.mark.parametrize(
    ("file", "target", "allowed"),
    [
        ("runtime/vulkan/buffer.h", "runtime/pack/pack_format.h", True),
        ("runtime/pack/shader_pack.h", "runtime/vulkan/buffer.h", False),
        ("runtime/ops/op_index.h", "runtime/vulkan/buffer.h", False),
        ("runtime/graph/plan/plan.h", "runtime/graph/model/model_state.h", False),
        ("runtime/include/spirloom/model.h", "runtime/base/text.h", False),
        ("runtime/base/text.h", "llm/tokenizer/utf8.h", False),
        ("runtime/base/text.h", "tools/common/table.h", False),
        ("runtime/base/text.h", "compiler/base/target.h", False),
        ("llm/model/language_model.h", "llm/tokenizer/utf8.h", True),
        ("llm/model/language_model.h", "runtime/graph/file/graph.h", False),
        ("compiler/spirv/optimize.h", "compiler/base/target.h", True),
        ("compiler/spirv/optimize.h", "compiler/checks/reflect.h", False),
        ("compiler/glsl/glsl_to_spirv.h", "compiler/spirv/optimize.h", False),
        ("runtime/unknown/file.h", "runtime/base/text.h", False),
        ("runtime/base/text.h", "runtime/unknown/file.h", False),
        ("codegen/select/files.py", "codegen/errors.py", True),
        ("spec_model/types.py", "codegen/errors.py", False),
        ("codegen/errors.py", "frontend/spirloom/ir.py", False),
        ("frontend/spirloom/runtime/native.py", "spec_model/types.py", False),
    ],
)
def test_the_rule(file: str, target: str, allowed: bool) -> None:
    assert layers.is_allowed(layers.Dependency(file, 1, target)) is allowed


def test_the_documentation_names_every_module() -> None:
    text = (layers.ROOT / "docs/explanation/architecture.md").read_text()
    described = ("runtime/", "compiler/", "llm/", "spec_model/", "codegen/")
    paths = {module.removesuffix("**").rstrip("/") + "/" for module in layers.MODULES}
    assert not {path for path in paths if path.startswith(described) and f"`{path}`" not in text}


@pytest.mark.parametrize("op", ["rnn_layer", "gru_layer", "lstm_layer", "quantize", "dequantize"])
def test_only_the_layers_of_all_importers_name_an_operator(op: str) -> None:
    """Importers and passes translate recurrent and quantized layers with spirloom.layers."""
    directories = ("layers", "onnx", "passes", "pte", "torch")
    found = {
        path.parent.name
        for directory in directories
        for path in (layers.ROOT / "frontend/spirloom" / directory).rglob("*.py")
        if f'"spirloom.{op}"' in path.read_text(encoding="utf-8")
    }
    assert found == {"layers"}
