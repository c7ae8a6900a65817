// Binds the operands of a node: storage conversion and packing.
#include <algorithm>

#include "runtime/base/error.h"
#include "runtime/graph/plan/call_key.h"
#include "runtime/graph/plan/call_lowering.h"

namespace spirloom::graph {
namespace {

// Returns the arguments of the operand's packing op.
Result<std::vector<Arg>> PackArgs(const ops::OperandInfo& operand, const ops::OpInfo& pack_op,
                                  OpCall& call) {
  std::vector<ops::Value> values(operand.pack_args.size());
  call.formulas().PackArgs(operand, values);
  SPIRLOOM_TRY(call.formulas().status());
  if (values.size() != pack_op.args.size()) {
    return Error(StatusCode::kInternal, "Packing of {} and {} disagree on the number of arguments.",
                 operand.name, pack_op.name);
  }
  std::vector<Arg> args;
  for (size_t i = 0; i < values.size(); ++i) {
    SPIRLOOM_TRY_ASSIGN(Arg arg, call.ToArg(values[i], pack_op.args[i].type));
    args.push_back(std::move(arg));
  }
  SPIRLOOM_TRY(CheckArgs(pack_op, args));
  return args;
}

}  // namespace

Result<std::vector<TracedPack>> PacksOf(const ops::OpIndex& index, const ops::KernelInfo& kernel,
                                        OpCall& call) {
  std::vector<uint32_t> tensors;
  for (const Arg& arg : call.args()) {
    tensors.insert(tensors.end(), arg.tensors.begin(), arg.tensors.end());
  }
  std::vector<TracedPack> packs;
  for (size_t i = 0; i < kernel.operands.size(); ++i) {
    const ops::OperandInfo& operand = kernel.operands[i];
    const ops::OpEntry* op = operand.pack_op == nullptr ? nullptr : index.FindOp(operand.pack_op);
    const bool is_arg = operand.source == ops::OperandSource::kArg;
    if (op == nullptr || (is_arg && call.args()[operand.index].tensors.empty())) continue;
    TracedPack& pack = packs.emplace_back();
    pack.operand = i;
    SPIRLOOM_TRY_ASSIGN(pack.args, PackArgs(operand, *op->op, call));
    for (Arg& arg : pack.args) {
      for (uint32_t& tensor : arg.tensors) {
        tensor = static_cast<uint32_t>(std::ranges::find(tensors, tensor) - tensors.begin());
      }
    }
  }
  return packs;
}

Status CallLowering::BindOperands(PlanNode& node, OpCall& call) {
  std::vector<Arg> bound = call.args();
  for (const ops::OperandInfo& operand : node.kernel->operands) {
    node.operands.emplace_back();
    if (operand.source == ops::OperandSource::kOutput) {
      BindOutput(node, operand, call.outputs()[operand.index]);
      continue;
    }
    if (operand.source == ops::OperandSource::kIntermediate) {
      SPIRLOOM_TRY_ASSIGN(const uint32_t result, Pack(operand, call, operand.storage, node.name));
      node.operands.back().push_back(result);
      continue;
    }
    for (uint32_t& tensor : bound[operand.index].tensors) {
      SPIRLOOM_TRY(BindInput(node, operand, call, tensor));
    }
    if (node.operands.back().empty() && !operand.list) node.operands.back().push_back(kNoTensor);
  }
  call.Rebind(std::move(bound));
  return Status();
}

void CallLowering::BindOutput(PlanNode& node, const ops::OperandInfo& operand, uint32_t output) {
  ops::TensorDesc& desc = tensor(output).desc;
  desc.storage = OperandStorage(operand, desc, node.storage);
  node.operands.back().push_back(output);
}

Status CallLowering::BindInput(PlanNode& node, const ops::OperandInfo& operand, OpCall& call,
                               uint32_t& tensor) {
  const Storage storage = OperandStorage(operand, plan_.tensors[tensor].desc, node.storage);
  if (operand.pack_op != nullptr) {
    SPIRLOOM_TRY_ASSIGN(const uint32_t packed, Pack(operand, call, storage, node.name));
    node.operands.back().push_back(packed);
    return Status();
  }
  SPIRLOOM_TRY_ASSIGN(tensor, InStorage(tensor, storage));
  node.operands.back().push_back(tensor);
  return Status();
}

bool CallLowering::AllConstant(const std::vector<Arg>& args) const {
  for (const Arg& arg : args) {
    for (uint32_t tensor : arg.tensors) {
      if (!plan_.tensors[tensor].is_constant) return false;
    }
  }
  return true;
}

Status CallLowering::CheckBufferSizes(const PlanNode& node) const {
  for (const std::vector<uint32_t>& tensors : node.operands) {
    for (uint32_t tensor : tensors) {
      if (tensor == kNoTensor) continue;
      const PlanTensor& bound = plan_.tensors[tensor];
      if (bound.storage() != Storage::kBuffer ||
          bound.buffer_size() <= device_.max_storage_buffer_range) {
        continue;
      }
      return Error(StatusCode::kUnsupported,
                   "Size ({}) of tensor {} exceeds the device's maxStorageBufferRange ({}).",
                   bound.buffer_size(), Quoted{bound.name}, device_.max_storage_buffer_range);
    }
  }
  return Status();
}

Result<uint32_t> CallLowering::Pack(const ops::OperandInfo& operand, OpCall& call, Storage storage,
                                    const std::string& name) {
  const ops::OpEntry* op = index_.FindOp(operand.pack_op);
  if (op == nullptr) {
    const DType dtype = plan_.tensors[call.outputs()[0]].desc.dtype;
    missing_.AddOp(operand.pack_op, dtype, storage, node());
    return kNoTensor;
  }
  SPIRLOOM_TRY_ASSIGN(std::vector<Arg> args, PackArgs(operand, *op->op, call));
  const std::string key = CallKey(operand.pack_op, args, storage);
  if (auto found = packed_.find(key); found != packed_.end()) return found->second;
  SPIRLOOM_TRY_ASSIGN(const uint32_t packed, AddPacked(*op, std::move(args), storage, name));
  packed_[key] = packed;
  return packed;
}

Result<uint32_t> CallLowering::AddPacked(const ops::OpEntry& op, std::vector<Arg> args,
                                         Storage storage, const std::string& name) {
  OpCall call = Call(op, std::move(args), {});
  SPIRLOOM_TRY_ASSIGN(const std::vector<ops::TensorDesc> outputs, Infer(call));
  if (outputs.size() != 1) {
    return Error(StatusCode::kInternal, "Packing op {} must have one output.", op.op->name);
  }
  SPIRLOOM_TRY_ASSIGN(const uint32_t output, AddTensor(name, outputs[0]));
  call.SetOutputs({output});
  std::vector<StorageChoice> choices;
  for (Storage node : StoragesFrom(storage)) choices.push_back({node, storage});
  SPIRLOOM_TRY(Lower(call, choices, name));
  return InStorage(output, storage);
}
}  // namespace spirloom::graph
