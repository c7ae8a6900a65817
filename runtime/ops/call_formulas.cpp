#include "runtime/ops/call_formulas.h"

#include <algorithm>
#include <optional>
#include <string>

#include "runtime/base/data_types.h"
#include "runtime/base/error.h"

namespace spirloom::ops {
namespace {

constexpr uint64_t kNoSuchCode = (1 << kAxisBits) - 1;  // not used by any variant

}  // namespace

CallFormulas::CallFormulas(const OpInfo& op, const Call& call, const DeviceProperties& device)
    : op_(op), call_(call), evaluator_(eval_, op.lets, call, device) {}

Status CallFormulas::status() const {
  return eval_.ok() ? Status() : InvalidFile("{}", eval_.error());
}

DType CallFormulas::ToDType(int64_t value) {
  if (const std::optional<DType> dtype = DTypeOfValue(value)) return *dtype;
  eval_.Fail("Value {} is not a dtype.", value);
  return DType::kF32;
}

void CallFormulas::CheckTensor(const ArgInfo& arg, const TensorDesc& tensor) {
  if (!tensor.present) return;
  eval_.CheckDType(arg.name, tensor.dtype, ToDType(evaluator_.Int(arg.dtype)));
}

void CallFormulas::CheckArg(const ArgInfo& arg, const Value& value) {
  if (!arg.dtype.empty() && arg.type == ArgType::kTensor) CheckTensor(arg, *value.tensor);
  if (!arg.dtype.empty() && arg.type == ArgType::kTensorList) {
    for (const TensorDesc* tensor : value.tensors) CheckTensor(arg, *tensor);
  }
  if (arg.length < 0) return;
  const auto size = static_cast<int64_t>(value.ints.size());
  if (size == arg.length) return;
  const std::string text = Format("len({}) == {}", arg.name, arg.length);
  eval_.Check(false, text.c_str(), size, arg.length);
}

void CallFormulas::Check(const StepInfo& step) {
  const bool holds = evaluator_.Int(step.condition) != 0;
  if (step.left.empty()) return eval_.Check(holds, step.text);
  if (holds) return;
  const int64_t left = evaluator_.Int(step.left);
  eval_.Check(holds, step.text, left, evaluator_.Int(step.right));
}

void CallFormulas::Infer(std::span<TensorDesc> outputs) {
  for (size_t i = 0; i < op_.args.size(); ++i) CheckArg(op_.args[i], call_.args[i]);
  size_t lets = 0;
  for (const StepInfo& step : op_.steps) {
    if (!eval_.ok()) return;
    if (step.is_check) {
      Check(step);
    } else {
      evaluator_.Let(lets++);
    }
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    outputs[i].shape = evaluator_.List(op_.outputs[i].shape);
    outputs[i].dtype = ToDType(evaluator_.Int(op_.outputs[i].dtype));
    outputs[i].present = true;
  }
}

int64_t CallFormulas::ViewOffset() {
  return op_.view_offset.empty() ? 0 : evaluator_.Int(op_.view_offset);
}

bool CallFormulas::When(const KernelInfo& kernel) {
  return kernel.when.empty() || evaluator_.Int(kernel.when) != 0;
}

bool CallFormulas::Prefer(const KernelInfo& kernel) {
  return kernel.prefer.empty() || evaluator_.Int(kernel.prefer) != 0;
}

int64_t CallFormulas::LoopIterations(const KernelInfo& kernel, Storage storage) {
  if (kernel.loop_iterations.empty()) return 0;
  evaluator_.SetDispatch(storage, /*i=*/0);
  return evaluator_.Int(kernel.loop_iterations);
}

uint64_t CallFormulas::AxisCode(const AxisInfo& axis, Storage storage) {
  const auto value = static_cast<uint64_t>(axis.of.empty() ? static_cast<int64_t>(storage)
                                                           : evaluator_.Int(axis.of));
  if (axis.values.empty()) return std::min(value, kNoSuchCode);
  const auto index = std::ranges::find(axis.values, value) - axis.values.begin();
  return index < std::ssize(axis.values) ? static_cast<uint64_t>(index) : kNoSuchCode;
}

uint64_t CallFormulas::VariantKey(const KernelInfo& kernel, Storage storage) {
  uint64_t key = uint64_t{kernel.index} << 32;
  uint32_t shift = 0;
  for (const AxisInfo& axis : kernel.axes) {
    key |= AxisCode(axis, storage) << shift;
    shift += kAxisBits;
  }
  return key;
}

int64_t CallFormulas::Repeat(const KernelInfo& kernel) {
  return kernel.repeat.empty() ? 1 : evaluator_.Int(kernel.repeat);
}

int64_t CallFormulas::ConcatOffset(const KernelInfo& kernel, Storage storage, int64_t i) {
  if (kernel.concat_offset.empty()) return -1;
  evaluator_.SetDispatch(storage, i);
  return evaluator_.Int(kernel.concat_offset);
}

void CallFormulas::Push(const KernelInfo& kernel, Storage storage, int64_t i,
                        std::span<std::byte> block) {
  evaluator_.SetDispatch(storage, i);
  for (const PushInfo& member : kernel.push) {
    if (member.kind == ValueKind::kInts) {
      eval_.WriteInts(block, member.offset, evaluator_.List(member.value), member.count);
    } else if (member.kind == ValueKind::kFloat) {
      eval_.WriteFloat(block, member.offset, evaluator_.Float(member.value));
    } else {
      eval_.WriteInt(block, member.offset, evaluator_.Int(member.value));
    }
  }
}

void CallFormulas::Grid(const KernelInfo& kernel, Storage storage, int64_t i,
                        std::span<int64_t, 3> invocations) {
  evaluator_.SetDispatch(storage, i);
  for (size_t k = 0; k < invocations.size(); ++k) {
    invocations[k] = evaluator_.Int(kernel.grid[k]);
  }
}

void CallFormulas::Constants(const KernelInfo& kernel, std::span<uint32_t> values) {
  for (size_t k = 0; k < values.size(); ++k) {
    const ConstantInfo& constant = kernel.constants[k];
    values[k] = constant.kind == ValueKind::kFloat
                    ? Eval::FloatBits(evaluator_.Float(constant.value))
                    : eval_.IntBits(evaluator_.Int(constant.value));
  }
}

void CallFormulas::PackArgs(const OperandInfo& operand, std::span<Value> args) {
  for (size_t k = 0; k < args.size(); ++k) {
    const PackArgInfo& arg = operand.pack_args[k];
    if (!arg.value.empty()) args[k] = evaluator_.Any(arg.value, arg.kind);
  }
}

}  // namespace spirloom::ops
