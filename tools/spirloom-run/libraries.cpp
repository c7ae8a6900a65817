#include "tools/spirloom-run/libraries.h"

namespace spirloom::run {

Result<std::vector<ShaderLibrary>> OpenLibraries(const Options& options) {
  std::vector<ShaderLibrary> libraries;
  if (options.builtin) libraries.push_back(AllShaders());
  for (const std::string& path : options.libraries) {
    SPIRLOOM_TRY_ASSIGN(ShaderLibrary library, ShaderLibrary::Open(path));
    libraries.push_back(std::move(library));
  }
  for (const std::string& path : options.overrides) {
    SPIRLOOM_TRY_ASSIGN(ShaderLibrary library, ShaderLibrary::Open(path));
    library.overrides = true;
    libraries.push_back(std::move(library));
  }
  return libraries;
}

}  // namespace spirloom::run
