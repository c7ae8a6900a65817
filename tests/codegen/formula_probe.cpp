// Prints the values of formulas in the runtime; tests/codegen compares them with Python.
//
//   formula_probe values FILE   counted formulas over the names of expression_cases.py
//   formula_probe rich FILE     calls of the op of rich_spec.py, from its registry
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "runtime/ops/call_formulas.h"
#include "runtime/ops/formula_check.h"
#include "runtime/ops/registry_reader.h"
#include "runtime/pack/byte_reader.h"

namespace spirloom::ops {
namespace {

TensorDesc Tensor(DType dtype, Ints shape, bool present = true) {
  return {.dtype = dtype, .shape = shape, .present = present, .storage = Storage::kBuffer};
}

int Fail(const Status& status) {
  std::fprintf(stderr, "%s\n", status.message().c_str());
  return 1;
}

void PrintFloat(double value) {
  if (std::isnan(value)) value = std::numeric_limits<double>::quiet_NaN();
  std::printf("float %016llx\n", static_cast<unsigned long long>(std::bit_cast<uint64_t>(value)));
}

void PrintInts(const Ints& values) {
  std::printf("ints");
  for (const int64_t value : values) std::printf(" %lld", static_cast<long long>(value));
  std::printf("\n");
}

void PrintValue(const Value& value, ValueKind kind) {
  if (kind == ValueKind::kFloat) return PrintFloat(value.f);
  if (kind == ValueKind::kInts) return PrintInts(value.ints);
  std::printf("int %lld\n", static_cast<long long>(value.i));
}

// n, m, f, flag, s, v, x, scalar, gone and xs, as expression_cases.py has them.
int PrintValues(std::span<const std::byte> bytes) {
  const TensorDesc x = Tensor(DType::kF32, {2, 3, 5, 7});
  const TensorDesc scalar = Tensor(DType::kI32, {});
  const TensorDesc gone = Tensor(DType::kF32, {}, false);
  const TensorDesc first = Tensor(DType::kF32, {4, 3});
  const TensorDesc second = Tensor(DType::kF32, {9, 3});
  const std::array<const TensorDesc*, 2> xs{&first, &second};
  std::array<ArgInfo, 10> infos{};
  using enum ArgType;
  const std::array types{kInt,  kInt,    kFloat,  kBool,   kString,
                         kInts, kTensor, kTensor, kTensor, kTensorList};
  for (size_t i = 0; i < infos.size(); ++i) infos[i].type = types[i];
  std::array<Value, 10> args;
  args[0].i = 5;
  args[1].i = -3;
  args[2].f = 1.5;
  args[3].i = 1;
  args[4].s = "f16";
  args[5].ints = {4, 1, 7};
  args[6].tensor = &x;
  args[7].tensor = &scalar;
  args[8].tensor = &gone;
  args[9].tensors = xs;
  const Call call{args, {}};
  for (pack::ByteReader in(bytes); in.remaining() > 0;) {
    const Formula formula = in.Counted();
    const auto facts = CheckFormula(formula, {infos, {}, 0});
    if (!facts.ok()) return Fail(facts.status());
    Eval eval;
    FormulaEvaluator evaluator(eval, {}, call);
    const Value value = evaluator.Any(formula, facts->kind);
    if (eval.ok()) {
      PrintValue(value, facts->kind);
    } else {
      std::printf("error %s\n", eval.error().c_str());
    }
  }
  return 0;
}

// Calls spirloom.rich with x: f32 [2, 3, 4], w: f32 [5], two tensors xs, and these.
void PrintRich(const OpInfo& op, std::string_view mode, DType bias_dtype, bool has_bias,
               Ints dims) {
  const TensorDesc x = Tensor(DType::kF32, {2, 3, 4});
  const TensorDesc w = Tensor(DType::kF32, {5});
  const TensorDesc bias = Tensor(bias_dtype, {}, has_bias);
  const std::array<const TensorDesc*, 2> xs{&x, &w};
  std::array<Value, 8> args;
  args[0].tensor = &x;
  args[1].tensor = &w;
  args[2].tensors = xs;
  args[3].tensor = &bias;
  args[4].s = mode;
  args[5].ints = {6, 7};
  args[6].ints = dims;
  args[7].i = 1;
  const Call types{args, {}};
  CallFormulas inference(op, types);
  std::array<TensorDesc, 2> outputs;
  inference.Infer(outputs);
  if (!inference.status().ok()) {
    std::printf("error %s\n", inference.status().message().c_str());
    return;
  }
  for (const TensorDesc& y : outputs) {
    std::printf("%s ", ShortName(y.dtype));
    PrintInts(y.shape);
  }
  const std::array<const TensorDesc*, 2> out = {&outputs[0], &outputs[1]};
  const Call call{args, out};
  CallFormulas formulas(op, call);
  const KernelInfo& kernel = op.kernels[0];
  std::vector<std::byte> block(kernel.push_bytes);
  formulas.Push(kernel, Storage::kBuffer, 1, block);
  for (const std::byte b : block) std::printf("%02x", static_cast<unsigned>(b));
  std::array<int64_t, 3> grid{};
  formulas.Grid(kernel, Storage::kBuffer, 1, grid);
  std::printf("\n%d %d %d\n", static_cast<int>(grid[0]), static_cast<int>(grid[1]),
              static_cast<int>(grid[2]));
  std::vector<uint32_t> constants(kernel.constants.size());
  formulas.Constants(kernel, constants);
  for (const uint32_t constant : constants) std::printf("%x ", constant);
  std::printf("\n%d %d %llx\n", formulas.When(kernel) ? 1 : 0,
              static_cast<int>(formulas.Repeat(kernel)),
              static_cast<unsigned long long>(formulas.VariantKey(kernel, Storage::kBuffer)));
  const OperandInfo& packed = kernel.operands[1];
  std::vector<Value> pack_args(packed.pack_args.size());
  formulas.PackArgs(packed, pack_args);
  std::printf("%s %s %d %d %g\n", packed.name, packed.pack_op, pack_args[0].tensor == &w ? 1 : 0,
              pack_args[1].tensor == &w ? 1 : 0, pack_args[2].f);
  std::printf("%u %u %s\n", kernel.storages, kernel.push_bytes,
              formulas.status().message().c_str());
}

int PrintRichCalls(std::span<const std::byte> bytes) {
  const auto registry = ReadRegistry(bytes);
  if (!registry.ok()) return Fail(registry.status());
  const OpInfo& op = registry->ops.back();
  PrintRich(op, "i8", DType::kF32, false, {-1, 0});
  PrintRich(op, "i8", DType::kF16, true, {-1, 0});
  PrintRich(op, "i9", DType::kF32, false, {-1, 0});
  PrintRich(op, "i8", DType::kF32, false, {0, 1, 2, 3});
  return 0;
}

}  // namespace
}  // namespace spirloom::ops

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::ifstream file(argv[2], std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto bytes = std::as_bytes(std::span(text));
  const bool values = std::strcmp(argv[1], "values") == 0;
  return values ? spirloom::ops::PrintValues(bytes) : spirloom::ops::PrintRichCalls(bytes);
}
