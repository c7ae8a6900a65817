#ifndef SPIRLOOM_INTEGRATIONS_TORCH_ALLOCATOR_H_
#define SPIRLOOM_INTEGRATIONS_TORCH_ALLOCATOR_H_

#include <c10/core/Allocator.h>

namespace spirloom::pytorch {

// The allocator of device memory: blocks of the device's stream. Never destroyed.
c10::Allocator* DeviceMemory();

// A reference to a block of the device's stream, which it frees.
c10::DataPtr OwnBlock(void* address);

// The allocator of host memory for transfers (pinned memory), aligned to pages. Vulkan transfers
// from other host memory work the same; PyTorch requires the property of tensors.
c10::Allocator* PinnedMemory();
// Whether the address is in a block of PinnedMemory().
bool IsPinned(const void* address);

}  // namespace spirloom::pytorch

#endif  // SPIRLOOM_INTEGRATIONS_TORCH_ALLOCATOR_H_
