// The shader library of the ExecuTorch backends.
#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_KERNELS_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_KERNELS_H_

#include <vector>

#include "spirloom/library.h"
#include "spirloom/status.h"

namespace spirloom::delegate {

// The operators embedded by the build; in a wheel, those of the pack file in this library's
// directory. Fails as ShaderLibrary::Open().
Result<ShaderLibrary> Kernels();

// The shader libraries of custom operators: the files that the environment variable
// SPIRLOOM_SHADER_LIBRARIES lists, separated by colons. Fails as ShaderLibrary::Open().
Result<std::vector<ShaderLibrary>> EnvironmentLibraries();

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_KERNELS_H_
