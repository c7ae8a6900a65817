// Index normalization and texts of messages, shared by the parts of Eval.
#ifndef SPIRLOOM_RUNTIME_OPS_EVAL_TEXT_H_
#define SPIRLOOM_RUNTIME_OPS_EVAL_TEXT_H_

#include <cstdint>
#include <string>

#include "runtime/ops/eval.h"

namespace spirloom::ops {

// E.g. "1 + 2".
std::string OperationText(int64_t a, const char* op, int64_t b);

// "Index (4) is out of range of a list of 3."
std::string RangeText(int64_t i, size_t size);

// Converts index `i`, which counts from the end if negative, to 0 to size - 1; -1 if out of range.
int64_t NormalizeIndex(int64_t i, int64_t size);

inline int64_t SizeOf(const Ints& v) { return static_cast<int64_t>(v.size()); }

}  // namespace spirloom::ops

#endif  // SPIRLOOM_RUNTIME_OPS_EVAL_TEXT_H_
