#include "tests/unit/fake_library.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "runtime/ops/capability.h"
#include "tests/unit/runtime/pack_builder.h"

namespace spirloom::testing {
namespace {

using ops::Access;
using ops::ArgInfo;
using ops::ArgType;
using ops::Call;
using ops::Eval;
using ops::KernelInfo;
using ops::OperandInfo;
using ops::OperandSource;
using ops::OpInfo;
using ops::TensorDesc;
using ops::Value;

constexpr uint32_t kBufferBit = 1u << static_cast<uint32_t>(Storage::kBuffer);
constexpr uint32_t kTextureBit = 1u << static_cast<uint32_t>(Storage::kTexture3D);

enum KernelIndex : uint32_t { kAdd, kSum, kView, kLinear, kPack, kInt8, kCopy, kSumWide };

OperandInfo Input(const char* name, uint8_t index, Storage storage = Storage::kAuto) {
  OperandInfo operand{};
  operand.name = name;
  operand.source = OperandSource::kArg;
  operand.index = index;
  operand.storage = storage;
  return operand;
}

OperandInfo Output(bool own_storage = false) {
  OperandInfo operand{};
  operand.name = "y";
  operand.source = OperandSource::kOutput;
  operand.access = Access::kWrite;
  operand.own_storage = own_storage;
  return operand;
}

OperandInfo Packed(const char* name, uint8_t index) {
  OperandInfo operand = Input(name, index, Storage::kBuffer);
  operand.pack_op = "test.pack";
  operand.pack_args = [](Eval&, const Call& call, std::span<Value> args) {
    args[0].tensor = call.args[1].tensor;
  };
  operand.pack_arg_count = 1;
  return operand;
}

uint64_t KeyOf(KernelIndex kernel, DType dtype, Storage storage, Storage output = Storage::kAuto) {
  return uint64_t{kernel} << 32 | static_cast<uint64_t>(dtype) |
         static_cast<uint64_t>(storage) << 4 | static_cast<uint64_t>(output) << 8;
}

template <KernelIndex kKernel>
uint64_t VariantKey(Eval&, const Call& call, Storage storage) {
  return KeyOf(kKernel, call.outputs[0]->dtype, storage,
               kKernel == kCopy ? call.outputs[0]->storage : Storage::kAuto);
}

void Grid(Eval& eval, const Call& call, Storage, int64_t, std::span<int64_t, 3> invocations) {
  invocations[0] = eval.Prod(call.outputs[0]->shape);
  invocations[1] = invocations[2] = 1;
}

void InferLikeFirst(Eval&, const Call& call, std::span<TensorDesc> outputs) {
  outputs[0].dtype = call.args[0].tensor->dtype;
  outputs[0].shape = call.args[0].tensor->shape;
}

void InferBroadcast(Eval& eval, const Call& call, std::span<TensorDesc> outputs) {
  outputs[0].dtype = call.args[0].tensor->dtype;
  outputs[0].shape = eval.Broadcast(call.args[0].tensor->shape, call.args[1].tensor->shape);
}

void InferView(Eval& eval, const Call& call, std::span<TensorDesc> outputs) {
  outputs[0].dtype = call.args[0].tensor->dtype;
  outputs[0].shape = call.args[1].ints;
  const int64_t before = eval.Prod(call.args[0].tensor->shape);
  const int64_t after = eval.Prod(call.args[1].ints);
  eval.Check(before == after, "numel(x) == prod(shape)", before, after);
}

template <KernelIndex kKernel>
KernelInfo MakeKernel(const char* name, std::span<const OperandInfo> operands, uint32_t storages) {
  KernelInfo kernel{};
  kernel.name = name;
  kernel.index = kKernel;
  kernel.operands = operands;
  kernel.storages = storages;
  kernel.variant_key = VariantKey<kKernel>;
  kernel.grid = Grid;
  return kernel;
}

OpInfo MakeOp(const char* name, std::span<const ArgInfo> args, std::span<const KernelInfo> kernels,
              void (*infer)(Eval&, const Call&, std::span<TensorDesc>), int32_t view_of = -1) {
  OpInfo op{};
  op.name = op.short_name = name;
  op.args = args;
  op.output_count = 1;
  op.infer = infer;
  op.view_of = view_of;
  op.kernels = kernels;
  return op;
}

const std::array<ArgInfo, 1> kX{{{"x", ArgType::kTensor, false}}};
const std::array<ArgInfo, 2> kTwoTensors{
    {{"a", ArgType::kTensor, false}, {"b", ArgType::kTensor, false}}};
const std::array<ArgInfo, 2> kXAndShape{
    {{"x", ArgType::kTensor, false}, {"shape", ArgType::kInts, false}}};
const std::array<ArgInfo, 2> kXAndDType{
    {{"x", ArgType::kTensor, false}, {"dtype", ArgType::kString, false}}};

const std::array<OperandInfo, 2> kUnary{Input("x", 0), Output()};
const std::array<OperandInfo, 3> kBinary{Input("a", 0), Input("b", 1), Output()};
const std::array<OperandInfo, 3> kLinearOperands{Input("x", 0), Packed("w", 1), Output()};
const std::array<OperandInfo, 2> kCopyOperands{Input("x", 0), Output(/*own_storage=*/true)};

const KernelInfo kAddKernel = MakeKernel<kAdd>("add", kBinary, kBufferBit | kTextureBit);
// Preferred in subgroups of 32.
KernelInfo MakeSumWide() {
  KernelInfo kernel = MakeKernel<kSumWide>("sum_wide", kUnary, kBufferBit);
  kernel.prefer = [](Eval&, const Call&, const ops::DeviceFacts& device) {
    return device.subgroup_size == 32;
  };
  return kernel;
}

const std::array<KernelInfo, 2> kSumKernels{MakeSumWide(),
                                            MakeKernel<kSum>("sum", kUnary, kBufferBit)};
const KernelInfo kViewKernel = MakeKernel<kView>("view", kUnary, kBufferBit);
const KernelInfo kLinearKernel =
    MakeKernel<kLinear>("linear", kLinearOperands, kBufferBit | kTextureBit);
const KernelInfo kPackKernel = MakeKernel<kPack>("pack", kUnary, kBufferBit);
const KernelInfo kInt8Kernel = MakeKernel<kInt8>("int8", kUnary, kBufferBit);
const KernelInfo kCopyKernel = MakeKernel<kCopy>("copy", kCopyOperands, kBufferBit | kTextureBit);

// In order of name.
const std::array<OpInfo, 7> kOps{
    MakeOp("spirloom.copy", kXAndDType, {&kCopyKernel, 1}, InferLikeFirst),
    MakeOp("test.add", kTwoTensors, {&kAddKernel, 1}, InferBroadcast),
    MakeOp("test.int8", kX, {&kInt8Kernel, 1}, InferLikeFirst),
    MakeOp("test.linear", kTwoTensors, {&kLinearKernel, 1}, InferLikeFirst),
    MakeOp("test.pack", kX, {&kPackKernel, 1}, InferLikeFirst),
    MakeOp("test.sum", kX, kSumKernels, InferLikeFirst),
    MakeOp("test.view", kXAndShape, {&kViewKernel, 1}, InferView, /*view_of=*/0)};

PackBytes MakeVariants() {
  using enum Storage;
  struct Variant {
    uint8_t bindings;
    uint64_t needs;
    uint8_t vulkan_minor = 1;
  };
  std::map<uint64_t, Variant> variants;
  for (Storage storage : {kBuffer, kTexture3D}) {
    variants[KeyOf(kAdd, DType::kF32, storage)] = {3, 0};
    variants[KeyOf(kLinear, DType::kF32, storage)] = {3, 0};
    for (Storage to : {kBuffer, kTexture3D}) {
      variants[KeyOf(kCopy, DType::kF32, storage, to)] = {2, 0};
    }
  }
  for (KernelIndex kernel : {kSum, kSumWide, kView, kPack}) {
    variants[KeyOf(kernel, DType::kF32, kBuffer)] = {2, 0};
  }
  variants[KeyOf(kInt8, DType::kF32, kBuffer)] = {
      2, ops::CapabilityBit(ops::Capability::kStorageBuffer8Bit), /*vulkan_minor=*/2};
  std::vector<uint64_t> keys;
  for (const auto& [key, variant] : variants) keys.push_back(key);
  PackBytes pack = MakePack(keys, /*library_digest=*/1);
  size_t i = 0;
  for (const auto& [key, variant] : variants) {
    ops::VariantRow& row = pack.variant(i++);
    row.binding_count = variant.bindings;
    std::fill(std::begin(row.bindings), std::end(row.bindings), uint8_t{0});
    row.constant_count = 0;
    row.push_bytes = 0;
    row.needs = variant.needs;
    row.vulkan_minor = variant.vulkan_minor;
  }
  Reseal(pack);
  return pack;
}

}  // namespace

const ops::OpIndex& FakeIndex() {
  static PackBytes pack = MakeVariants();
  static const ShaderLibrary library{"fake", kOps, pack.bytes(), 1};
  static const Result<ops::OpIndex> index = [] {
    const std::array<const ShaderLibrary*, 1> libraries{&library};
    return ops::OpIndex::Create(libraries);
  }();
  return *index;
}

}  // namespace spirloom::testing
