// Opens the Vulkan loader at run time, so that programs also start on machines without Vulkan.
#include <array>

#include "runtime/base/error.h"
#include "runtime/vulkan/functions.h"

#ifdef _WIN32
#include <windows.h>
#else
#include <dlfcn.h>
#endif

namespace spirloom::vulkan {
namespace {

#if defined(_WIN32)
constexpr std::array kFiles = {"vulkan-1.dll"};
#elif defined(__APPLE__)
constexpr std::array kFiles = {"libvulkan.dylib", "libvulkan.1.dylib", "libMoltenVK.dylib"};
#else
constexpr std::array kFiles = {"libvulkan.so.1", "libvulkan.so"};
#endif

PFN_vkGetInstanceProcAddr Open(const char* file) {
  constexpr const char* kFunction = "vkGetInstanceProcAddr";
#ifdef _WIN32
  const HMODULE library = LoadLibraryA(file);
  if (library == nullptr) return nullptr;
  return reinterpret_cast<PFN_vkGetInstanceProcAddr>(
      reinterpret_cast<void*>(GetProcAddress(library, kFunction)));
#else
  void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  return reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(library, kFunction));
#endif
}

PFN_vkGetInstanceProcAddr FindLoader() {
  for (const char* file : kFiles) {
    if (const auto found = Open(file); found != nullptr) return found;
  }
  return nullptr;
}

}  // namespace

Result<PFN_vkGetInstanceProcAddr> LoadLoader() {
  static const PFN_vkGetInstanceProcAddr loader = FindLoader();
  if (loader == nullptr) {
    return Error(StatusCode::kUnavailable,
                 {"No Vulkan loader (libvulkan) found. On Debian and Ubuntu: apt-get install "
                  "libvulkan1."});
  }
  // The loader of Vulkan 1.0 lacks this function.
  if (loader(nullptr, "vkEnumerateInstanceVersion") == nullptr) {
    return Error(StatusCode::kUnavailable,
                 {"The Vulkan loader has version 1.0; expected 1.1 or later."});
  }
  return loader;
}

}  // namespace spirloom::vulkan
