// Lowering calls ops on behalf of others: those that pack an operand, and the copy into another
// storage. This checks that it comes to an end.
#ifndef SPIRLOOM_RUNTIME_OPS_PACKING_CHECK_H_
#define SPIRLOOM_RUNTIME_OPS_PACKING_CHECK_H_

#include <cstddef>

#include "runtime/ops/op_index.h"
#include "spirloom/status.h"

namespace spirloom::ops {

// The op that brings a tensor into another storage.
inline constexpr const char* kCopyOp = "spirloom.copy";

// How many ops may pack for one another: a's operand packed by b, b's by c …
inline constexpr size_t kMaxPackingSteps = 4;

// Checks all libraries together: no op packs by way of itself, or in more than kMaxPackingSteps;
// kCopyOp binds its tensor where it lies, as it is. Fails with kInvalidFile, naming the op.
Status CheckPacking(const OpIndex& index);

}  // namespace spirloom::ops

#endif  // SPIRLOOM_RUNTIME_OPS_PACKING_CHECK_H_
