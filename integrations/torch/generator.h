#ifndef SPIRLOOM_INTEGRATIONS_TORCH_GENERATOR_H_
#define SPIRLOOM_INTEGRATIONS_TORCH_GENERATOR_H_

#include <ATen/core/Generator.h>

namespace spirloom::pytorch {

// The generator of calls that name none. torch.manual_seed() and torch.vulkan.manual_seed() seed
// it.
const at::Generator& DefaultGenerator();

}  // namespace spirloom::pytorch

#endif  // SPIRLOOM_INTEGRATIONS_TORCH_GENERATOR_H_
