#include "runtime/graph/plan/call_frame.h"

#include "runtime/base/error.h"

namespace spirloom::graph {
namespace {

const ops::TensorDesc kAbsent = [] {
  ops::TensorDesc desc;
  desc.present = false;
  return desc;
}();

ArgKind KindOf(ops::ArgType type) {
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

Status CheckArgs(const ops::OpInfo& op, std::span<const Arg> args) {
  if (args.size() != op.args.size()) {
    return Error(StatusCode::kInvalidFile,
                 {"Number of arguments (", args.size(), ") differs from that of ", op.name, " (",
                  op.args.size(),
                  "). Import the model again: the operator is another than when it was imported."});
  }
  for (size_t i = 0; i < args.size(); ++i) {
    const ArgKind wanted = KindOf(op.args[i].type);
    if (args[i].kind == wanted) continue;
    if (args[i].kind == ArgKind::kNone && op.args[i].optional) continue;
    return InvalidFile({"Argument ", op.args[i].name, " of ", op.name, " is a ", Name(wanted),
                        ", not ", Name(args[i].kind), "."});
  }
  return Status();
}

CallFrame::CallFrame(const ops::OpInfo& op, std::span<const Arg> args,
                     std::span<const uint32_t> outputs, const std::deque<PlanTensor>& tensors)
    : op_(op), tensors_(tensors), args_(args) {
  values_.reserve(args.size());
  for (size_t i = 0; i < args.size(); ++i) values_.push_back(ToValue(args[i], op.args[i].type));
  for (uint32_t output : outputs) outputs_.push_back(&tensors[output].desc);
  call_.args = values_;
  call_.outputs = outputs_;
}

ops::Value CallFrame::ToValue(const Arg& arg, ops::ArgType type) {
  ops::Value value;
  switch (type) {
    case ops::ArgType::kTensor:
      value.tensor = arg.tensors.empty() ? &kAbsent : &tensors_[arg.tensors[0]].desc;
      break;
    case ops::ArgType::kTensorList: {
      std::vector<const ops::TensorDesc*>& list = lists_.emplace_back();
      for (uint32_t tensor : arg.tensors) list.push_back(&tensors_[tensor].desc);
      value.tensors = list;
      break;
    }
    case ops::ArgType::kInt:
    case ops::ArgType::kBool:
      value.i = arg.ints.empty() ? 0 : arg.ints[0];
      break;
    case ops::ArgType::kFloat:
      value.f = arg.f;
      break;
    case ops::ArgType::kInts:
      value.ints = ops::Ints(std::span<const int64_t>(arg.ints));
      break;
    case ops::ArgType::kString:
      value.s = arg.s;
      break;
  }
  return value;
}

Result<uint32_t> CallFrame::Find(const ops::TensorDesc* tensor) const {
  for (const Arg& arg : args_) {
    for (uint32_t candidate : arg.tensors) {
      if (&tensors_[candidate].desc == tensor) return candidate;
    }
  }
  return Error(StatusCode::kInternal, {"A formula returns a tensor that is not of its call."});
}

Result<Arg> CallFrame::ToArg(const ops::Value& value, ops::ArgType type) const {
  Arg arg;
  arg.kind = KindOf(type);
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
