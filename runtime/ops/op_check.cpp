#include "runtime/ops/op_check.h"

#include <algorithm>
#include <string_view>

#include "runtime/base/error.h"

namespace spirloom::ops {
namespace {

// Programs print names, and write them to JSON and file names.
Status CheckName(const char* what, std::string_view name) {
  const bool printable =
      !name.empty() && std::ranges::all_of(name, [](char c) { return c > ' ' && c < 0x7f; });
  if (printable) return Status();
  return InvalidFile("The name of {} must be non-empty printable ASCII without spaces.", what);
}

Status CheckNames(const OpInfo& op) {
  SPIRLOOM_TRY(CheckName("the op", op.name));
  SPIRLOOM_TRY(CheckName("the op in ids", op.short_name));
  for (const ArgInfo& arg : op.args) SPIRLOOM_TRY(CheckName("an argument", arg.name));
  for (const KernelInfo& kernel : op.kernels) {
    SPIRLOOM_TRY(CheckName("a kernel", kernel.name));
    for (const OperandInfo& operand : kernel.operands) {
      SPIRLOOM_TRY(CheckName("an operand", operand.name));
      if (operand.pack_op != nullptr) SPIRLOOM_TRY(CheckName("a packing op", operand.pack_op));
    }
  }
  return Status();
}

Status CheckSteps(const OpInfo& op) {
  const auto lets = std::ranges::count(op.steps, false, &StepInfo::is_check);
  if (static_cast<size_t>(lets) != op.lets.size()) {
    return InvalidFile("Its steps contain {} lets; expected {}.", lets, op.lets.size());
  }
  return op.outputs.empty() ? InvalidFile("It has no output.") : Status();
}

bool IsTensor(const OpInfo& op, size_t arg) {
  return arg < op.args.size() && op.args[arg].type == ArgType::kTensor && !op.args[arg].optional;
}

Status CheckView(const OpInfo& op) {
  if (op.view_of < 0) return Status();
  if (!IsTensor(op, static_cast<size_t>(op.view_of))) {
    return InvalidFile("It is a view of argument {}, which is not a tensor.", op.view_of);
  }
  if (op.outputs.size() == 1) return Status();
  return InvalidFile("A view must have one output; it has {}.", op.outputs.size());
}

Status CheckUpdates(const OpInfo& op) {
  for (const OutputInfo& output : op.outputs) {
    if (output.updates < 0) continue;
    if (!IsTensor(op, static_cast<size_t>(output.updates))) {
      return InvalidFile("It updates argument {}, which is not a tensor.", output.updates);
    }
    if (op.view_of >= 0) return InvalidFile("A view must not update an argument.");
  }
  return Status();
}

// Checks the binding of a kernel whose op updates an argument.
Status CheckUpdating(const OpInfo& op, const KernelInfo& kernel, const OperandInfo& operand) {
  if (operand.source == OperandSource::kArg) {
    const auto updated = [&operand](const OutputInfo& output) {
      return output.updates >= 0 && static_cast<uint32_t>(output.updates) == operand.index;
    };
    if (std::ranges::none_of(op.outputs, updated)) return Status();
    return InvalidFile("Operand '{}' is an updated argument. Bind the output instead.",
                       operand.name);
  }
  if (operand.source == OperandSource::kIntermediate) return Status();
  if (op.outputs[operand.index].updates < 0) return Status();
  constexpr uint32_t kBuffers = 1U << static_cast<uint32_t>(Storage::kBuffer);
  const bool follows = operand.storage == Storage::kAuto && !operand.own_storage;
  if (operand.storage == Storage::kBuffer || (follows && kernel.storages == kBuffers)) {
    return Status();
  }
  return InvalidFile("Operand '{}' is an updated tensor; its storage must be buffer.",
                     operand.name);
}

Status CheckIntermediate(const OperandInfo& operand) {
  if (operand.pack_op != nullptr && operand.storage == Storage::kBuffer && !operand.own_storage &&
      operand.access == Access::kRead) {
    return Status();
  }
  return InvalidFile(
      "Operand '{}' is an intermediate; it must be a buffer that an op computes and the kernel "
      "only reads.",
      operand.name);
}

Status CheckOperand(const OpInfo& op, const OperandInfo& operand) {
  if (operand.source == OperandSource::kIntermediate) return CheckIntermediate(operand);
  const bool output = operand.source == OperandSource::kOutput;
  const size_t count = output ? op.outputs.size() : op.args.size();
  if (operand.index >= count) {
    return InvalidFile("Operand '{}' has index {}; the op has {}{}", operand.name, operand.index,
                       count, (output ? " outputs." : " arguments."));
  }
  const ArgType type = output ? ArgType::kTensor : op.args[operand.index].type;
  if (type != ArgType::kTensor && type != ArgType::kTensorList) {
    return InvalidFile("Operand '{}' is not a tensor.", operand.name);
  }
  if (operand.pack_op != nullptr && (output || operand.list)) {
    return InvalidFile("Operand '{}' is packed; it must be a tensor argument.", operand.name);
  }
  if (output || operand.access == Access::kRead) return Status();
  return InvalidFile(
      "Operand '{}' is an argument and must not be written: other nodes may read it.",
      operand.name);
}

bool Writes(const OperandInfo& operand, size_t output) {
  return operand.source == OperandSource::kOutput && operand.index == output &&
         operand.access != Access::kRead;
}

Status CheckPush(const KernelInfo& kernel) {
  for (const PushInfo& push : kernel.push) {
    const uint32_t size = 4 * std::max(push.count, uint32_t{1});
    if (push.offset % 4 == 0 && push.offset + size <= kernel.push_bytes) continue;
    return InvalidFile("A push constant of {} bytes at {} exceeds the block of {} bytes.", size,
                       push.offset, kernel.push_bytes);
  }
  return Status();
}

Status CheckKernel(const OpInfo& op, const KernelInfo& kernel) {
  // A kernel that is not selected in a build has no operands, only the conditions of its use.
  if (kernel.operands.empty()) return Status();
  for (const OperandInfo& operand : kernel.operands) {
    SPIRLOOM_TRY(CheckOperand(op, operand));
    SPIRLOOM_TRY(CheckUpdating(op, kernel, operand));
  }
  for (size_t i = 0; i < op.outputs.size(); ++i) {
    const auto writes = [i](const OperandInfo& operand) { return Writes(operand, i); };
    if (std::ranges::any_of(kernel.operands, writes)) continue;
    return InvalidFile("Output {} of {} is not written by any operand.", i, op.outputs.size());
  }
  return CheckPush(kernel);
}

}  // namespace

bool OpInfo::updates() const {
  return std::ranges::any_of(outputs, [](const OutputInfo& output) { return output.updates >= 0; });
}

Status CheckOp(const OpInfo& op) {
  SPIRLOOM_TRY(CheckNames(op));
  SPIRLOOM_TRY(CheckSteps(op));
  SPIRLOOM_TRY(CheckView(op));
  SPIRLOOM_TRY(CheckUpdates(op));
  for (const KernelInfo& kernel : op.kernels) {
    Status status = CheckKernel(op, kernel);
    if (!status.ok()) {
      return While(std::move(status), "checking the kernel {}", Quoted{kernel.name});
    }
  }
  return Status();
}

}  // namespace spirloom::ops
