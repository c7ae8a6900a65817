// The operators that delegates are made of.
#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_KERNELS_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_KERNELS_H_

#include "spirloom/library.h"
#include "spirloom/status.h"

namespace spirloom::delegate {

// Those that the build embedded; in a wheel, those in the file beside this library. Fails as
// ShaderLibrary::Open().
Result<ShaderLibrary> Kernels();

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_KERNELS_H_
