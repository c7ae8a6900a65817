// The session of a delegate: its runtime and the name table.
#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_SESSION_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_SESSION_H_

#include <memory>

#include "integrations/executorch/backend/session_cache.h"
#include "spirloom/status.h"

namespace spirloom::delegate {

// The session of these options, shared by the delegates of the process until its device is lost.
// Fails as ShaderLibrary::Open() and Runtime::Create(). Thread-safe.
Result<std::shared_ptr<const Session>> SharedSession(const SessionOptions& options);

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_SESSION_H_
