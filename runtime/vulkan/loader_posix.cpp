#include <dlfcn.h>

#include <array>

#include "runtime/vulkan/loader.h"

namespace spirloom::vulkan {
namespace {

#if defined(__APPLE__)
constexpr auto kFiles =
    std::to_array<const char*>({"libvulkan.dylib", "libvulkan.1.dylib", "libMoltenVK.dylib"});
#else
constexpr auto kFiles = std::to_array<const char*>({"libvulkan.so.1", "libvulkan.so"});
#endif

}  // namespace

const char* const kNoLoader =
    "No Vulkan loader (libvulkan) found. On Debian and Ubuntu: apt-get install libvulkan1.";

PFN_vkGetInstanceProcAddr OpenLoader() {
  for (const char* file : kFiles) {
    void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    const auto get =
        reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(library, "vkGetInstanceProcAddr"));
    if (get != nullptr) return get;
  }
  return nullptr;
}

}  // namespace spirloom::vulkan
