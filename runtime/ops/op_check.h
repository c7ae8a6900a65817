// What an op of a registry must be as a whole, so that lowering and recording need not ask.
#ifndef SPIRLOOM_RUNTIME_OPS_OP_CHECK_H_
#define SPIRLOOM_RUNTIME_OPS_OP_CHECK_H_

#include "runtime/ops/registry.h"
#include "spirloom/status.h"

namespace spirloom::ops {

// Checks an op whose formulas and numbers have been read:
//   its names are printable, its steps take every let, it has an output;
//   a view has one output and is of a tensor;
//   each kernel binds tensors that there are, every output for writing and no argument so, packs
//   nothing but tensor arguments, and its push constants lie within their block.
// Fails with kInvalidFile, saying what is wrong.
Status CheckOp(const OpInfo& op);

}  // namespace spirloom::ops

#endif  // SPIRLOOM_RUNTIME_OPS_OP_CHECK_H_
