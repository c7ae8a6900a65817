#include "runtime/base/windows_api.h"
#include "runtime/vulkan/loader.h"

namespace spirloom::vulkan {

const char* const kNoLoader =
    "No Vulkan loader (vulkan-1.dll) found. It is part of the driver of the graphics card: install "
    "its current version.";

PFN_vkGetInstanceProcAddr OpenLoader() {
  // The directories of the program and of the system, not the current one.
  const HMODULE library =
      LoadLibraryExW(L"vulkan-1.dll", nullptr, LOAD_LIBRARY_SEARCH_DEFAULT_DIRS);
  if (library == nullptr) return nullptr;
  return reinterpret_cast<PFN_vkGetInstanceProcAddr>(
      reinterpret_cast<void*>(GetProcAddress(library, "vkGetInstanceProcAddr")));
}

}  // namespace spirloom::vulkan
