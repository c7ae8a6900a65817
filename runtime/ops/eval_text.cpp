#include "runtime/ops/eval_text.h"

#include <algorithm>

#include "runtime/base/text.h"

namespace spirloom::ops {

std::string OperationText(int64_t a, const char* op, int64_t b) {
  return Format("{} {} {}", a, op, b);
}

std::string RangeText(int64_t i, size_t size) {
  return Format("Index ({}) is out of range of a list of {}.", i, size);
}

int64_t NormalizeIndex(int64_t i, int64_t size) {
  if (i < 0) i += size;
  return i < size ? std::max<int64_t>(i, -1) : -1;
}

}  // namespace spirloom::ops
