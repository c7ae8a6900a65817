// Validation of an op of a registry, so that lowering and recording need no checks.
#ifndef SPIRLOOM_RUNTIME_OPS_OP_CHECK_H_
#define SPIRLOOM_RUNTIME_OPS_OP_CHECK_H_

#include "runtime/ops/registry.h"
#include "spirloom/status.h"

namespace spirloom::ops {

// Checks an op whose formulas and values have been read:
//   names are printable, all lets occur in its steps, it has an output;
//   a view has one output and a tensor argument;
//   kernels bind existing tensors, write every output and no argument, pack only tensor arguments,
//   and their push constants are within the block.
// Fails with kInvalidFile and the problem.
Status CheckOp(const OpInfo& op);

}  // namespace spirloom::ops

#endif  // SPIRLOOM_RUNTIME_OPS_OP_CHECK_H_
