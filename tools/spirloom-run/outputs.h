// Writes a model's outputs as .npy files.
#ifndef SPIRLOOM_TOOLS_SPIRLOOM_RUN_OUTPUTS_H_
#define SPIRLOOM_TOOLS_SPIRLOOM_RUN_OUTPUTS_H_

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "spirloom/model.h"

namespace spirloom::run {

// A file name (without .npy) for each output: its name, with '_' for what does not belong into a
// file name, and a number behind those that would coincide.
std::vector<std::string> FileNames(std::span<const TensorInfo> outputs);

// Makes `folder` if it is absent. Fails with kInvalidArgument naming it.
Status MakeFolder(const std::string& folder);

// Writes outputs[i] from bytes[i] to <folder>/<name>.npy.
Status WriteOutputs(const std::string& folder, std::span<const TensorInfo> outputs,
                    std::span<const std::vector<std::byte>> bytes);

}  // namespace spirloom::run

#endif  // SPIRLOOM_TOOLS_SPIRLOOM_RUN_OUTPUTS_H_
