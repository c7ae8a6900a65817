// The runtimes that delegates share, and the name table.
#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_SESSION_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_SESSION_H_

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "integrations/executorch/names/name_table.h"
#include "spirloom/runtime.h"
#include "spirloom/status.h"

namespace spirloom::delegate {

// The members of RuntimeOptions that backend options set.
struct SessionOptions {
  std::string device = {};
  std::vector<std::string> libraries = {};  // paths of shader packs
  uint64_t memory_limit = 0;

  auto operator<=>(const SessionOptions&) const = default;
};

struct Session {
  Runtime runtime;
  NameTable names;
};

// The session of these options: created by the first call that succeeds, and alive until the
// process ends. Fails as ShaderLibrary::Open() and Runtime::Create(). Thread-safe.
Result<const Session*> SharedSession(const SessionOptions& options);

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_SESSION_H_
