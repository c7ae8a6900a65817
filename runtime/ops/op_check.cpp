#include "runtime/ops/op_check.h"

#include <algorithm>
#include <string_view>

#include "runtime/base/error.h"

namespace spirloom::ops {
namespace {

// Programs print names and write them into JSON and file names.
Status CheckName(const char* what, std::string_view name) {
  const bool printable =
      !name.empty() && std::ranges::all_of(name, [](char c) { return c > ' ' && c < 0x7f; });
  if (printable) return Status();
  return InvalidFile(
      {"The name of ", what, " is empty, or has a byte that is no printable ASCII."});
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
    return InvalidFile({"Its steps take ", lets, " lets of ", op.lets.size(), "."});
  }
  return op.outputs.empty() ? InvalidFile({"It has no output."}) : Status();
}

Status CheckView(const OpInfo& op) {
  if (op.view_of < 0) return Status();
  const auto arg = static_cast<size_t>(op.view_of);
  if (arg >= op.args.size() || op.args[arg].type != ArgType::kTensor || op.args[arg].optional) {
    return InvalidFile({"It is a view of argument ", arg, ", which is no tensor."});
  }
  if (op.outputs.size() == 1) return Status();
  return InvalidFile({"It is a view with ", op.outputs.size(), " outputs; a view has one."});
}

Status CheckOperand(const OpInfo& op, const OperandInfo& operand) {
  const bool output = operand.source == OperandSource::kOutput;
  const size_t count = output ? op.outputs.size() : op.args.size();
  if (operand.index >= count) {
    return InvalidFile({"Operand '", operand.name, "' is number ", operand.index, " of ", count,
                        (output ? " outputs." : " arguments.")});
  }
  const ArgType type = output ? ArgType::kTensor : op.args[operand.index].type;
  if (type != ArgType::kTensor && type != ArgType::kTensorList) {
    return InvalidFile({"Operand '", operand.name, "' is no tensor."});
  }
  if (operand.pack_op != nullptr && (output || operand.list)) {
    return InvalidFile({"Operand '", operand.name, "' is packed, but no tensor argument."});
  }
  if (output || operand.access == Access::kRead) return Status();
  return InvalidFile({"Operand '", operand.name,
                      "' is written, but an argument: others may read the same tensor."});
}

bool Writes(const OperandInfo& operand, size_t output) {
  return operand.source == OperandSource::kOutput && operand.index == output &&
         operand.access != Access::kRead;
}

Status CheckPush(const KernelInfo& kernel) {
  for (const PushInfo& push : kernel.push) {
    const uint32_t size = 4 * std::max(push.count, uint32_t{1});
    if (push.offset % 4 == 0 && push.offset + size <= kernel.push_bytes) continue;
    return InvalidFile({"A push constant of ", size, " bytes at ", push.offset,
                        " does not fit the block of ", kernel.push_bytes, "."});
  }
  return Status();
}

Status CheckKernel(const OpInfo& op, const KernelInfo& kernel) {
  // Of a kernel that a selection leaves out, a library knows no more than when it would compute.
  if (kernel.operands.empty()) return Status();
  for (const OperandInfo& operand : kernel.operands) SPIRLOOM_TRY(CheckOperand(op, operand));
  for (size_t i = 0; i < op.outputs.size(); ++i) {
    const auto writes = [i](const OperandInfo& operand) { return Writes(operand, i); };
    if (std::ranges::any_of(kernel.operands, writes)) continue;
    return InvalidFile({"Output ", i, " of ", op.outputs.size(), " is written by no operand."});
  }
  return CheckPush(kernel);
}

}  // namespace

Status CheckOp(const OpInfo& op) {
  SPIRLOOM_TRY(CheckNames(op));
  SPIRLOOM_TRY(CheckSteps(op));
  SPIRLOOM_TRY(CheckView(op));
  for (const KernelInfo& kernel : op.kernels) {
    Status status = CheckKernel(op, kernel);
    if (!status.ok()) {
      return std::move(status).While(Concat({"checking the kernel ", Quote(kernel.name)}));
    }
  }
  return Status();
}

}  // namespace spirloom::ops
