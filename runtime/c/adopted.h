// Conversion of adopted devices from the C API.
#ifndef SPIRLOOM_RUNTIME_C_ADOPTED_H_
#define SPIRLOOM_RUNTIME_C_ADOPTED_H_

#include "spirloom/spirloom_vulkan.h"
#include "spirloom/status.h"
#include "spirloom/vulkan.h"

namespace spirloom::c {

// Refers to the features and extensions of the caller.
Result<AdoptedDevice> ReadAdopted(const spirloom_adopted_device* adopted);

}  // namespace spirloom::c

#endif  // SPIRLOOM_RUNTIME_C_ADOPTED_H_
