// Reads the inputs of a model from .npy files.
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

// Reads a file for each input, in the order of the model. Fails with kInvalidArgument for an
// unknown, repeated or missing name, for an array with another dtype or shape, and for a value
// outside the bounds of the input. With `dynamic_shapes`, shapes are not compared. With a `seed`,
// missing inputs are random (tools/common/random.h).
Result<std::vector<Array>> ReadInputs(std::span<const TensorInfo> expected,
                                      std::span<const NamedFile> files, bool dynamic_shapes = false,
                                      std::optional<uint64_t> seed = std::nullopt);

}  // namespace spirloom::run

#endif  // SPIRLOOM_TOOLS_SPIRLOOM_RUN_INPUTS_H_
