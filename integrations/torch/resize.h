#ifndef SPIRLOOM_INTEGRATIONS_TORCH_RESIZE_H_
#define SPIRLOOM_INTEGRATIONS_TORCH_RESIZE_H_

#include <c10/core/StorageImpl.h>

#include <cstddef>

namespace spirloom::pytorch {

// Replaces the memory of a storage by `size` bytes, and copies the common part.
void ResizeStorage(c10::StorageImpl& storage, size_t size);

}  // namespace spirloom::pytorch

#endif  // SPIRLOOM_INTEGRATIONS_TORCH_RESIZE_H_
