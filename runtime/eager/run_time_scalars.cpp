#include "runtime/eager/run_time_scalars.h"

#include <algorithm>
#include <array>
#include <initializer_list>

namespace spirloom::eager {
namespace {

using ops::Formula;

// The encoded reference to an argument: the opcode and its index, a varint of one byte.
using Reference = std::array<std::byte, 2>;

constexpr size_t kMaxIndex = 127;

Reference ReferenceTo(size_t argument) {
  return {static_cast<std::byte>(ops::Opcode::kArg), static_cast<std::byte>(argument)};
}

// Whether the formula may refer to the argument. Other data may have the same bytes.
bool Mentions(Formula formula, const Reference& reference) {
  return std::search(formula.begin(), formula.end(), reference.begin(), reference.end()) !=
         formula.end();
}

bool IsReference(Formula formula, const Reference& reference) {
  return std::ranges::equal(formula, reference);
}

bool AnyMentions(std::initializer_list<Formula> formulas, const Reference& reference) {
  return std::ranges::any_of(formulas,
                             [&](Formula formula) { return Mentions(formula, reference); });
}

// Whether anything of the operator other than its kernels depends on the argument.
bool CallMentions(const ops::OpInfo& op, const Reference& reference) {
  const auto arg = [&](const ops::ArgInfo& each) { return Mentions(each.dtype, reference); };
  const auto let = [&](const ops::LetInfo& each) { return Mentions(each.value, reference); };
  const auto step = [&](const ops::StepInfo& each) {
    return AnyMentions({each.condition, each.left, each.right}, reference);
  };
  const auto output = [&](const ops::OutputInfo& each) {
    return AnyMentions({each.shape, each.dtype}, reference);
  };
  return Mentions(op.view_offset, reference) || std::ranges::any_of(op.args, arg) ||
         std::ranges::any_of(op.lets, let) || std::ranges::any_of(op.steps, step) ||
         std::ranges::any_of(op.outputs, output);
}

bool IsFloat(const ops::PushInfo& push, const Reference& reference) {
  return push.count == 0 && push.kind == ops::ValueKind::kFloat &&
         IsReference(push.value, reference);
}

// Whether the value is `float_bits(argument) if … else …`, where the condition does not depend on
// the argument: how specs push a `number`.
bool IsNumber(const ops::PushInfo& push, const Reference& reference) {
  const Formula value = push.value;
  if (push.count != 0 || push.kind != ops::ValueKind::kInt || value.empty()) return false;
  if (value[0] != static_cast<std::byte>(ops::Opcode::kIf)) return false;
  const std::array<std::byte, 4> then = {std::byte{3},  // bytes of the branch
                                         static_cast<std::byte>(ops::Opcode::kFloatBits),
                                         reference[0], reference[1]};
  const auto found = std::search(value.begin(), value.end(), then.begin(), then.end());
  return found != value.end() && !Mentions({value.begin(), found}, reference);
}

bool IsScalarOf(const ops::PushInfo& push, const Reference& reference) {
  return IsFloat(push, reference) || IsNumber(push, reference);
}

bool IsFloatingPoint(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

// Whether anything of the kernel other than push constants that are the argument depends on it.
bool KernelMentions(const ops::KernelInfo& kernel, const Reference& reference) {
  const auto axis = [&](const ops::AxisInfo& each) { return Mentions(each.of, reference); };
  const auto constant = [&](const ops::ConstantInfo& each) {
    return Mentions(each.value, reference);
  };
  const auto push = [&](const ops::PushInfo& each) {
    return Mentions(each.value, reference) && !IsScalarOf(each, reference);
  };
  const auto operand = [&](const ops::OperandInfo& each) {
    return std::ranges::any_of(each.pack_args, [&](const ops::PackArgInfo& packed) {
      return Mentions(packed.value, reference);
    });
  };
  return AnyMentions({kernel.when, kernel.prefer, kernel.loop_iterations, kernel.repeat,
                      kernel.concat_offset, kernel.grid[0], kernel.grid[1], kernel.grid[2]},
                     reference) ||
         std::ranges::any_of(kernel.axes, axis) || std::ranges::any_of(kernel.push, push) ||
         std::ranges::any_of(kernel.constants, constant) ||
         std::ranges::any_of(kernel.operands, operand);
}

}  // namespace

std::vector<bool> FindRunTimeScalars(const ops::OpInfo& op) {
  std::vector<bool> found(op.args.size(), false);
  for (size_t i = 0; i < op.args.size() && i <= kMaxIndex; ++i) {
    if (op.args[i].type != ops::ArgType::kFloat) continue;
    const Reference reference = ReferenceTo(i);
    found[i] = !CallMentions(op, reference) &&
               std::ranges::none_of(op.kernels, [&](const ops::KernelInfo& kernel) {
                 return KernelMentions(kernel, reference);
               });
  }
  return found;
}

std::optional<std::vector<PushedScalar>> PushedScalarsOf(
    const ops::KernelInfo& kernel, DType dtype, const std::vector<bool>& run_time_scalars) {
  std::vector<PushedScalar> pushed;
  for (uint32_t i = 0; i < run_time_scalars.size(); ++i) {
    if (!run_time_scalars[i]) continue;
    for (const ops::PushInfo& push : kernel.push) {
      if (!IsScalarOf(push, ReferenceTo(i))) continue;
      if (!IsFloat(push, ReferenceTo(i)) && !IsFloatingPoint(dtype)) return std::nullopt;
      pushed.push_back({i, push.offset});
    }
  }
  return pushed;
}

}  // namespace spirloom::eager
