#include "integrations/executorch/backend/session.h"

#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "integrations/executorch/backend/kernels.h"
#include "integrations/executorch/backend/report.h"

// The name table (executorch.bin, next to the registry of Kernels()), embedded by the build.
extern "C" const unsigned char spirloom_executorch_names[];
extern "C" const uint64_t spirloom_executorch_names_size;

namespace spirloom::delegate {
namespace {

Result<Session> MakeSession(const SessionOptions& wanted) {
  const std::span bytes(spirloom_executorch_names,
                        static_cast<size_t>(spirloom_executorch_names_size));
  SPIRLOOM_TRY_ASSIGN(NameTable names, NameTable::Read(std::as_bytes(bytes)));
  RuntimeOptions options;
  SPIRLOOM_TRY_ASSIGN(const ShaderLibrary kernels, Kernels());
  options.libraries = {&kernels};
  SPIRLOOM_TRY_ASSIGN(const std::vector<ShaderLibrary> environment, EnvironmentLibraries());
  for (const ShaderLibrary& library : environment) options.libraries.push_back(&library);
  std::list<ShaderLibrary> others;
  for (const std::string& path : wanted.libraries) {
    SPIRLOOM_TRY_ASSIGN(ShaderLibrary library, ShaderLibrary::Open(path));
    options.libraries.push_back(&others.emplace_back(std::move(library)));
  }
  options.device = wanted.device;
  options.memory_limit = wanted.memory_limit;
  options.log = LogToExecuTorch;
  SPIRLOOM_TRY_ASSIGN(Runtime runtime, Runtime::Create(options));
  return Session{std::move(runtime), std::move(names)};
}

}  // namespace

Result<std::shared_ptr<const Session>> SharedSession(const SessionOptions& options) {
  // Never destroyed: delegates may outlive static destruction at process exit.
  static auto& sessions = *new SessionCache(MakeSession);
  return sessions.Get(options);
}

}  // namespace spirloom::delegate
