#include "runtime/graph/plan/op_call.h"

#include <algorithm>
#include <cassert>
#include <span>

#include "runtime/base/error.h"

namespace spirloom::graph {
namespace {

const ops::TensorDesc kAbsent = [] {
  ops::TensorDesc desc;
  desc.present = false;
  return desc;
}();

ArgKind ArgKindOf(ops::ArgType type) {
  switch (type) {
    case ops::ArgType::kTensor:
      return ArgKind::kTensor;
    case ops::ArgType::kTensorList:
      return ArgKind::kTensorList;
    case ops::ArgType::kInt:
      return ArgKind::kInt;
    case ops::ArgType::kFloat:
      return ArgKind::kFloat;
    case ops::ArgType::kBool:
      return ArgKind::kBool;
    case ops::ArgType::kInts:
      return ArgKind::kInts;
    case ops::ArgType::kString:
      return ArgKind::kString;
  }
  return ArgKind::kNone;
}

}  // namespace

std::vector<Arg> CompleteArgs(const ops::OpInfo& op, std::vector<Arg> args) {
  if (args.size() >= op.args.size()) return args;
  const auto rest = std::span(op.args).subspan(args.size());
  if (std::ranges::all_of(rest, &ops::ArgInfo::optional)) args.resize(op.args.size());
  return args;
}

Status CheckArgs(const ops::OpInfo& op, std::span<const Arg> args) {
  if (args.size() != op.args.size()) {
    return Error(StatusCode::kInvalidFile,
                 "Number of arguments ({}) differs from that of {} ({}). The operator has changed "
                 "since the import; import the model again.",
                 args.size(), op.name, op.args.size());
  }
  for (size_t i = 0; i < args.size(); ++i) {
    const ArgKind expected = ArgKindOf(op.args[i].type);
    if (args[i].kind == expected) continue;
    if (args[i].kind == ArgKind::kNone && op.args[i].optional) continue;
    return InvalidFile("Argument {} of {} is of kind {}; expected {}.", op.args[i].name, op.name,
                       Name(args[i].kind), Name(expected));
  }
  return Status();
}

OpCall::OpCall(const ops::OpEntry& op, std::vector<Arg> args, std::vector<uint32_t> outputs,
               const std::deque<PlanTensor>& tensors, const ops::DeviceProperties& device)
    : entry_(op),
      tensors_(tensors),
      args_(std::move(args)),
      values_(args_.size()),
      lists_(args_.size()),
      formulas_(*op.op, call_, device) {
  assert(CheckArgs(*op.op, args_).ok());
  for (size_t i = 0; i < args_.size(); ++i) {
    const Arg& arg = args_[i];
    SetTensors(arg, op.op->args[i].type, i);
    values_[i].i = arg.ints.empty() ? 0 : arg.ints[0];
    values_[i].f = arg.f;
    values_[i].s = arg.s;
    if (arg.kind == ArgKind::kInts) values_[i].ints = ops::Ints(std::span(arg.ints));
  }
  call_.args = values_;
  SetOutputs(std::move(outputs));
}

void OpCall::SetTensors(const Arg& arg, ops::ArgType type, size_t i) {
  lists_[i].clear();
  for (uint32_t tensor : arg.tensors) lists_[i].push_back(&tensors_[tensor].desc);
  if (type == ops::ArgType::kTensorList) values_[i].tensors = lists_[i];
  if (type == ops::ArgType::kTensor) {
    values_[i].tensor = lists_[i].empty() ? &kAbsent : lists_[i][0];
  }
}

void OpCall::SetOutputs(std::vector<uint32_t> outputs) {
  outputs_ = std::move(outputs);
  output_descs_.clear();
  for (uint32_t output : outputs_) output_descs_.push_back(&tensors_[output].desc);
  call_.outputs = output_descs_;
}

void OpCall::Rebind(std::vector<Arg> args) {
  assert(args.size() == args_.size());
  bool changed = false;
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i].tensors == args_[i].tensors) continue;
    changed = true;
    args_[i].tensors = std::move(args[i].tensors);
    SetTensors(args_[i], op().args[i].type, i);
  }
  if (changed) formulas_.InvalidateTensors();
}

Result<uint32_t> OpCall::Find(const ops::TensorDesc* tensor) const {
  for (const Arg& arg : args_) {
    for (uint32_t candidate : arg.tensors) {
      if (&tensors_[candidate].desc == tensor) return candidate;
    }
  }
  return Error(StatusCode::kInternal,
               "A formula returns a tensor that is not an argument of its call.");
}

Result<Arg> OpCall::ToArg(const ops::Value& value, ops::ArgType type) const {
  Arg arg;
  arg.kind = ArgKindOf(type);
  switch (type) {
    case ops::ArgType::kTensor: {
      if (value.tensor == nullptr || !value.tensor->present) {
        arg.kind = ArgKind::kNone;
        break;
      }
      SPIRLOOM_TRY_ASSIGN(const uint32_t tensor, Find(value.tensor));
      arg.tensors.push_back(tensor);
      break;
    }
    case ops::ArgType::kTensorList:
      for (const ops::TensorDesc* desc : value.tensors) {
        SPIRLOOM_TRY_ASSIGN(const uint32_t tensor, Find(desc));
        arg.tensors.push_back(tensor);
      }
      break;
    case ops::ArgType::kInt:
    case ops::ArgType::kBool:
      arg.ints.push_back(value.i);
      break;
    case ops::ArgType::kFloat:
      arg.f = value.f;
      break;
    case ops::ArgType::kInts:
      arg.ints.assign(value.ints.begin(), value.ints.end());
      break;
    case ops::ArgType::kString:
      arg.s = std::string(value.s);
      break;
  }
  return arg;
}

}  // namespace spirloom::graph
