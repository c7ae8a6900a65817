// The runtime and the name table that all delegates of a process share.
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

// Created by the first call that succeeds; lives until the process ends. Fails as
// Runtime::Create(). Thread-safe.
Result<const Session*> SharedSession();

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_SESSION_H_
