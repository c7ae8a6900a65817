#ifndef SPIRLOOM_RUNTIME_C_MODEL_OPTIONS_H_
#define SPIRLOOM_RUNTIME_C_MODEL_OPTIONS_H_

#include "spirloom/model.h"
#include "spirloom/spirloom.h"

namespace spirloom::c {

// The options, which may be null, in C++. They keep nothing of `options` but the callback, its data
// and the tuner.
Result<ModelOptions> ReadModelOptions(const spirloom_model_options* options);

}  // namespace spirloom::c

#endif  // SPIRLOOM_RUNTIME_C_MODEL_OPTIONS_H_
