// Converts exceptions of the standard library to Status: ExecuTorch is built without exceptions.
#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_CATCH_EXCEPTIONS_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_CATCH_EXCEPTIONS_H_

#include <exception>
#include <new>

#include "runtime/base/error.h"
#include "spirloom/status.h"

namespace spirloom::delegate {

// Returns the Status of `work`, or the Status that corresponds to its exception.
template <typename Work>
Status CatchExceptions(const Work& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return Status::OutOfMemory();
  } catch (const std::exception& error) {
    return Error(StatusCode::kInternal, "{}", error.what());
  }
}

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_CATCH_EXCEPTIONS_H_
