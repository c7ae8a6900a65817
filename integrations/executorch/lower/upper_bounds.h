// Upper bounds of a program's SymInt inputs.
#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_UPPER_BOUNDS_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_UPPER_BOUNDS_H_

#include <cstdint>

#include "integrations/executorch/blob/program.h"

namespace spirloom::delegate {

// The value of a SymInt if all tensors have their declared sizes. A program does not store it: it
// is inferred from the shape of a tensor of which the SymInt determines a size, directly or through
// arithmetic. Without such a tensor, it is the maximum size of any tensor.
int64_t UpperBoundOf(const Program& program, uint32_t id);

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_UPPER_BOUNDS_H_
