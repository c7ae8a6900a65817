#include "tests/faults/vulkan_faults.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/faults/heaps.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

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
  X(vkQueueWaitIdle)                          \
  X(vkResetFences)                            \
  X(vkWaitForFences)

// Functions whose results Heaps modifies.
#define DESCRIBING(X)              \
  X(vkGetBufferMemoryRequirements) \
  X(vkGetImageMemoryRequirements)  \
  X(vkGetPhysicalDeviceMemoryProperties)

namespace spirloom::faults {
namespace {

constexpr std::array kDeviceLostFunctions = {"vkDeviceWaitIdle",      "vkGetFenceStatus",
                                             "vkGetQueryPoolResults", "vkQueueSubmit",
                                             "vkQueueWaitIdle",       "vkWaitForFences"};

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
};
State state;
Heaps heaps;

// Counts the calls of this thread into the loader and driver.
thread_local int depth = 0;
struct InDriver {
  InDriver() { ++depth; }
  ~InDriver() { --depth; }
};

PFN_vkGetInstanceProcAddr RealLoader() {
  static const auto get = reinterpret_cast<PFN_vkGetInstanceProcAddr>(
      dlsym(dlopen(REAL_VULKAN_LOADER, RTLD_NOW | RTLD_LOCAL), "vkGetInstanceProcAddr"));
  return get;
}

template <typename Function>
Function Real(const char* name) {
  const bool global = std::string_view(name) == "vkCreateInstance";
  return reinterpret_cast<Function>(global ? RealLoader()(nullptr, name) : state.real.at(name));
}

// Fills State::real through the first instance.
void FindReal(VkInstance instance);

bool MayReturnDeviceLost(std::string_view name) {
  return std::ranges::find(kDeviceLostFunctions, name) != kDeviceLostFunctions.end();
}

// The error that the call must return without reaching the driver; none if it must reach it.
std::optional<VkResult> FailureOf(const char* name) {
  const std::scoped_lock lock(state.mutex);
  if (!state.fault) return std::nullopt;
  const Fault& fault = *state.fault;
  const bool losing = fault.code == VK_ERROR_DEVICE_LOST;
  if (losing && !MayReturnDeviceLost(name)) return std::nullopt;
  if (losing && state.failed != nullptr) return fault.code;
  if (*fault.only != '\0' && std::string_view(fault.only) != name &&
      std::string_view(fault.also) != name) {
    return std::nullopt;
  }
  ++state.calls;
  if (state.calls < fault.first || state.calls - fault.first >= fault.count) return std::nullopt;
  if (state.failed == nullptr) state.failed = name;
  // A lost device executes no further work.
  if (losing) Real<PFN_vkDeviceWaitIdle>("vkDeviceWaitIdle")(state.device);
  return fault.code;
}

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

struct Wrapper {
  const char* name;
  PFN_vkVoidFunction function;
};

#define NAMES(create, destroy)               \
  constexpr char kName_##create[] = #create; \
  constexpr char kName_##destroy[] = #destroy;
#define NAME(function) constexpr char kName_##function[] = #function;
CREATORS(NAMES)
OTHERS(NAME)
DESCRIBING(NAME)

VKAPI_ATTR VkResult VKAPI_CALL AllocateMemory(VkDevice device, const VkMemoryAllocateInfo* info,
                                              const VkAllocationCallbacks* allocator,
                                              VkDeviceMemory* memory) {
  const auto driver_info = heaps.Reserve(*info);
  if (!driver_info) return VK_ERROR_OUT_OF_DEVICE_MEMORY;
  using Call = Failing<k_vkAllocateMemory, kName_vkAllocateMemory, PFN_vkAllocateMemory>;
  const VkResult result = Call::Call(device, &*driver_info, allocator, memory);
  heaps.Commit(result == VK_SUCCESS ? *memory : VK_NULL_HANDLE, *info);
  return result;
}

VKAPI_ATTR void VKAPI_CALL FreeMemory(VkDevice device, VkDeviceMemory memory,
                                      const VkAllocationCallbacks* allocator) {
  heaps.Free(memory);
  using Call = Destroying<k_vkAllocateMemory, kName_vkFreeMemory, PFN_vkFreeMemory>;
  Call::Call(device, memory, allocator);
}

VKAPI_ATTR VkResult VKAPI_CALL BeginCommandBuffer(VkCommandBuffer commands,
                                                  const VkCommandBufferBeginInfo* info) {
  {
    const std::scoped_lock lock(state.mutex);
    state.workgroups[commands] = 0;
    state.last_barriers[commands] = 0;
  }
  using Call = Failing<kNone, kName_vkBeginCommandBuffer, PFN_vkBeginCommandBuffer>;
  return Call::Call(commands, info);
}

VKAPI_ATTR void VKAPI_CALL CmdDispatchBase(VkCommandBuffer commands, uint32_t x, uint32_t y,
                                           uint32_t z, uint32_t width, uint32_t height,
                                           uint32_t layers) {
  const InDriver in_driver;
  {
    const std::scoped_lock lock(state.mutex);
    state.workgroups[commands] += uint64_t{width} * height * layers;
  }
  Real<PFN_vkCmdDispatchBase>("vkCmdDispatchBase")(commands, x, y, z, width, height, layers);
}

VKAPI_ATTR void VKAPI_CALL CmdPipelineBarrier(VkCommandBuffer commands, VkPipelineStageFlags source,
                                              VkPipelineStageFlags target, VkDependencyFlags flags,
                                              uint32_t memory_count, const VkMemoryBarrier* memory,
                                              uint32_t buffer_count,
                                              const VkBufferMemoryBarrier* buffers,
                                              uint32_t image_count,
                                              const VkImageMemoryBarrier* images) {
  const InDriver in_driver;
  {
    const std::scoped_lock lock(state.mutex);
    state.last_barriers[commands] = target;
  }
  Real<PFN_vkCmdPipelineBarrier>("vkCmdPipelineBarrier")(commands, source, target, flags,
                                                         memory_count, memory, buffer_count,
                                                         buffers, image_count, images);
}

// Whether the submission exceeds the watchdog, which then loses the device.
bool IsTooLong(uint32_t count, const VkSubmitInfo* infos) {
  const std::scoped_lock lock(state.mutex);
  uint64_t workgroups = 0;
  for (uint32_t i = 0; i < count; ++i) {
    for (uint32_t k = 0; k < infos[i].commandBufferCount; ++k) {
      workgroups += state.workgroups[infos[i].pCommandBuffers[k]];
      state.stages_after = state.last_barriers[infos[i].pCommandBuffers[k]];
    }
  }
  state.largest_submission = std::max(state.largest_submission, workgroups);
  if (state.watchdog == 0 || workgroups <= state.watchdog) return false;
  state.fault = Fault{.code = VK_ERROR_DEVICE_LOST};
  state.failed = "vkQueueSubmit";
  return true;
}

VKAPI_ATTR VkResult VKAPI_CALL QueueSubmit(VkQueue queue, uint32_t count, const VkSubmitInfo* infos,
                                           VkFence fence) {
  if (IsTooLong(count, infos)) {
    const InDriver in_driver;
    Real<PFN_vkDeviceWaitIdle>("vkDeviceWaitIdle")(state.device);
    return VK_ERROR_DEVICE_LOST;
  }
  using Call = Failing<kNone, kName_vkQueueSubmit, PFN_vkQueueSubmit>;
  return Call::Call(queue, count, infos, fence);
}

constexpr const char* kEmulated[] = {VK_EXT_MEMORY_BUDGET_EXTENSION_NAME,
                                     VK_KHR_GLOBAL_PRIORITY_EXTENSION_NAME,
                                     VK_EXT_DEVICE_FAULT_EXTENSION_NAME};

bool IsEmulated(const char* extension) {
  return std::ranges::any_of(kEmulated, [&](std::string_view name) { return name == extension; });
}

VKAPI_ATTR VkResult VKAPI_CALL EnumerateExtensions(VkPhysicalDevice device, const char* layer,
                                                   uint32_t* count,
                                                   VkExtensionProperties* extensions) {
  using Call = Failing<kNone, kName_vkEnumerateDeviceExtensionProperties,
                       PFN_vkEnumerateDeviceExtensionProperties>;
  if (state.budget == 0) return Call::Call(device, layer, count, extensions);
  constexpr auto kAdded = static_cast<uint32_t>(std::size(kEmulated));
  if (extensions != nullptr) *count -= kAdded;
  const VkResult result = Call::Call(device, layer, count, extensions);
  if (result != VK_SUCCESS) return result;
  for (uint32_t i = 0; extensions != nullptr && i < kAdded; ++i) {
    VkExtensionProperties& added = extensions[*count + i];
    added = {};
    std::strcpy(added.extensionName, kEmulated[i]);
  }
  *count += kAdded;
  return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL MemoryProperties2(VkPhysicalDevice device,
                                             VkPhysicalDeviceMemoryProperties2* properties) {
  auto* budget = static_cast<VkPhysicalDeviceMemoryBudgetPropertiesEXT*>(properties->pNext);
  std::ranges::fill(budget->heapBudget, state.budget);
  std::ranges::fill(budget->heapUsage, state.usage);
  properties->pNext = nullptr;
  Real<PFN_vkGetPhysicalDeviceMemoryProperties2>("vkGetPhysicalDeviceMemoryProperties2")(
      device, properties);
}

// Removes the emulated extensions from the request.
VKAPI_ATTR VkResult VKAPI_CALL CreateDevice(VkPhysicalDevice physical,
                                            const VkDeviceCreateInfo* info,
                                            const VkAllocationCallbacks* allocator,
                                            VkDevice* device) {
  VkDeviceCreateInfo request = *info;
  if (const auto* first = static_cast<const VkBaseInStructure*>(info->pNext);
      state.budget > 0 && first != nullptr &&
      first->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FAULT_FEATURES_EXT) {
    request.pNext = first->pNext;
  }
  VkDeviceQueueCreateInfo queue = *info->pQueueCreateInfos;
  std::vector<const char*> extensions;
  for (uint32_t i = 0; i < info->enabledExtensionCount; ++i) {
    const char* name = info->ppEnabledExtensionNames[i];
    if (state.budget == 0 || !IsEmulated(name)) extensions.push_back(name);
  }
  const auto* priority = static_cast<const VkDeviceQueueGlobalPriorityCreateInfoKHR*>(queue.pNext);
  state.priority = priority == nullptr ? 0 : static_cast<uint32_t>(priority->globalPriority);
  queue.pNext = nullptr;
  request.pQueueCreateInfos = &queue;
  request.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  request.ppEnabledExtensionNames = extensions.data();
  using Call = Failing<k_vkCreateDevice, kName_vkCreateDevice, PFN_vkCreateDevice>;
  return Call::Call(physical, &request, allocator, device);
}

// The emulated VK_EXT_device_fault.
VKAPI_ATTR VkResult VKAPI_CALL GetDeviceFaultInfo(VkDevice /*device*/,
                                                  VkDeviceFaultCountsEXT* counts,
                                                  VkDeviceFaultInfoEXT* info) {
  counts->addressInfoCount = 2;
  counts->vendorInfoCount = 1;
  std::strcpy(info->description, "Page fault");
  info->pAddressInfos[0] = {VK_DEVICE_FAULT_ADDRESS_TYPE_WRITE_INVALID_EXT, 0x7f0012345678, 0x1000};
  info->pAddressInfos[1] = {VK_DEVICE_FAULT_ADDRESS_TYPE_INSTRUCTION_POINTER_FAULT_EXT, 0xabc0, 1};
  info->pVendorInfos[0] = {"Shader engine", 7, 9};
  return VK_INCOMPLETE;  // there are more
}

const Wrapper kWrappers[] = {
#define PAIR(create, destroy)                                               \
  {#create, reinterpret_cast<PFN_vkVoidFunction>(                           \
                &Failing<k_##create, kName_##create, PFN_##create>::Call)}, \
      {#destroy, reinterpret_cast<PFN_vkVoidFunction>(                      \
                     &Destroying<k_##create, kName_##destroy, PFN_##destroy>::Call)},
#define SINGLE(function) \
  {#function,            \
   reinterpret_cast<PFN_vkVoidFunction>(&Failing<kNone, kName_##function, PFN_##function>::Call)},
#define DESCRIPTION(function) \
  {#function,                 \
   reinterpret_cast<PFN_vkVoidFunction>(&Describing<kName_##function, PFN_##function>::Call)},
    {"vkAllocateMemory", reinterpret_cast<PFN_vkVoidFunction>(&AllocateMemory)},
    {"vkFreeMemory", reinterpret_cast<PFN_vkVoidFunction>(&FreeMemory)},
    {"vkBeginCommandBuffer", reinterpret_cast<PFN_vkVoidFunction>(&BeginCommandBuffer)},
    {"vkCmdDispatchBase", reinterpret_cast<PFN_vkVoidFunction>(&CmdDispatchBase)},
    {"vkCmdPipelineBarrier", reinterpret_cast<PFN_vkVoidFunction>(&CmdPipelineBarrier)},
    {"vkQueueSubmit", reinterpret_cast<PFN_vkVoidFunction>(&QueueSubmit)},
    {"vkEnumerateDeviceExtensionProperties",
     reinterpret_cast<PFN_vkVoidFunction>(&EnumerateExtensions)},
    {"vkGetPhysicalDeviceMemoryProperties2",
     reinterpret_cast<PFN_vkVoidFunction>(&MemoryProperties2)},
    {"vkCreateDevice", reinterpret_cast<PFN_vkVoidFunction>(&CreateDevice)},
    CREATORS(PAIR) OTHERS(SINGLE) DESCRIBING(DESCRIPTION)};

constexpr const char* kGetDevice = "vkGetDeviceProcAddr";
VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL GetDevice(VkDevice device, const char* name);
VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL GetInstance(VkInstance instance, const char* name);

// The wrapper of the function, or `real` if there is none.
PFN_vkVoidFunction Wrapped(PFN_vkVoidFunction real, std::string_view name) {
  if (real == nullptr) return nullptr;
  if (name == kGetDevice) return reinterpret_cast<PFN_vkVoidFunction>(&GetDevice);
  if (name == "vkGetInstanceProcAddr") return reinterpret_cast<PFN_vkVoidFunction>(&GetInstance);
  for (const Wrapper& wrapper : kWrappers) {
    if (name == wrapper.name) return wrapper.function;
  }
  return real;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL GetDevice(VkDevice device, const char* name) {
  if (state.budget > 0 && std::string_view(name) == "vkGetDeviceFaultInfoEXT") {
    return reinterpret_cast<PFN_vkVoidFunction>(&GetDeviceFaultInfo);
  }
  return Wrapped(Real<PFN_vkGetDeviceProcAddr>(kGetDevice)(device, name), name);
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL GetInstance(VkInstance instance, const char* name) {
  return Wrapped(RealLoader()(instance, name), name);
}

void FindReal(VkInstance instance) {
  if (!state.real.empty()) return;
  for (const Wrapper& wrapper : kWrappers) {
    state.real[wrapper.name] = RealLoader()(instance, wrapper.name);
  }
  state.real[kGetDevice] = RealLoader()(instance, kGetDevice);
}

const VulkanFaults kFaults = {
    .set =
        [](const Fault& fault) {
          const std::scoped_lock lock(state.mutex);
          state.fault = fault;
          state.calls = 0;
          state.failed = nullptr;
        },
    .clear =
        [] {
          const std::scoped_lock lock(state.mutex);
          state.fault.reset();
          return std::exchange(state.failed, nullptr);
        },
    .live =
        [] {
          const std::scoped_lock lock(state.mutex);
          return state.live.size();
        },
    .in_driver = [] { return depth > 0; },
    .wrongly_destroyed =
        [] {
          const std::scoped_lock lock(state.mutex);
          return state.wrongly_destroyed;
        },
    .split_heaps = [](uint64_t first, uint64_t second) { heaps.Split(first, second); },
    .join_heaps = [] { heaps.Join(); },
    .set_watchdog =
        [](uint64_t workgroups) {
          const std::scoped_lock lock(state.mutex);
          state.watchdog = workgroups;
          state.largest_submission = 0;
        },
    .emulate_extensions =
        [](uint64_t budget, uint64_t usage) {
          state.budget = budget;
          state.usage = usage;
        },
    .priority = [] { return state.priority; },
    .largest_submission =
        [] {
          const std::scoped_lock lock(state.mutex);
          return state.largest_submission;
        },
    .stages_after =
        [] {
          const std::scoped_lock lock(state.mutex);
          return state.stages_after;
        }};

}  // namespace
}  // namespace spirloom::faults

EXPORT const spirloom::faults::VulkanFaults* spirloom_vulkan_faults() {
  return &spirloom::faults::kFaults;
}

EXPORT PFN_vkVoidFunction vkGetInstanceProcAddr(VkInstance instance, const char* name) {
  return spirloom::faults::GetInstance(instance, name);
}
