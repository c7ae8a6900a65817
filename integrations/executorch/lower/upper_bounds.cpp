#include "integrations/executorch/lower/upper_bounds.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "integrations/executorch/lower/sym_ints.h"

namespace spirloom::delegate {
namespace {

using Known = std::map<uint32_t, int64_t>;

std::optional<int64_t> ValueOf(const Program& program, const Known& known, uint32_t id) {
  if (const auto* value = std::get_if<int64_t>(&program.values[id])) return *value;
  const auto found = known.find(id);
  return found == known.end() ? std::nullopt : std::optional(found->second);
}

// view_copy and expand_copy: the size arguments equal the result's shape.
void InferFromSizes(const Program& program, const Call& call, Known& known) {
  if (call.args.size() < 3) return;
  const auto* list = std::get_if<ValueList>(&program.values[call.args[1]]);
  const auto* result = std::get_if<TensorValue>(&program.values[call.args.back()]);
  if (list == nullptr || result == nullptr || list->items.size() != result->shape.size()) return;
  for (size_t d = 0; d < list->items.size(); ++d) known.emplace(list->items[d], result->shape[d]);
}

// The operation on two ints; none on overflow and for a division by zero.
std::optional<int64_t> Apply(char operation, int64_t left, int64_t right) {
  int64_t value = 0;
  bool failed = false;
  if (operation == '+') failed = __builtin_add_overflow(left, right, &value);
  if (operation == '-') failed = __builtin_sub_overflow(left, right, &value);
  if (operation == '*') failed = __builtin_mul_overflow(left, right, &value);
  if (operation == '/') {
    failed = right == 0 || (right == -1 && left == std::numeric_limits<int64_t>::min());
    if (!failed) value = left / right;
  }
  return failed ? std::nullopt : std::optional(value);
}

// Infers the unknown operand from the other operand and the result.
void InferFromArithmetic(const Program& program, const Call& call, Known& known) {
  if (call.args.size() != 3) return;
  const auto result = ValueOf(program, known, call.args[2]);
  if (!result) return;
  const auto left = ValueOf(program, known, call.args[0]);
  const auto right = ValueOf(program, known, call.args[1]);
  if (left.has_value() == right.has_value()) return;
  const uint32_t unknown = left ? call.args[1] : call.args[0];
  const int64_t other = left ? *left : *right;
  std::optional<int64_t> value;
  if (call.name == "add") value = Apply('-', *result, other);
  if (call.name == "sub") value = left ? Apply('-', other, *result) : Apply('+', *result, other);
  if (call.name == "floordiv" && !left) value = Apply('*', *result, other);
  if (call.name == "mul") value = Apply('/', *result, other);
  if (value) known.emplace(unknown, *value);
}

}  // namespace

UpperBounds::UpperBounds(const Program& program) {
  for (const Call& call : program.calls) {
    if (call.name == "aten.view_copy" || call.name == "aten.expand_copy") {
      InferFromSizes(program, call, inferred_);
    }
  }
  for (auto call = program.calls.rbegin(); call != program.calls.rend(); ++call) {
    InferFromArithmetic(program, *call, inferred_);
  }
  for (const Value& value : program.values) {
    const auto* tensor = std::get_if<TensorValue>(&value);
    if (tensor == nullptr) continue;
    for (const int64_t size : tensor->shape) max_size_ = std::max(max_size_, size);
  }
}

int64_t UpperBounds::Of(uint32_t id) const {
  const auto found = inferred_.find(id);
  const bool is_size = found != inferred_.end() && found->second >= 0;
  return std::min(is_size ? found->second : max_size_, kMaxSymInt);
}

}  // namespace spirloom::delegate
