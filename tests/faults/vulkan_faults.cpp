#include "tests/faults/vulkan_faults.h"

#include <string_view>
#include <utility>

#include "tests/faults/emulated_extensions.h"
#include "tests/faults/intercepted.h"
#include "tests/faults/submissions.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace spirloom::faults {
namespace {

struct Wrapper {
  const char* name;
  PFN_vkVoidFunction function;
};

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
    {"vkGetPhysicalDeviceToolProperties", reinterpret_cast<PFN_vkVoidFunction>(&ToolProperties)},
    {"vkCmdBeginDebugUtilsLabelEXT", reinterpret_cast<PFN_vkVoidFunction>(&BeginLabel)},
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
    .emulate_tool =
        [](VkToolPurposeFlags purposes) {
          state.tool = purposes;
          state.labels = 0;
        },
    .labels = [] { return state.labels; },
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

void FindReal(VkInstance instance) {
  if (!state.real.empty()) return;
  for (const Wrapper& wrapper : kWrappers) {
    state.real[wrapper.name] = RealLoader()(instance, wrapper.name);
  }
  state.real[kGetDevice] = RealLoader()(instance, kGetDevice);
}

}  // namespace spirloom::faults

EXPORT const spirloom::faults::VulkanFaults* spirloom_vulkan_faults() {
  return &spirloom::faults::kFaults;
}

EXPORT PFN_vkVoidFunction vkGetInstanceProcAddr(VkInstance instance, const char* name) {
  return spirloom::faults::GetInstance(instance, name);
}
