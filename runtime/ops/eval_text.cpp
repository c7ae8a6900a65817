#include "runtime/ops/eval_text.h"

#include <algorithm>

namespace spirloom::ops {

std::string OperationText(int64_t a, const char* op, int64_t b) {
  return std::to_string(a) + " " + op + " " + std::to_string(b);
}

std::string RangeText(int64_t i, size_t size) {
  return "Index (" + std::to_string(i) + ") is out of range of a list of " + std::to_string(size) +
         ".";
}

int64_t PlaceInList(int64_t i, int64_t size) {
  if (i < 0) i += size;
  return i < size ? std::max<int64_t>(i, -1) : -1;
}

}  // namespace spirloom::ops
