// Opens the Vulkan loader at run time, so that programs also start on machines without Vulkan.
#include "runtime/vulkan/loader.h"

#include "runtime/base/error.h"
#include "runtime/vulkan/functions.h"

namespace spirloom::vulkan {

Result<PFN_vkGetInstanceProcAddr> LoadLoader() {
  static const PFN_vkGetInstanceProcAddr loader = OpenLoader();
  if (loader == nullptr) return Error(StatusCode::kUnavailable, "{}", kNoLoader);
  // The loader of Vulkan 1.0 lacks this function.
  if (loader(nullptr, "vkEnumerateInstanceVersion") == nullptr) {
    return Error(StatusCode::kUnavailable,
                 "The Vulkan loader has version 1.0; expected 1.1 or later.");
  }
  return loader;
}

}  // namespace spirloom::vulkan
