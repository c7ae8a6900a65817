// What the numbers among a program's inputs are at its greatest sizes.
#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_GREATEST_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_GREATEST_H_

#include <cstdint>

#include "integrations/executorch/blob/program.h"

namespace spirloom::delegate {

// The number that the value, a symbolic int, is where all tensors have the sizes that the program
// declares. A program does not say it: it follows from a tensor that the number gives a size of,
// itself or in sums and products; where there is none, it is the greatest size of any tensor.
int64_t GreatestOf(const Program& program, uint32_t id);

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_GREATEST_H_
