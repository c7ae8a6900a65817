// Callbacks of the C API as the C++ API has them; empty for none.
#ifndef SPIRLOOM_RUNTIME_C_CALLBACKS_H_
#define SPIRLOOM_RUNTIME_C_CALLBACKS_H_

#include <functional>

#include "spirloom/log.h"
#include "spirloom/runtime.h"
#include "spirloom/spirloom.h"

namespace spirloom::c {

std::function<bool(const DeviceInfo&)> Accept(const spirloom_runtime_options& options);

// A message for which there is no memory is lost.
LogCallback Log(const spirloom_runtime_options& options);

// What the work throws does not pass through the application's function, but is thrown again when
// that has returned.
ParallelForCallback ParallelFor(const spirloom_runtime_options& options);

}  // namespace spirloom::c

#endif  // SPIRLOOM_RUNTIME_C_CALLBACKS_H_
