// Brings .npy files to a model's inputs.
#ifndef SPIRLOOM_TOOLS_SPIRLOOM_RUN_INPUTS_H_
#define SPIRLOOM_TOOLS_SPIRLOOM_RUN_INPUTS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "spirloom/model.h"
#include "tools/spirloom-run/npy.h"
#include "tools/spirloom-run/options.h"

namespace spirloom::run {

// Reads the file for each of the model's inputs, in the model's order. Fails with kInvalidArgument
// for an unknown, repeated or missing name or an array of another dtype or shape, naming both, and
// for a number beyond the input's bounds. With `sizes_vary`, shapes are not looked at. With a
// `seed`, what is missing is made (random.h).
Result<std::vector<Array>> ReadInputs(std::span<const TensorInfo> wanted,
                                      std::span<const NamedFile> files, bool sizes_vary = false,
                                      std::optional<uint64_t> seed = std::nullopt);

}  // namespace spirloom::run

#endif  // SPIRLOOM_TOOLS_SPIRLOOM_RUN_INPUTS_H_
