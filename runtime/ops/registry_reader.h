// Reads the registry of a shader pack.
#ifndef SPIRLOOM_RUNTIME_OPS_REGISTRY_READER_H_
#define SPIRLOOM_RUNTIME_OPS_REGISTRY_READER_H_

#include <cstddef>
#include <span>

#include "runtime/ops/registry.h"
#include "spirloom/status.h"

namespace spirloom::ops {

// Reads the registry that codegen/registry wrote to `bytes`, which must outlive it. Validates all
// values and formulas. Fails with kInvalidFile, the name of the op and the problem.
Result<Registry> ReadRegistry(std::span<const std::byte> bytes);

}  // namespace spirloom::ops

#endif  // SPIRLOOM_RUNTIME_OPS_REGISTRY_READER_H_
