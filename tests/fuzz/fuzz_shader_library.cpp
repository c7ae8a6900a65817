// Opens arbitrary bytes as a shader library; whatever is accepted must be safe to use. Digests are
// not compared: they would keep the fuzzer out, and an attacker can compute them.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "runtime/ops/call_formulas.h"
#include "runtime/ops/op_index.h"
#include "runtime/pack/image_types.h"
#include "runtime/pack/spirv_words.h"
#include "runtime/pack/texel_reads.h"

namespace {

using spirloom::Storage;
using namespace spirloom::ops;   // NOLINT: all of it is about packs and registries
using namespace spirloom::pack;  // NOLINT: likewise

void Require(bool condition) {
  if (!condition) std::abort();
}

// Bytes as a mapped file has them.
class AlignedCopy {
 public:
  AlignedCopy(const uint8_t* data, size_t size) : words_((size + 7) / 8), size_(size) {
    if (size > 0) std::memcpy(words_.data(), data, size);
  }
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(words_)).first(size_); }

 private:
  std::vector<uint64_t> words_;
  size_t size_;
};

void ReadModules(const ShaderPack& pack) {
  for (const VariantRow& row : pack.variants()) {
    Require(!pack.Name(row).empty() || pack.Name(row).data() != nullptr);
    Require(pack.Find(row.key) == &row);
    auto spirv = pack.ReadSpirv(row);
    Require(spirv.ok() ? (*spirv)[0] == spirv::kMagic : !spirv.status().message().empty());
    if (!spirv.ok()) continue;
    Require(ReadAsTexels(*spirv, BindingTypesOf(row)).size() == row.binding_count);
  }
}

// A call of the op with tensors of one type, small numbers, and no text.
class SomeCall {
 public:
  explicit SomeCall(const OpInfo& op) {
    tensor_.shape = {2, 3, 4, 5};
    for (const ArgInfo& arg : op.args) args_.push_back(ValueOf(arg));
    outputs_.assign(op.outputs.size(), &tensor_);
  }
  SomeCall(const SomeCall&) = delete;
  SomeCall& operator=(const SomeCall&) = delete;
  Call get() const { return {args_, outputs_}; }

 private:
  Value ValueOf(const ArgInfo& arg) const {
    Value value{.tensor = &tensor_, .tensors = tensors_, .i = 1, .f = 0.5, .ints = {}, .s = ""};
    const int32_t length = arg.length < 0 ? 2 : arg.length;
    for (int32_t i = 0; i < length && value.ints.Append(1); ++i) {
    }
    return value;
  }

  TensorDesc tensor_;
  std::array<const TensorDesc*, 2> tensors_ = {&tensor_, &tensor_};
  std::vector<Value> args_;
  std::vector<const TensorDesc*> outputs_;
};

void EvaluateKernel(const OpInfo& op, const Call& call, const KernelInfo& kernel,
                    const OpIndex& index, const OpEntry& entry) {
  CallFormulas formulas(op, call);
  formulas.When(kernel);
  formulas.Prefer(kernel);
  index.FindVariant(entry, formulas.VariantKey(kernel, Storage::kBuffer));
  formulas.Repeat(kernel);
  std::vector<std::byte> block(kernel.push_bytes);
  std::array<int64_t, 3> grid{};
  std::vector<uint32_t> constants(kernel.constants.size());
  formulas.Push(kernel, Storage::kTexture3D, 0, block);
  formulas.Grid(kernel, Storage::kTexture3D, 0, grid);
  formulas.Constants(kernel, constants);
  for (const OperandInfo& operand : kernel.operands) {
    std::vector<Value> args(operand.pack_args.size());
    formulas.PackArgs(operand, args);
  }
}

void Evaluate(const OpIndex& index) {
  for (const OpEntry& entry : index.ops()) {
    Require(index.FindOp(entry.op->name) == &entry);
    const SomeCall call(*entry.op);
    std::vector<TensorDesc> outputs(entry.op->outputs.size());
    CallFormulas(*entry.op, call.get()).Infer(outputs);
    for (const KernelInfo& kernel : entry.op->kernels) {
      EvaluateKernel(*entry.op, call.get(), kernel, index, entry);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const AlignedCopy copy(data, size);
  const spirloom::ShaderLibrary library{.name = "fuzzed", .pack = copy.bytes()};
  const std::array<const spirloom::ShaderLibrary*, 1> libraries = {&library};
  const auto index = OpIndex::Create(libraries);
  if (!index.ok()) {
    Require(!index.status().message().empty());
    return 0;
  }
  ReadModules(index->libraries()[0].pack);
  Evaluate(*index);
  return 0;
}
