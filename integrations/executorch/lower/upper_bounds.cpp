#include "integrations/executorch/lower/upper_bounds.h"

#include <algorithm>
#include <map>
#include <optional>

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
  if (call.name == "add") known.emplace(unknown, *result - other);
  if (call.name == "sub") known.emplace(unknown, left ? other - *result : *result + other);
  if (call.name == "floordiv" && !left) known.emplace(unknown, *result * other);
  if (call.name == "mul" && other != 0) known.emplace(unknown, *result / other);
}

}  // namespace

int64_t UpperBoundOf(const Program& program, uint32_t id) {
  Known known;
  for (const Call& call : program.calls) {
    if (call.name == "aten.view_copy" || call.name == "aten.expand_copy") {
      InferFromSizes(program, call, known);
    }
  }
  for (auto call = program.calls.rbegin(); call != program.calls.rend(); ++call) {
    InferFromArithmetic(program, *call, known);
  }
  if (const auto found = ValueOf(program, known, id); found && *found >= 0) return *found;
  int64_t max_size = 1;
  for (const Value& value : program.values) {
    const auto* tensor = std::get_if<TensorValue>(&value);
    if (tensor == nullptr) continue;
    for (const int64_t size : tensor->shape) max_size = std::max(max_size, size);
  }
  return max_size;
}

}  // namespace spirloom::delegate
