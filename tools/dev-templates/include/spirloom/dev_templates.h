// Templates edited while a program is built already: for writing kernels, not for users. The target
// spirloom::dev (CMake option SPIRLOOM_DEV_TEMPLATES) runs the code generator and the shader
// compiler of the build that made it, where they lie.
#ifndef SPIRLOOM_DEV_TEMPLATES_H_
#define SPIRLOOM_DEV_TEMPLATES_H_

#include <string>

#include "spirloom/library.h"
#include "spirloom/status.h"

namespace spirloom {

struct DevTemplateOptions {
  // A folder of templates that take the place of Spirloom's own of the same name: copies of those
  // that are edited, with the YAML files beside them.
  std::string folder;
  // A graph file (.slg): the library holds the operators that it can need, all of them Spirloom's.
  std::string model;
  // Where generated files stay, so that a next call makes only what changed. Empty:
  // $XDG_CACHE_HOME/spirloom/dev-templates or ~/.cache/spirloom/dev-templates.
  std::string work_folder = {};
};

// The model's operators made anew of the templates as they are now: a library that overrides others
// (RuntimeOptions::libraries). Fails with kInvalidArgument for a mistake in a template, the message
// being that of a build ("templates/unary.glsl.j2:12: error: …"), and with kNotFound when a folder
// or file or the tools are not there. Runs take their turns, within a process and among processes.
Result<ShaderLibrary> CompileDevTemplates(const DevTemplateOptions& options);

}  // namespace spirloom

#endif  // SPIRLOOM_DEV_TEMPLATES_H_
