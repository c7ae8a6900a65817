// Writes the outputs of a model as .npy files.
#ifndef SPIRLOOM_TOOLS_SPIRLOOM_RUN_OUTPUTS_H_
#define SPIRLOOM_TOOLS_SPIRLOOM_RUN_OUTPUTS_H_

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "spirloom/model.h"

namespace spirloom::run {

// A distinct file name, without .npy, for each output: its name with invalid characters replaced by
// '_', and a numeric suffix for duplicates.
std::vector<std::string> FileNames(std::span<const TensorInfo> outputs);

// Creates `directory` if it is missing. Fails with kInvalidArgument; the message contains the path.
Status CreateDirectory(const std::string& directory);

// Writes outputs[i] from bytes[i] to <directory>/<name>.npy.
Status WriteOutputs(const std::string& directory, std::span<const TensorInfo> outputs,
                    std::span<const std::vector<std::byte>> bytes);

// Returns a line for each output: name, dtype, shape, and the first values.
std::string OutputText(std::span<const TensorInfo> outputs,
                       std::span<const std::vector<std::byte>> bytes);

}  // namespace spirloom::run

#endif  // SPIRLOOM_TOOLS_SPIRLOOM_RUN_OUTPUTS_H_
