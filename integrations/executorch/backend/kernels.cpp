#include "integrations/executorch/backend/kernels.h"

#ifdef SPIRLOOM_KERNELS_BESIDE
#include <dlfcn.h>

#include <filesystem>

#include "runtime/base/error.h"
#endif

namespace spirloom::delegate {

#ifdef SPIRLOOM_KERNELS_BESIDE

Result<ShaderLibrary> Kernels() {
  static const char here = 0;
  Dl_info found;
  if (dladdr(&here, &found) == 0 || found.dli_fname == nullptr) {
    return Error(StatusCode::kInternal, {"The folder of this library cannot be told."});
  }
  const auto path =
      std::filesystem::path(found.dli_fname).replace_filename(SPIRLOOM_KERNELS_BESIDE);
  return ShaderLibrary::Open(path.string());
}

#else

Result<ShaderLibrary> Kernels() { return AllShaders(); }

#endif

}  // namespace spirloom::delegate
