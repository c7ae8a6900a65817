#ifndef SPIRLOOM_RUNTIME_C_RUN_BYTES_H_
#define SPIRLOOM_RUNTIME_C_RUN_BYTES_H_

#include <span>
#include <vector>

#include "spirloom/spirloom.h"
#include "spirloom/status.h"

namespace spirloom::c {

using InputSpans = std::vector<std::span<const std::byte>>;
using OutputSpans = std::vector<std::span<std::byte>>;

// Convert inputs and outputs of runs. Fail with kInvalidArgument for another count than `expected`,
// that of the model, and for unexpected NULL pointers.
Result<InputSpans> ReadInputs(const spirloom_const_bytes* inputs, size_t count, size_t expected);
Result<OutputSpans> ReadOutputs(const spirloom_bytes* outputs, size_t count, size_t expected);

}  // namespace spirloom::c

#endif  // SPIRLOOM_RUNTIME_C_RUN_BYTES_H_
