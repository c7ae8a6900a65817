// The intercepted Vulkan functions: the state of the fault injection, and wrappers that fail.
#ifndef SPIRLOOM_TESTS_FAULTS_INTERCEPTED_H_
#define SPIRLOOM_TESTS_FAULTS_INTERCEPTED_H_

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tests/faults/heaps.h"
#include "tests/faults/vulkan_faults.h"

// Functions that create an object, and the functions that destroy it.
#define CREATORS(X)                                            \
  X(vkAllocateMemory, vkFreeMemory)                            \
  X(vkCreateBuffer, vkDestroyBuffer)                           \
  X(vkCreateBufferView, vkDestroyBufferView)                   \
  X(vkCreateCommandPool, vkDestroyCommandPool)                 \
  X(vkCreateComputePipelines, vkDestroyPipeline)               \
  X(vkCreateDescriptorPool, vkDestroyDescriptorPool)           \
  X(vkCreateDescriptorSetLayout, vkDestroyDescriptorSetLayout) \
  X(vkCreateDevice, vkDestroyDevice)                           \
  X(vkCreateFence, vkDestroyFence)                             \
  X(vkCreateImage, vkDestroyImage)                             \
  X(vkCreateImageView, vkDestroyImageView)                     \
  X(vkCreateInstance, vkDestroyInstance)                       \
  X(vkCreatePipelineCache, vkDestroyPipelineCache)             \
  X(vkCreatePipelineLayout, vkDestroyPipelineLayout)           \
  X(vkCreateQueryPool, vkDestroyQueryPool)                     \
  X(vkCreateShaderModule, vkDestroyShaderModule)

#define OTHERS(X)                             \
  X(vkAllocateCommandBuffers)                 \
  X(vkAllocateDescriptorSets)                 \
  X(vkBeginCommandBuffer)                     \
  X(vkBindBufferMemory)                       \
  X(vkBindImageMemory)                        \
  X(vkDeviceWaitIdle)                         \
  X(vkEndCommandBuffer)                       \
  X(vkEnumerateDeviceExtensionProperties)     \
  X(vkEnumeratePhysicalDevices)               \
  X(vkGetFenceStatus)                         \
  X(vkGetPhysicalDeviceImageFormatProperties) \
  X(vkGetPipelineCacheData)                   \
  X(vkGetQueryPoolResults)                    \
  X(vkMapMemory)                              \
  X(vkQueueSubmit)                            \
  X(vkResetFences)                            \
  X(vkWaitForFences)

// Functions whose results Heaps modifies.
#define DESCRIBING(X)              \
  X(vkGetBufferMemoryRequirements) \
  X(vkGetImageMemoryRequirements)  \
  X(vkGetPhysicalDeviceMemoryProperties)

