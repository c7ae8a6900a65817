#ifndef SPIRLOOM_RUNTIME_C_MODEL_OPTIONS_H_
#define SPIRLOOM_RUNTIME_C_MODEL_OPTIONS_H_

#include "spirloom/model.h"
#include "spirloom/spirloom.h"

namespace spirloom::c {

// Converts options, which may be null. The result refers only to the callback, its data, the tuner
// and the model to share with.
Result<ModelOptions> ReadModelOptions(const spirloom_model_options* options);

}  // namespace spirloom::c

#endif  // SPIRLOOM_RUNTIME_C_MODEL_OPTIONS_H_
