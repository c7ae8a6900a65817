// What the delegates of a process share: a device with the operators, and their names.
#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_SESSION_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_SESSION_H_

#include "integrations/executorch/names/name_table.h"
#include "spirloom/runtime.h"
#include "spirloom/status.h"

namespace spirloom::delegate {

struct Session {
  Runtime runtime;
  NameTable names;
};

// Made by the first call, and tried again if that fails; it lives as long as the process. Fails as
// Runtime::Create(). Thread-safe.
Result<const Session*> SharedSession();

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_SESSION_H_
