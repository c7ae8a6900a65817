#include "integrations/executorch/backend/kernels.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#ifdef SPIRLOOM_ADJACENT_KERNELS
#include <dlfcn.h>

#include "runtime/base/error.h"
#include "runtime/base/path.h"
#endif

namespace spirloom::delegate {

#ifdef SPIRLOOM_ADJACENT_KERNELS

Result<ShaderLibrary> Kernels() {
  static const char marker = 0;
  Dl_info found;
  if (dladdr(&marker, &found) == 0 || found.dli_fname == nullptr) {
    return Error(StatusCode::kInternal,
                 "dladdr() does not return the path of libspirloom_executorch.");
  }
  return ShaderLibrary::Open(DirectoryOf(found.dli_fname) + SPIRLOOM_ADJACENT_KERNELS);
}

#else

Result<ShaderLibrary> Kernels() { return AllShaders(); }

#endif

Result<std::vector<ShaderLibrary>> EnvironmentLibraries() {
  const char* paths = std::getenv("SPIRLOOM_SHADER_LIBRARIES");
  std::vector<ShaderLibrary> libraries;
  for (std::string_view rest = paths == nullptr ? "" : paths; !rest.empty();) {
    const std::string_view path = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), path.size() + 1));
    if (path.empty()) continue;
    SPIRLOOM_TRY_ASSIGN(ShaderLibrary library, ShaderLibrary::Open(std::string(path)));
    libraries.push_back(std::move(library));
  }
  return libraries;
}

}  // namespace spirloom::delegate
