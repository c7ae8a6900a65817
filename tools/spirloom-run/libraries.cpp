#include "tools/spirloom-run/libraries.h"

#ifdef SPIRLOOM_DEV_TEMPLATES
#include "spirloom/dev_templates.h"
#endif

namespace spirloom::run {
namespace {

Result<ShaderLibrary> CompileTemplates(const Options& options) {
#ifdef SPIRLOOM_DEV_TEMPLATES
  return CompileDevTemplates({.directory = options.dev_templates, .model = options.model});
#else
  return Status(StatusCode::kUnsupported, "This build cannot compile the templates in '" +
                                              options.dev_templates +
                                              "'. Build with SPIRLOOM_DEV_TEMPLATES=ON.");
#endif
}

}  // namespace

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
  if (!options.dev_templates.empty()) {
    SPIRLOOM_TRY_ASSIGN(ShaderLibrary library, CompileTemplates(options));
    libraries.push_back(std::move(library));
  }
  return libraries;
}

}  // namespace spirloom::run