namespace spirloom::faults {

struct State {
  std::mutex mutex;
  std::optional<Fault> fault;
  uint64_t calls = 0;
  const char* failed = nullptr;
  std::multiset<std::pair<int, uint64_t>> live;  // kind and handle of each live object
  size_t wrongly_destroyed = 0;
  std::map<std::string_view, PFN_vkVoidFunction> real;  // the loader's functions, for all devices
  VkDevice device = VK_NULL_HANDLE;
  std::map<VkCommandBuffer, uint64_t> workgroups;  // dispatched by each recorded command buffer
  std::map<VkCommandBuffer, VkPipelineStageFlags> last_barriers;  // target stages
  VkPipelineStageFlags stages_after = 0;
  uint64_t largest_submission = 0;
  uint64_t watchdog = 0;
  uint64_t budget = 0;
  uint64_t usage = 0;
  uint32_t priority = 0;
  VkToolPurposeFlags tool = 0;
  size_t labels = 0;
};
extern State state;
extern Heaps heaps;

// Counts the calls of this thread into the loader and driver.
extern thread_local int depth;
struct InDriver {
  InDriver() { ++depth; }
  ~InDriver() { --depth; }
};

// vkGetInstanceProcAddr() of the real loader.
PFN_vkGetInstanceProcAddr RealLoader();

// A function of the real loader, or of the driver.
template <typename Function>
Function Real(const char* name) {
  const bool global = std::string_view(name) == "vkCreateInstance";
  return reinterpret_cast<Function>(global ? RealLoader()(nullptr, name) : state.real.at(name));
}

// Fills State::real through the first instance.
void FindReal(VkInstance instance);

// The error that the call must return without reaching the driver; none if it must reach it.
std::optional<VkResult> FailureOf(const char* name);

// Overwrites output parameters: pointers to non-const complete types. Others are inputs or handles.
template <typename T>
void FillWithGarbage(T /*input*/) {}
template <typename T>
requires requires {
  sizeof(T);
} &&(!std::is_const_v<T> && !std::is_void_v<T>)void FillWithGarbage(T* output) {
  if (output != nullptr) std::memset(static_cast<void*>(output), 0xa5, sizeof(T));
}

enum Kind {
#define KIND(create, destroy) k_##create,
  CREATORS(KIND)
#undef KIND
      kNone,
};

template <typename Handle>
uint64_t ValueOf(Handle handle) {
  return (uint64_t)handle;  // NOLINT: a pointer or an integer
}

// Wraps a function that returns a VkResult and, unless `kKind` is kNone, creates an object.
template <int kKind, const char* kName, typename Function>
struct Failing;
template <int kKind, const char* kName, typename... Args>
struct Failing<kKind, kName, VkResult(VKAPI_PTR*)(Args...)> {
  static VKAPI_ATTR VkResult VKAPI_CALL Call(Args... args) {
    const InDriver in_driver;
    if (const auto failure = FailureOf(kName)) {
      (FillWithGarbage(args), ...);
      return *failure;
    }
    const VkResult result = Real<VkResult(VKAPI_PTR*)(Args...)>(kName)(args...);
    if constexpr (kKind != kNone) {
      auto* object = std::get<sizeof...(Args) - 1>(std::make_tuple(args...));
      if (result == VK_SUCCESS) {
        const std::scoped_lock lock(state.mutex);
        state.live.emplace(kKind, ValueOf(*object));
        if constexpr (kKind == k_vkCreateInstance) FindReal(*object);
        if constexpr (kKind == k_vkCreateDevice) state.device = *object;
      }
    }
    return result;
  }
};

template <int kKind, const char* kName, typename Function>
struct Destroying;
template <int kKind, const char* kName, typename... Args>
struct Destroying<kKind, kName, void(VKAPI_PTR*)(Args...)> {
  static VKAPI_ATTR void VKAPI_CALL Call(Args... args) {
    const InDriver in_driver;
    const auto object = std::get<sizeof...(Args) - 2>(std::make_tuple(args...));
    if (ValueOf(object) != 0) {
      const std::scoped_lock lock(state.mutex);
      const auto found = state.live.find({kKind, ValueOf(object)});
      if (found == state.live.end()) {
        ++state.wrongly_destroyed;
        return;  // the driver would crash
      }
      state.live.erase(found);
    }
    Real<void(VKAPI_PTR*)(Args...)>(kName)(args...);
  }
};

// Wraps a function that returns memory properties in its last argument.
template <const char* kName, typename Function>
struct Describing;
template <const char* kName, typename... Args>
struct Describing<kName, void(VKAPI_PTR*)(Args...)> {
  static VKAPI_ATTR void VKAPI_CALL Call(Args... args) {
    const InDriver in_driver;
    Real<void(VKAPI_PTR*)(Args...)>(kName)(args...);
    heaps.Describe(*std::get<sizeof...(Args) - 1>(std::make_tuple(args...)));
  }
};

#define NAMES(create, destroy)                      \
  inline constexpr char kName_##create[] = #create; \
  inline constexpr char kName_##destroy[] = #destroy;
#define NAME(function) inline constexpr char kName_##function[] = #function;
CREATORS(NAMES)
OTHERS(NAME)
DESCRIBING(NAME)

}  // namespace spirloom::faults

#endif  // SPIRLOOM_TESTS_FAULTS_INTERCEPTED_H_
