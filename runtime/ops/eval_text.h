// What the parts of Eval share: places in lists, and the words of messages.
#ifndef SPIRLOOM_RUNTIME_OPS_EVAL_TEXT_H_
#define SPIRLOOM_RUNTIME_OPS_EVAL_TEXT_H_

#include <cstdint>
#include <string>

#include "runtime/ops/eval.h"

namespace spirloom::ops {

// Returns e.g. "1 + 2".
std::string OperationText(int64_t a, const char* op, int64_t b);

// "Index (4) is out of range of a list of 3."
std::string RangeText(int64_t i, size_t size);

// Where index `i`, which may count from the end, lies in a list of `size`; -1: nowhere.
int64_t PlaceInList(int64_t i, int64_t size);

inline int64_t SizeOf(const Ints& v) { return static_cast<int64_t>(v.size()); }

}  // namespace spirloom::ops

#endif  // SPIRLOOM_RUNTIME_OPS_EVAL_TEXT_H_
