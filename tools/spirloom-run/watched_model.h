// Loads the model of the command line again, with memory that a TensorWatch observes.
#ifndef SPIRLOOM_TOOLS_SPIRLOOM_RUN_WATCHED_MODEL_H_
#define SPIRLOOM_TOOLS_SPIRLOOM_RUN_WATCHED_MODEL_H_

#include <memory>

#include "runtime/graph/memory/tensor_store.h"
#include "runtime/graph/model/execution_context.h"
#include "spirloom/model.h"
#include "spirloom/runtime.h"
#include "spirloom/status.h"
#include "tools/spirloom-run/options.h"

namespace spirloom::run {

// Loads the file of `options` with `model_options` and the current shapes of `model`, which was
// loaded from it. Fails like Model::Load().
Result<std::shared_ptr<internal::ExecutionContext>> LoadWatched(const Options& options,
                                                                const Runtime& runtime,
                                                                const Model& model,
                                                                const ModelOptions& model_options,
                                                                graph::TensorWatch& watch);

}  // namespace spirloom::run

#endif  // SPIRLOOM_TOOLS_SPIRLOOM_RUN_WATCHED_MODEL_H_
