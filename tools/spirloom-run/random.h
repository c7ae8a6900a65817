// Numbers for inputs that no file is given for.
#ifndef SPIRLOOM_TOOLS_SPIRLOOM_RUN_RANDOM_H_
#define SPIRLOOM_TOOLS_SPIRLOOM_RUN_RANDOM_H_

#include <random>

#include "spirloom/model.h"
#include "tools/spirloom-run/npy.h"

namespace spirloom::run {

// An array for an input, of its shape at hand. Every number of it is as likely: within the input's
// bounds where it has some, else from -1 to 1 for floats, 0 or 1 for int32 (which counts as an
// index of anything) and bools, and all that there are for 8-bit integers. Equal generators give
// equal arrays on every machine.
Array RandomArray(const TensorInfo& input, std::mt19937_64& generator);

}  // namespace spirloom::run

#endif  // SPIRLOOM_TOOLS_SPIRLOOM_RUN_RANDOM_H_
