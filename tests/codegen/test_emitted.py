"""Emitted C++ means what Python evaluates: both run over the same expressions."""

from __future__ import annotations

import os
import random
import shutil
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from codegen.cpp import CppWriter
from codegen.errors import Position, SpecError
from codegen.expr.check import parse
from codegen.expr.emit import emit
from codegen.expr.evaluate import evaluate
from codegen.expr.types import EvalError, Expr, Value
from codegen.yaml_reader import Scalar
from tests.codegen.expression_cases import BAD, GOOD, SCOPE, VALUES
from tests.codegen.random_expressions import expression
from tests.codegen.rich_spec import FILES
from tests.codegen.small_project import Project

ROOT = Path(__file__).resolve().parent.parent.parent
SOURCES = (*sorted((ROOT / "runtime/ops").glob("eval*.cpp")), ROOT / "runtime/types.cpp")
WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror")

PROGRAM = """
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>

#include "runtime/ops/eval.h"

namespace spirloom::ops {
namespace {

int64_t arg_n = 5, arg_m = -3;
double arg_f = 1.5;
bool arg_flag = true;
std::string_view arg_s = "f16";
Ints arg_v{4, 1, 7};

TensorDesc Tensor(DType dtype, Ints shape, bool present) {
  return {.dtype = dtype, .shape = shape, .present = present, .storage = Storage::kBuffer};
}
TensorDesc arg_x = Tensor(DType::kF32, {2, 3, 5, 7}, true);
TensorDesc arg_scalar = Tensor(DType::kI32, {}, true);
TensorDesc arg_gone = Tensor(DType::kF32, {}, false);
TensorDesc xs_0 = Tensor(DType::kF32, {4, 3}, true);
TensorDesc xs_1 = Tensor(DType::kF32, {9, 3}, true);
const TensorDesc* xs_list[2] = {&xs_0, &xs_1};
std::span<const TensorDesc* const> arg_xs = xs_list;

void Print(int64_t value) { std::printf("int %lld\\n", static_cast<long long>(value)); }
void Print(int value) { Print(int64_t{value}); }
void Print(bool value) { std::printf("bool %d\\n", value ? 1 : 0); }
void Print(double value) {
  if (std::isnan(value)) value = std::numeric_limits<double>::quiet_NaN();
  std::printf("float %016llx\\n", static_cast<unsigned long long>(std::bit_cast<uint64_t>(value)));
}
void Print(const Ints& value) {
  std::printf("ints");
  for (int64_t v : value) std::printf(" %lld", static_cast<long long>(v));
  std::printf("\\n");
}

template <typename Function>
void Run(Function function) {
  Eval eval;
  const auto value = function(eval);
  if (eval.ok()) {
    Print(value);
  } else {
    std::printf("error %s\\n", eval.error().c_str());
  }
}

}  // namespace
}  // namespace spirloom::ops

int main() {
  using namespace spirloom;
  using namespace spirloom::ops;
BODY
}
"""


def tree(text: str) -> Expr | None:
    """The tree; None if the text has no value whatever the names' values are."""
    try:
        return parse(Scalar(Position("f.yaml", 1, 1), text, False, True), SCOPE)
    except SpecError as error:
        harmless = ("has no value", "longer than", "are the same")
        assert any(words in str(error) for words in harmless), text
        return None


def python_line(node: Expr) -> str:
    """What Python makes of an expression, as the C++ program prints it."""
    try:
        return line_of(evaluate(node, VALUES))
    except EvalError as error:
        return f"error {error}"


def line_of(value: Value) -> str:
    """A value as the C++ program prints it."""
    match value:
        case bool():
            return f"bool {int(value)}"
        case int():
            return f"int {value}"
        case float():
            nan = value != value
            bits = struct.unpack("<Q", struct.pack("<d", float("nan") if nan else value))[0]
            return f"float {bits:016x}"
        case tuple():
            return " ".join(["ints", *map(str, value)])
    raise AssertionError(value)


def compile_cpp(*arguments: str | Path) -> None:
    """Runs the compiler, which must not warn."""
    compiler = shutil.which(os.environ.get("CXX", "")) or shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    flags = ["-std=c++20", "-O0", *WARNINGS, f"-I{ROOT}", f"-I{ROOT / 'runtime/include'}"]
    command = [compiler, *flags, *map(str, arguments)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr[:4000]


def run_cpp(nodes: Sequence[Expr], folder: Path) -> list[str]:
    """The lines of the C++ program."""
    bodies = [emit(node, lambda v: f"{v.origin}_{v.name}") for node in nodes]
    calls = [f"  Run([]([[maybe_unused]] Eval& eval) {{ return {body}; }});" for body in bodies]
    program = folder / "program.cpp"
    program.write_text(PROGRAM.replace("BODY", "\n".join(calls)))
    compile_cpp(program, *SOURCES, "-o", folder / "program")
    run = subprocess.run([folder / "program"], capture_output=True, text=True, check=True)
    return run.stdout.splitlines()


def test_cpp_and_python_agree(tmp_path: Path) -> None:
    source = random.Random(20)
    kinds = ["int", "float", "bool", "ints"]
    drawn = [expression(source, kinds[i % 4]) for i in range(400)]
    texts = [text for text, _ in GOOD + BAD]
    nodes = {text: node for text in [*texts, *drawn] if (node := tree(text)) is not None}
    expected = {text: python_line(node) for text, node in nodes.items()}
    lines = dict(zip(nodes, run_cpp(list(nodes.values()), tmp_path), strict=True))
    # With several errors in one expression, C++ may meet another one first.
    for text in drawn:
        if text in lines and lines[text].startswith("error"):
            lines[text] = expected[text] if expected[text].startswith("error") else lines[text]
    assert lines == expected
    values = [line for line in expected.values() if not line.startswith("error")]
    assert len(values) > 150
    assert len(expected) - len(values) > 50


def test_emitted_files_compile_without_warnings(tmp_path: Path) -> None:
    project = Project(tmp_path)
    for name, text in FILES.items():
        project.write(name, text)
    library = project.load()
    for name, text in CppWriter(ROOT / "templates/cpp", "mine", "Mine", 1).files(library):
        project.write(name, text)
        if name.endswith(".cpp"):
            compile_cpp("-fsyntax-only", tmp_path / name)
