// --check-races.
#ifndef SPIRLOOM_TOOLS_SPIRLOOM_RUN_RACES_H_
#define SPIRLOOM_TOOLS_SPIRLOOM_RUN_RACES_H_

#include "spirloom/model.h"
#include "spirloom/runtime.h"
#include "spirloom/status.h"
#include "tools/races/serial_run.h"
#include "tools/spirloom-run/options.h"

namespace spirloom::run {

// Checks the model, which was loaded with `model_options`, with inputs of its current shapes, and
// prints the result. Fails with kInternal for a fault, and like tools::CheckRaces().
Status PrintRaces(const Options& options, const Runtime& runtime, const Model& model,
                  const ModelOptions& model_options, tools::InputBytes inputs);

}  // namespace spirloom::run

#endif  // SPIRLOOM_TOOLS_SPIRLOOM_RUN_RACES_H_
