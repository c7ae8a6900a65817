#include "runtime/graph/plan/call_lowering.h"

#include "runtime/base/error.h"
#include "runtime/graph/file/tensor_size.h"
#include "runtime/graph/plan/call_text.h"
#include "runtime/ops/call_formulas.h"

namespace spirloom::graph {
namespace {

constexpr const char* kCopyOp = "spirloom.copy";

std::vector<Arg> CopyArgs(uint32_t tensor, DType dtype) {
  std::vector<Arg> args(2);
  args[0].kind = ArgKind::kTensor;
  args[0].tensors = {tensor};
  args[1].kind = ArgKind::kString;
  args[1].s = ShortName(dtype);
  return args;
}

}  // namespace

Result<uint32_t> CallLowering::AddTensor(const std::string& name, const ops::TensorDesc& desc) {
  PlanTensor tensor;
  tensor.name = name;
  tensor.desc = desc;
  SPIRLOOM_TRY_ASSIGN(tensor.size, DenseSize(desc));
  plan_.tensors.push_back(std::move(tensor));
  return static_cast<uint32_t>(plan_.tensors.size() - 1);
}

Result<std::vector<ops::TensorDesc>> CallLowering::Infer(const ops::OpInfo& op,
                                                         const std::vector<Arg>& args) {
  const CallFrame frame(op, args, {}, plan_.tensors);
  std::vector<ops::TensorDesc> outputs(op.outputs.size());
  ops::CallFormulas formulas(op, frame.call());
  formulas.Infer(outputs);
  SPIRLOOM_TRY(formulas.status());
  return outputs;
}

Result<bool> CallLowering::CanCompute(const ops::OpEntry& op, const std::vector<Arg>& args,
                                      uint32_t output, Storage storage) {
  const std::vector<uint32_t> outputs{output};
  const CallFrame frame(*op.op, args, outputs, plan_.tensors);
  SPIRLOOM_TRY_ASSIGN(KernelSearch search,
                      ChooseKernel(index_, op, frame.call(), storage, device_, {kernels_, {}}));
  return search.choice.kernel != nullptr;
}

std::string_view CallLowering::TunedKernel(const ops::OpInfo& op, const std::vector<Arg>& args,
                                           Storage storage) const {
  if (tuned_.empty() || op.kernels.size() < 2) return {};
  const auto found = tuned_.find(CallText(op, args, plan_.tensors, storage));
  return found == tuned_.end() ? std::string_view() : std::string_view(found->second);
}

Result<CallLowering::NodeChoice> CallLowering::ChooseStorage(
    const CallFrame& frame, const ops::OpEntry& op, const std::vector<Arg>& args,
    const std::vector<uint32_t>& outputs, const std::vector<StorageChoice>& choices) {
  NodeChoice best;
  for (const StorageChoice& choice : choices) {
    for (uint32_t output : outputs) tensor(output).desc.storage = choice.output;
    const KernelWishes wishes{kernels_, TunedKernel(*op.op, args, choice.node)};
    SPIRLOOM_TRY_ASSIGN(KernelSearch search,
                        ChooseKernel(index_, op, frame.call(), choice.node, device_, wishes));
    if (search.choice.kernel != nullptr) return NodeChoice{std::move(search), choice.node};
    if (search.failure > best.search.failure) best.search = std::move(search);
  }
  return best;
}

Status CallLowering::Lower(const ops::OpEntry& op, std::vector<Arg> args,
                           std::vector<uint32_t> outputs, const std::vector<StorageChoice>& choices,
                           const std::string& name) {
  const CallFrame frame(*op.op, args, outputs, plan_.tensors);
  SPIRLOOM_TRY_ASSIGN(const NodeChoice chosen, ChooseStorage(frame, op, args, outputs, choices));
  const KernelChoice& choice = chosen.search.choice;
  if (choice.kernel == nullptr) return NoteFailure(*op.op, chosen.search, outputs);
  PlanNode node;
  node.name = name;
  node.op = &op;
  node.kernel = choice.kernel;
  node.variant = choice.variant;
  node.storage = chosen.storage;
  SPIRLOOM_TRY(BindOperands(node, frame, args, outputs));
  node.args = std::move(args);
  node.outputs = std::move(outputs);
  node.is_constant = AllConstant(node.args);
  for (uint32_t output : node.outputs) tensor(output).is_constant = node.is_constant;
  SPIRLOOM_TRY(CheckBufferSizes(node));
  plan_.nodes.push_back(std::move(node));
  return Status();
}

Status CallLowering::NoteFailure(const ops::OpInfo& op, const KernelSearch& search,
                                 const std::vector<uint32_t>& outputs) {
  for (uint32_t output : outputs) plan_.tensors[output].desc.storage = Storage::kBuffer;
  switch (search.failure) {
    case ChoiceFailure::kLibrary:
      missing_.AddVariant(op.name, *search.missing, search.missing_key, node_text_);
      return Status();
    case ChoiceFailure::kDevice:
      missing_.AddCapability(op.name, search.lacking, node_text_);
      return Status();
    case ChoiceFailure::kNone:
    case ChoiceFailure::kStorage:
    case ChoiceFailure::kWhen:
      break;
  }
  return Error(StatusCode::kUnsupported,
               {"No kernel of ", op.name,
                (search.failure == ChoiceFailure::kWhen
                     ? " can compute this call."
                     : " has a storage that can hold this call's tensors.")});
}

Result<uint32_t> CallLowering::InStorage(uint32_t tensor, Storage storage) {
  if (plan_.tensors[tensor].storage() == storage) return tensor;
  const auto key = std::make_pair(tensor, storage);
  if (auto found = converted_.find(key); found != converted_.end()) return found->second;
  const ops::OpEntry* op = index_.FindOp(kCopyOp);
  if (op == nullptr) {
    missing_.AddOp(kCopyOp, plan_.tensors[tensor].desc.dtype, storage, node_text_);
    return tensor;
  }
  const Storage from = plan_.tensors[tensor].storage();
  const std::string name = plan_.tensors[tensor].name;
  ops::TensorDesc desc = plan_.tensors[tensor].desc;
  desc.storage = storage;
  SPIRLOOM_TRY_ASSIGN(const uint32_t output, AddTensor(name, desc));
  std::vector<Arg> args = CopyArgs(tensor, desc.dtype);
  SPIRLOOM_TRY(CheckArgs(*op->op, args));
  if (op->op->outputs.size() != 1) {
    return Error(StatusCode::kInternal, {kCopyOp, " has not one output."});
  }
  SPIRLOOM_TRY(Lower(*op, std::move(args), {output}, {{from, storage}}, name));
  if (!plan_.tensors[output].is_constant) ++plan_.layout_copies;
  converted_[key] = output;
  return output;
}
}  // namespace spirloom::graph
