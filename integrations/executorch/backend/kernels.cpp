#include "integrations/executorch/backend/kernels.h"

#ifdef SPIRLOOM_ADJACENT_KERNELS
#include <dlfcn.h>

#include <filesystem>

#include "runtime/base/error.h"
#endif

namespace spirloom::delegate {

#ifdef SPIRLOOM_ADJACENT_KERNELS

Result<ShaderLibrary> Kernels() {
  static const char marker = 0;
  Dl_info found;
  if (dladdr(&marker, &found) == 0 || found.dli_fname == nullptr) {
    return Error(StatusCode::kInternal,
                 {"dladdr() does not return the path of libspirloom_executorch."});
  }
  const auto path =
      std::filesystem::path(found.dli_fname).replace_filename(SPIRLOOM_ADJACENT_KERNELS);
  return ShaderLibrary::Open(path.string());
}

#else

Result<ShaderLibrary> Kernels() { return AllShaders(); }

#endif

}  // namespace spirloom::delegate
