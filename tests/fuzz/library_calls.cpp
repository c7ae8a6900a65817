#include "tests/fuzz/library_calls.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "runtime/ops/call_formulas.h"
#include "tests/fuzz/fuzzing.h"
#include "tests/fuzz/plan_stages.h"

namespace spirloom::fuzz {
namespace {

using namespace ops;  // NOLINT: all of it is about ops

// Limit of tested operators per library: an untrusted one may have thousands.
constexpr size_t kMaxOps = 64;
constexpr int32_t kMaxInts = 64;

// A call of the op with tensors of one dtype, small numeric values and empty strings.
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
  formulas.ConcatOffset(kernel, Storage::kBuffer, 1);
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

// The graph tensors 0 and 1 are an input and a constant.
graph::Arg ArgOf(const ArgInfo& info) {
  graph::Arg arg;
  switch (info.type) {
    case ArgType::kTensor:
      return {.kind = graph::ArgKind::kTensor, .tensors = {0}, .ints = {}, .s = {}, .sizes = {}};
    case ArgType::kTensorList:
      return {
          .kind = graph::ArgKind::kTensorList, .tensors = {0, 1}, .ints = {}, .s = {}, .sizes = {}};
    case ArgType::kInt:
    case ArgType::kBool:
      arg.kind = info.type == ArgType::kInt ? graph::ArgKind::kInt : graph::ArgKind::kBool;
      arg.ints = {1};
      return arg;
    case ArgType::kFloat:
      arg.kind = graph::ArgKind::kFloat;
      arg.f = 0.5;
      return arg;
    case ArgType::kInts:
      arg.kind = graph::ArgKind::kInts;
      arg.ints.assign(static_cast<size_t>(std::min(info.length < 0 ? 2 : info.length, kMaxInts)),
                      1);
      return arg;
    case ArgType::kString:
      arg.kind = graph::ArgKind::kString;
      arg.s = "f32";
      return arg;
  }
  return arg;
}

uint32_t AddTensor(graph::Graph& graph, const std::string& name, Shape shape, bool inferred) {
  graph::Tensor tensor;
  tensor.name = name;
  tensor.size = sizeof(float);
  for (int64_t dim : shape) tensor.size *= static_cast<size_t>(dim);
  tensor.shape = std::move(shape);
  tensor.inferred = inferred;
  graph.tensors.push_back(std::move(tensor));
  return static_cast<uint32_t>(graph.tensors.size() - 1);
}

// One call of the op, with outputs as inferred for f32.
graph::Graph GraphOf(const OpInfo& op) {
  static const std::vector<std::byte> weights(2 * 3 * 4 * 5 * sizeof(float));
  graph::Graph graph;
  const uint32_t x = AddTensor(graph, "x", {2, 3, 4, 5}, /*inferred=*/false);
  const uint32_t w = AddTensor(graph, "w", {2, 3, 4, 5}, /*inferred=*/false);
  graph.tensors[w].constant = 0;
  graph.constants = {weights};
  graph.inputs = {x};
  graph::Node node;
  node.op = op.name;
  for (const ArgInfo& arg : op.args) node.args.push_back(ArgOf(arg));
  for (size_t i = 0; i < op.outputs.size(); ++i) {
    node.outputs.push_back(AddTensor(graph, "y", {}, /*inferred=*/true));
  }
  graph.outputs = node.outputs;
  graph.nodes.push_back(std::move(node));
  return graph;
}

}  // namespace

void EvaluateFormulas(const OpIndex& index) {
  for (const OpEntry& entry : index.ops()) {
    Require(index.FindOp(entry.op->name) == &entry, "an op is found by its name");
    const SomeCall some(*entry.op);
    const Call call = some.get();
    std::vector<TensorDesc> outputs(entry.op->outputs.size());
    CallFormulas formulas(*entry.op, call);
    formulas.Infer(outputs);
    formulas.ViewOffset();
    for (const KernelInfo& kernel : entry.op->kernels) {
      EvaluateKernel(*entry.op, call, kernel, index, entry);
    }
  }
}

void LowerCalls(const OpIndex& index) {
  FuzzedDevice device;
  device.traits.capabilities = UINT64_MAX;
  device.max_block = uint64_t{1} << 40;
  device.options.max_dispatches = 4096;
  size_t tried = 0;
  for (const OpEntry& entry : index.ops()) {
    if (++tried > kMaxOps) return;
    const graph::Graph graph = GraphOf(*entry.op);
    for (Storage storage : {Storage::kBuffer, Storage::kTexture3D, Storage::kTexture2D}) {
      device.options.storage = storage;
      RunStages(graph, index, device, /*well_formed_ops=*/false);
    }
  }
}

}  // namespace spirloom::fuzz
