// Floats of calls that kernels only read as push constants.
#ifndef SPIRLOOM_RUNTIME_EAGER_RUN_TIME_SCALARS_H_
#define SPIRLOOM_RUNTIME_EAGER_RUN_TIME_SCALARS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/ops/registry.h"
#include "spirloom/types.h"

namespace spirloom::eager {

// A push constant that is an argument of the call.
struct PushedScalar {
  uint32_t argument;
  uint32_t offset;  // in the push constants
};

// For each argument of `op`, whether it is a float on which nothing but push constants depends:
// one plan then serves all of its values, as kernels, shapes and grids are the same. The push
// constants are the argument, or for a `number` its bits in variants of floating-point dtypes.
std::vector<bool> FindRunTimeScalars(const ops::OpInfo& op);

// The push constants of a variant of the kernel that are such arguments. None if one of them has
// another value in the variant, because its dtype is an integer: a plan then serves one value.
std::optional<std::vector<PushedScalar>> PushedScalarsOf(const ops::KernelInfo& kernel, DType dtype,
                                                         const std::vector<bool>& run_time_scalars);

}  // namespace spirloom::eager

#endif  // SPIRLOOM_RUNTIME_EAGER_RUN_TIME_SCALARS_H_
