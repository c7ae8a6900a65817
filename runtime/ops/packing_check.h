// Lowering a call may call further ops: to pack an operand, or to copy a tensor to another storage.
// This checks that the recursion ends.
#ifndef SPIRLOOM_RUNTIME_OPS_PACKING_CHECK_H_
#define SPIRLOOM_RUNTIME_OPS_PACKING_CHECK_H_

#include <cstddef>

#include "runtime/ops/op_index.h"
#include "spirloom/status.h"

namespace spirloom::ops {

// The op that copies a tensor to another storage.
inline constexpr const char* kCopyOp = "spirloom.copy";

// Maximum depth of packing: operand of a packed by b, operand of b packed by c …
inline constexpr size_t kMaxPackingSteps = 4;

// Checks all libraries together: no op packs recursively by itself or deeper than kMaxPackingSteps,
// and kCopyOp binds its tensor unchanged. Fails with kInvalidFile and the name of the op.
Status CheckPacking(const OpIndex& index);

}  // namespace spirloom::ops

#endif  // SPIRLOOM_RUNTIME_OPS_PACKING_CHECK_H_
