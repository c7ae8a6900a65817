// Reads the registry part of a shader pack.
#ifndef SPIRLOOM_RUNTIME_OPS_REGISTRY_READER_H_
#define SPIRLOOM_RUNTIME_OPS_REGISTRY_READER_H_

#include <cstddef>
#include <span>

#include "runtime/ops/registry.h"
#include "spirloom/status.h"

namespace spirloom::ops {

// The registry that codegen/registry wrote to `bytes`, which must outlive it. Checks every number
// and every formula, so that users of the registry need not. Fails with kInvalidFile, naming the op
// and what is wrong with it.
Result<Registry> ReadRegistry(std::span<const std::byte> bytes);

}  // namespace spirloom::ops

#endif  // SPIRLOOM_RUNTIME_OPS_REGISTRY_READER_H_
