// Conversion of callbacks from the C API; NULL becomes empty.
#ifndef SPIRLOOM_RUNTIME_C_CALLBACKS_H_
#define SPIRLOOM_RUNTIME_C_CALLBACKS_H_

#include <functional>

#include "spirloom/log.h"
#include "spirloom/runtime.h"
#include "spirloom/spirloom.h"

namespace spirloom::c {

std::function<bool(const DeviceInfo&)> Accept(const spirloom_runtime_options& options);

// A message is lost if there is no memory for it.
LogCallback Log(const spirloom_runtime_options& options);

// Exceptions of the work do not propagate through the application's function. The first one is
// rethrown after it has returned.
ParallelForCallback ParallelFor(const spirloom_runtime_options& options);

// A status other than SPIRLOOM_OK becomes an error with its code.
VerifyCallback Verify(const spirloom_runtime_options& options);

}  // namespace spirloom::c

#endif  // SPIRLOOM_RUNTIME_C_CALLBACKS_H_
