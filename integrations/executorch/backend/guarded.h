// What the standard library throws ends before ExecuTorch, which knows no exceptions.
#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_GUARDED_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_GUARDED_H_

#include <exception>
#include <new>

#include "runtime/base/error.h"
#include "spirloom/status.h"

namespace spirloom::delegate {

// Runs `work`, which returns a Status; what the standard library throws becomes one.
template <typename Work>
Status Guarded(const Work& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return Status::OutOfMemory();
  } catch (const std::exception& error) {
    return Error(StatusCode::kInternal, {error.what()});
  }
}

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_GUARDED_H_
