// Compiles templates at run time, for kernel development. The target spirloom::dev (CMake option
// SPIRLOOM_DEV_TEMPLATES) runs the code generator and the shader compiler of its build tree.
#ifndef SPIRLOOM_DEV_TEMPLATES_H_
#define SPIRLOOM_DEV_TEMPLATES_H_

#include <string>

#include "spirloom/library.h"
#include "spirloom/status.h"

namespace spirloom {

struct DevTemplateOptions {
  // A directory of edited copies of Spirloom's templates, each with its YAML file. They replace the
  // templates of the same name.
  std::string directory;
  // A graph file (.slg). The library contains the operators that it requires.
  std::string model;
  // The directory of generated files, for incremental compilation. Empty:
  // $XDG_CACHE_HOME/spirloom/dev-templates or ~/.cache/spirloom/dev-templates.
  std::string work_directory = {};
};

// Compiles the operators of the model with the current templates to a library that overrides others
// (RuntimeOptions::libraries). Fails with kInvalidArgument for an error in a template, with the
// message of a build ("templates/unary.glsl.j2:12: error: …"), and with kNotFound for a missing
// directory, file or tool. Concurrent calls, also from other processes, run one after another.
Result<ShaderLibrary> CompileDevTemplates(const DevTemplateOptions& options);

}  // namespace spirloom

#endif  // SPIRLOOM_DEV_TEMPLATES_H_
