"""What a generated file computes for one call, compared with what Python computes."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

from codegen import DType, EvalError, TensorType
from codegen.cpp import CppWriter
from tests.codegen.rich_spec import FILES
from tests.codegen.small_project import Project
from tests.codegen.test_emitted import ROOT, SOURCES, compile_cpp

# Calls spirloom.rich with x: f32 [2, 3, 4], w: f32 [5], two tensors xs, no bias, and dims [-1, 0].
DRIVER = """
#include <array>
#include <cstdio>

#include "runtime/ops/registry.h"

namespace spirloom::ops::generated_Mine::op_rich {
extern const ArgInfo kArgs[8];
extern const KernelInfo kKernels[1];
void Infer(Eval& eval, const Call& call, std::span<TensorDesc> outputs);
}

using namespace spirloom;
using namespace spirloom::ops;
using namespace spirloom::ops::generated_Mine::op_rich;

namespace {

TensorDesc Tensor(DType dtype, Ints shape, bool present = true) {
  return {.dtype = dtype, .shape = shape, .present = present, .storage = Storage::kBuffer};
}

void Call1(std::string_view mode, DType bias_dtype, bool has_bias, Ints dims) {
  const TensorDesc x = Tensor(DType::kF32, {2, 3, 4}), w = Tensor(DType::kF32, {5});
  const TensorDesc bias = Tensor(bias_dtype, {}, has_bias);
  const TensorDesc* xs[2] = {&x, &w};
  std::array<Value, 8> args;
  args[0].tensor = &x;
  args[1].tensor = &w;
  args[2].tensors = xs;
  args[3].tensor = &bias;
  args[4].s = mode;
  args[5].ints = {6, 7};
  args[6].ints = dims;
  args[7].i = 1;
  Eval eval;
  std::array<TensorDesc, 2> outputs;
  Infer(eval, {args, {}}, outputs);
  if (!eval.ok()) {
    std::printf("error %s\\n", eval.error().c_str());
    return;
  }
  for (const TensorDesc& y : outputs) {
    std::printf("%s", ShortName(y.dtype));
    for (int64_t size : y.shape) std::printf(" %lld", static_cast<long long>(size));
    std::printf("\\n");
  }
  const std::array<const TensorDesc*, 2> out = {&outputs[0], &outputs[1]};
  const Call call{args, out};
  const KernelInfo& kernel = kKernels[0];
  std::array<std::byte, 16> block{};
  kernel.push(eval, call, Storage::kBuffer, 1, block);
  for (std::byte b : block) std::printf("%02x", static_cast<unsigned>(b));
  std::array<int64_t, 3> grid{};
  kernel.grid(eval, call, Storage::kBuffer, 1, grid);
  std::printf("\\n%d %d %d\\n", static_cast<int>(grid[0]), static_cast<int>(grid[1]),
              static_cast<int>(grid[2]));
  std::array<uint32_t, 3> constants{};
  kernel.constants(eval, call, constants);
  std::printf("%x %x %x\\n", constants[0], constants[1], constants[2]);
  std::printf("%d %d %llx\\n", kernel.when(eval, call) ? 1 : 0,
              static_cast<int>(kernel.repeat(eval, call)),
              static_cast<unsigned long long>(kernel.variant_key(eval, call, Storage::kBuffer)));
  const OperandInfo& packed = kernel.operands[1];
  std::array<Value, 3> pack_args;
  packed.pack_args(eval, call, pack_args);
  std::printf("%s %s %d %d %g\\n", packed.name, packed.pack_op, pack_args[0].tensor == &w ? 1 : 0,
              pack_args[1].tensor == &w ? 1 : 0, pack_args[2].f);
  std::printf("%u %u %u %s\\n", kernel.storages, kernel.push_bytes, kernel.constant_count,
              eval.error().c_str());
}

}  // namespace

int main() {
  Call1("i8", DType::kF32, false, {-1, 0});
  Call1("i8", DType::kF16, true, {-1, 0});
  Call1("i9", DType::kF32, false, {-1, 0});
  Call1("i8", DType::kF32, false, {0, 1, 2, 3});
}
"""


def error_of(project: Project, **changes: object) -> str:
    """Why Python refuses the call."""
    x, w = TensorType((2, 3, 4), DType.F32), TensorType((5,), DType.F32)
    call: dict[str, object] = {"x": x, "w": w, "xs": [x, w], "mode": "i8", "sizes": [6, 7]}
    try:
        project.load().ops["spirloom.rich"].infer({**call, "dims": [-1, 0], **changes})
    except EvalError as error:
        return f"error {error}"
    return ""


def test_generated_functions(tmp_path: Path) -> None:
    project = Project(tmp_path)
    for name, text in FILES.items():
        project.write(name, text)
    library = project.load()
    writer = CppWriter(ROOT / "templates/cpp", "mine", "Mine", 1)
    project.write("rich.cpp", writer.op_text(library.ops["spirloom.rich"]))
    project.write("driver.cpp", DRIVER)
    sources = [tmp_path / "rich.cpp", tmp_path / "driver.cpp", *SOURCES]
    compile_cpp(*sources, "-o", tmp_path / "driver")
    run = subprocess.run([tmp_path / "driver"], capture_output=True, text=True, check=True)
    kernel_index = library.ops["spirloom.rich"].kernels[0].index
    assert run.stdout.splitlines() == [
        "i8 3",
        "f32 2 3 4",
        struct.pack("<iiif", 3, 1, 7, 3.0).hex(),
        "24 2 1",
        "4 7f800000 1",
        f"0 2 {kernel_index << 32 | 0x1310:x}",
        "w aten.add.Tensor 1 1 1",
        "2 16 3 ",
        error_of(project, bias=TensorType((), DType.F16)),
        error_of(project, mode="i9"),
        error_of(project, dims=[0, 1, 2, 3]),
    ]
    assert run.stdout.count("error ") == 3
