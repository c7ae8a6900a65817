#include "runtime/ops/eval.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/base/data_types.h"
#include "runtime/base/text.h"
#include "runtime/ops/eval_text.h"

namespace spirloom::ops {

Ints::Ints(std::initializer_list<int64_t> values)
    : Ints(std::span<const int64_t>(values.begin(), values.size())) {}

Ints::Ints(std::span<const int64_t> values) : size_(std::min(values.size(), kMaxInts)) {
  std::copy_n(values.begin(), size_, values_.begin());
}

bool Ints::Append(int64_t value) {
  if (size_ == kMaxInts) return false;
  values_[size_++] = value;
  return true;
}

bool operator==(const Ints& a, const Ints& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

void Eval::FailWith(const char* format, uint64_t types, ...) {
  if (!ok()) return;
  va_list values;
  va_start(values, types);
  error_ = FormatList(format, types, values);
  va_end(values);
  if (error_.empty()) error_ = "Evaluation of an expression failed.";
}

void Eval::Check(bool condition, const char* text) {
  if (!condition) Fail("{} does not hold.", text);
}

void Eval::Check(bool condition, const char* text, int64_t left, int64_t right) {
  if (!condition) Fail("{} does not hold ({}).", text, OperationText(left, "vs", right));
}

void Eval::CheckDType(const char* name, DType given, DType expected) {
  if (given == expected) return;
  Fail("DType of {} ({}) is not {}.", name, ShortName(given), ShortName(expected));
}

DType Eval::ToDType(std::string_view name) {
  if (const std::optional<DType> dtype = FindDType(name)) return *dtype;
  Fail("'{}' is not a dtype.", name);
  return DType::kF32;
}

}  // namespace spirloom::ops
