// --amber.
#ifndef SPIRLOOM_TOOLS_SPIRLOOM_RUN_AMBER_H_
#define SPIRLOOM_TOOLS_SPIRLOOM_RUN_AMBER_H_

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "spirloom/model.h"
#include "spirloom/runtime.h"
#include "spirloom/status.h"
#include "tools/races/serial_run.h"
#include "tools/spirloom-run/options.h"

namespace spirloom::run {

// The expected bytes of each output; absent ones are not compared.
using ExpectedOutputs = std::vector<std::optional<std::vector<std::byte>>>;

// Writes the Amber script of a run of the model, which was loaded with `model_options`, for inputs
// of its current shapes. Tolerances are those of --check. Fails like tools::AmberScript(), and if
// the file cannot be written.
Status WriteAmberScript(const Options& options, const Runtime& runtime, const Model& model,
                        const ModelOptions& model_options, tools::InputBytes inputs,
                        const ExpectedOutputs& expected);

}  // namespace spirloom::run

#endif  // SPIRLOOM_TOOLS_SPIRLOOM_RUN_AMBER_H_
