// VK_LAYER_SPIRLOOM_faults, a Vulkan layer for tests: a driver that miscompiles, rejects, crashes
// on or hangs in chosen compute pipelines, for any program.
//
//   SPIRLOOM_LAYER_FAULTS  "DIGEST=KIND,…": the faults of pipelines. DIGEST is FNV-1a (64 bits) of
//                          the SPIR-V and of specialization constant 3, which selects the function
//                          of a module that kernels share, in 16 hexadecimal digits; "*" is every
//                          pipeline. KIND:
//     wrong                float instructions of the module are replaced: its results are wrong
//     fails                vkCreateComputePipelines() returns VK_ERROR_UNKNOWN
//     crashes_compiler     vkCreateComputePipelines() ends the process
//     crashes              vkQueueSubmit() ends the process
//     lost                 vkWaitForFences() returns VK_ERROR_DEVICE_LOST, then all of the device
//                          do
//     hangs                vkWaitForFences() does not return
//                          "dispatch_base=ignored": vkCmdDispatchBase() computes nothing if its
//                          base is not 0
//   SPIRLOOM_LAYER_LOG     a file to which the layer appends the digest of each pipeline, a line
//                          each
#include <vulkan/vk_layer.h>

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/fault_layer/miscompile.h"

namespace spirloom::fault_layer {
namespace {

// Functions that the layer intercepts or calls.
#define SPIRLOOM_LAYER_FUNCTIONS(X) \
  X(BeginCommandBuffer)             \
  X(CmdDispatchBase)                \
  X(CmdBindPipeline)                \
  X(CreateComputePipelines)         \
  X(CreateShaderModule)             \
  X(DestroyDevice)                  \
  X(GetDeviceProcAddr)              \
  X(QueueSubmit)                    \
  X(QueueWaitIdle)                  \
  X(WaitForFences)

struct DeviceTable {
#define X(name) PFN_vk##name name = nullptr;
  SPIRLOOM_LAYER_FUNCTIONS(X)
#undef X
  PFN_vkDestroyShaderModule DestroyShaderModule = nullptr;  // only called
};

struct InstanceTable {
  PFN_vkGetInstanceProcAddr GetInstanceProcAddr = nullptr;
  PFN_vkDestroyInstance DestroyInstance = nullptr;
};

using Fault = std::string;  // a kind; "" is none

// All objects of the process. Handles are unique while they live, and reused ones are overwritten.
struct State {
  std::mutex mutex;
  std::map<void*, InstanceTable> instances;                 // by dispatch key
  std::map<void*, DeviceTable> devices;                     // by dispatch key
  std::map<VkShaderModule, std::vector<uint32_t>> modules;  // SPIR-V
  std::map<VkPipeline, Fault> pipelines;
  std::map<VkCommandBuffer, std::set<Fault>> commands;
  std::set<Fault> submitted;  // faults of submissions
};

State& Global() {
  static State* const state = new State;  // alive until the process ends
  return *state;
}

// The loader's dispatch table, which an object shares with its children.
template <typename Handle>
void* KeyOf(Handle handle) {
  return *reinterpret_cast<void**>(handle);
}

template <typename Handle>
DeviceTable TableOf(Handle handle) {
  const std::scoped_lock lock(Global().mutex);
  return Global().devices.at(KeyOf(handle));
}

// Continues a digest; the first one starts from kFnvBasis.
constexpr uint64_t kFnvBasis = 0xcbf29ce484222325;
uint64_t DigestOf(const void* data, size_t size, uint64_t digest) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  for (size_t i = 0; i < size; ++i) digest = (digest ^ bytes[i]) * 0x100000001b3;
  return digest;
}

uint64_t DigestOf(const std::vector<uint32_t>& code, const VkSpecializationInfo* constants) {
  constexpr uint32_t kSelector = 3;
  uint64_t digest = DigestOf(code.data(), code.size() * sizeof(uint32_t), kFnvBasis);
  if (constants == nullptr) return digest;
  for (uint32_t i = 0; i < constants->mapEntryCount; ++i) {
    const VkSpecializationMapEntry& entry = constants->pMapEntries[i];
    if (entry.constantID != kSelector) continue;
    digest =
        DigestOf(static_cast<const char*>(constants->pData) + entry.offset, entry.size, digest);
  }
  return digest;
}

// The fault of this name in the environment.
Fault FaultNamed(std::string_view name) {
  const char* variable = std::getenv("SPIRLOOM_LAYER_FAULTS");
  std::string_view rest = variable == nullptr ? "" : variable;
  while (!rest.empty()) {
    const std::string_view entry = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(entry.size() + 1, rest.size()));
    const size_t equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view which = entry.substr(0, equals);
    if (which == name || which == "*") return Fault(entry.substr(equals + 1));
  }
  return {};
}

// The fault of a pipeline.
Fault FaultOf(uint64_t digest) {
  char name[17];
  std::snprintf(name, sizeof name, "%016" PRIx64, digest);
  return FaultNamed(name);
}

void Log(uint64_t digest) {
  const char* path = std::getenv("SPIRLOOM_LAYER_LOG");
  if (path == nullptr) return;
  std::FILE* file = std::fopen(path, "a");
  if (file == nullptr) return;
  std::fprintf(file, "%016" PRIx64 "\n", digest);
  std::fclose(file);
}

[[noreturn]] void EndProcess(const char* function) {
  std::fprintf(stderr, "VK_LAYER_SPIRLOOM_faults: %s crashes\n", function);
  std::fflush(stderr);
  std::abort();
}

VkResult CreateShaderModule(VkDevice device, const VkShaderModuleCreateInfo* info,
                            const VkAllocationCallbacks* allocator, VkShaderModule* module) {
  const VkResult result = TableOf(device).CreateShaderModule(device, info, allocator, module);
  if (result != VK_SUCCESS) return result;
  const std::scoped_lock lock(Global().mutex);
  Global().modules[*module] = {info->pCode, info->pCode + info->codeSize / sizeof(uint32_t)};
  return result;
}

// Creates one pipeline, with its fault.
VkResult CreatePipeline(VkDevice device, VkPipelineCache cache, VkComputePipelineCreateInfo info,
                        const VkAllocationCallbacks* allocator, VkPipeline* pipeline) {
  std::vector<uint32_t> code;
  {
    const std::scoped_lock lock(Global().mutex);
    code = Global().modules[info.stage.module];
  }
  const uint64_t digest = DigestOf(code, info.stage.pSpecializationInfo);
  Log(digest);
  const Fault fault = FaultOf(digest);
  if (fault == "crashes_compiler") EndProcess("vkCreateComputePipelines()");
  if (fault == "fails") return VK_ERROR_UNKNOWN;
  const DeviceTable table = TableOf(device);
  VkShaderModule wrong = VK_NULL_HANDLE;
  if (fault == "wrong") {
    if (!Miscompile(code)) EndProcess("SPIRLOOM_LAYER_FAULTS=wrong of a module without floats");
    VkShaderModuleCreateInfo module{};
    module.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    module.codeSize = code.size() * sizeof(uint32_t);
    module.pCode = code.data();
    const VkResult result = table.CreateShaderModule(device, &module, nullptr, &wrong);
    if (result != VK_SUCCESS) return result;
    info.stage.module = wrong;
  }
  const VkResult result =
      table.CreateComputePipelines(device, cache, 1, &info, allocator, pipeline);
  if (wrong != VK_NULL_HANDLE) table.DestroyShaderModule(device, wrong, nullptr);
  if (result != VK_SUCCESS) return result;
  const std::scoped_lock lock(Global().mutex);
  Global().pipelines[*pipeline] = fault;
  return result;
}

VkResult CreateComputePipelines(VkDevice device, VkPipelineCache cache, uint32_t count,
                                const VkComputePipelineCreateInfo* infos,
                                const VkAllocationCallbacks* allocator, VkPipeline* pipelines) {
  VkResult result = VK_SUCCESS;
  for (uint32_t i = 0; i < count; ++i) {
    pipelines[i] = VK_NULL_HANDLE;
    const VkResult created = CreatePipeline(device, cache, infos[i], allocator, &pipelines[i]);
    if (created != VK_SUCCESS) result = created;
  }
  return result;
}

VkResult BeginCommandBuffer(VkCommandBuffer commands, const VkCommandBufferBeginInfo* info) {
  {
    const std::scoped_lock lock(Global().mutex);
    Global().commands[commands].clear();
  }
  return TableOf(commands).BeginCommandBuffer(commands, info);
}

void CmdBindPipeline(VkCommandBuffer commands, VkPipelineBindPoint point, VkPipeline pipeline) {
  {
    const std::scoped_lock lock(Global().mutex);
    Global().commands[commands].insert(Global().pipelines[pipeline]);
  }
  TableOf(commands).CmdBindPipeline(commands, point, pipeline);
}

void CmdDispatchBase(VkCommandBuffer commands, uint32_t x, uint32_t y, uint32_t z, uint32_t width,
                     uint32_t height, uint32_t depth) {
  if (x + y + z != 0 && FaultNamed("dispatch_base") == "ignored") return;
  TableOf(commands).CmdDispatchBase(commands, x, y, z, width, height, depth);
}

VkResult QueueSubmit(VkQueue queue, uint32_t count, const VkSubmitInfo* submits, VkFence fence) {
  {
    const std::scoped_lock lock(Global().mutex);
    for (uint32_t i = 0; i < count; ++i) {
      for (uint32_t k = 0; k < submits[i].commandBufferCount; ++k) {
        Global().submitted.merge(std::set(Global().commands[submits[i].pCommandBuffers[k]]));
      }
    }
    if (Global().submitted.contains("crashes")) EndProcess("vkQueueSubmit()");
  }
  return TableOf(queue).QueueSubmit(queue, count, submits, fence);
}

// What a wait returns after a submission with a fault; does not return after one that hangs.
VkResult AfterFaults(VkResult result) {
  bool hangs = false;
  bool lost = false;
  {
    const std::scoped_lock lock(Global().mutex);
    hangs = Global().submitted.contains("hangs");
    lost = Global().submitted.contains("lost");
  }
  while (hangs) std::this_thread::sleep_for(std::chrono::seconds(1));
  return lost ? VK_ERROR_DEVICE_LOST : result;
}

VkResult WaitForFences(VkDevice device, uint32_t count, const VkFence* fences, VkBool32 all,
                       uint64_t timeout) {
  return AfterFaults(TableOf(device).WaitForFences(device, count, fences, all, timeout));
}

VkResult QueueWaitIdle(VkQueue queue) { return AfterFaults(TableOf(queue).QueueWaitIdle(queue)); }

void DestroyDevice(VkDevice device, const VkAllocationCallbacks* allocator) {
  void* const key = KeyOf(device);
  TableOf(device).DestroyDevice(device, allocator);
  const std::scoped_lock lock(Global().mutex);
  Global().devices.erase(key);
}

PFN_vkVoidFunction GetDeviceProcAddr(VkDevice device, const char* name);

PFN_vkVoidFunction Intercepted(std::string_view name) {
#define X(function) \
  if (name == "vk" #function) return reinterpret_cast<PFN_vkVoidFunction>(&function);
  SPIRLOOM_LAYER_FUNCTIONS(X)
#undef X
  return nullptr;
}

PFN_vkVoidFunction GetDeviceProcAddr(VkDevice device, const char* name) {
  if (const PFN_vkVoidFunction own = Intercepted(name); own != nullptr) return own;
  return TableOf(device).GetDeviceProcAddr(device, name);
}

// The link of the chain for this layer, of which the next layer's link is the first one afterwards.
template <typename Link, typename CreateInfo>
Link* TakeLink(const CreateInfo& info, VkStructureType type) {
  auto* next = static_cast<Link*>(const_cast<void*>(info.pNext));
  while (next != nullptr && (next->sType != type || next->function != VK_LAYER_LINK_INFO)) {
    next = static_cast<Link*>(const_cast<void*>(next->pNext));
  }
  return next;
}

VkResult CreateInstance(const VkInstanceCreateInfo* info, const VkAllocationCallbacks* allocator,
                        VkInstance* instance) {
  auto* link =
      TakeLink<VkLayerInstanceCreateInfo>(*info, VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO);
  if (link == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
  const PFN_vkGetInstanceProcAddr get = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  const auto create =
      reinterpret_cast<PFN_vkCreateInstance>(get(VK_NULL_HANDLE, "vkCreateInstance"));
  const VkResult result = create(info, allocator, instance);
  if (result != VK_SUCCESS) return result;
  const std::scoped_lock lock(Global().mutex);
  Global().instances[KeyOf(*instance)] = {
      get, reinterpret_cast<PFN_vkDestroyInstance>(get(*instance, "vkDestroyInstance"))};
  return result;
}

void DestroyInstance(VkInstance instance, const VkAllocationCallbacks* allocator) {
  InstanceTable table;
  {
    const std::scoped_lock lock(Global().mutex);
    table = Global().instances.at(KeyOf(instance));
    Global().instances.erase(KeyOf(instance));
  }
  table.DestroyInstance(instance, allocator);
}

VkResult CreateDevice(VkPhysicalDevice physical, const VkDeviceCreateInfo* info,
                      const VkAllocationCallbacks* allocator, VkDevice* device) {
  auto* link =
      TakeLink<VkLayerDeviceCreateInfo>(*info, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO);
  if (link == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
  const PFN_vkGetInstanceProcAddr get_instance = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  const PFN_vkGetDeviceProcAddr get = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  const auto create =
      reinterpret_cast<PFN_vkCreateDevice>(get_instance(VK_NULL_HANDLE, "vkCreateDevice"));
  const VkResult result = create(physical, info, allocator, device);
  if (result != VK_SUCCESS) return result;
  DeviceTable table;
#define X(name) table.name = reinterpret_cast<PFN_vk##name>(get(*device, "vk" #name));
  SPIRLOOM_LAYER_FUNCTIONS(X)
#undef X
  table.DestroyShaderModule =
      reinterpret_cast<PFN_vkDestroyShaderModule>(get(*device, "vkDestroyShaderModule"));
  const std::scoped_lock lock(Global().mutex);
  Global().devices[KeyOf(*device)] = table;
  return result;
}

PFN_vkVoidFunction GetInstanceProcAddr(VkInstance instance, const char* name) {
  const std::string_view wanted = name;
  if (wanted == "vkCreateInstance") return reinterpret_cast<PFN_vkVoidFunction>(&CreateInstance);
  if (wanted == "vkDestroyInstance") return reinterpret_cast<PFN_vkVoidFunction>(&DestroyInstance);
  if (wanted == "vkCreateDevice") return reinterpret_cast<PFN_vkVoidFunction>(&CreateDevice);
  if (wanted == "vkGetInstanceProcAddr")
    return reinterpret_cast<PFN_vkVoidFunction>(&GetInstanceProcAddr);
  if (const PFN_vkVoidFunction own = Intercepted(wanted); own != nullptr) return own;
  if (instance == VK_NULL_HANDLE) return nullptr;
  PFN_vkGetInstanceProcAddr next = nullptr;
  {
    const std::scoped_lock lock(Global().mutex);
    next = Global().instances.at(KeyOf(instance)).GetInstanceProcAddr;
  }
  return next(instance, name);
}

}  // namespace
}  // namespace spirloom::fault_layer

// The entry point of the manifest.
extern "C" __attribute__((visibility("default"))) VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface* version) {
  version->loaderLayerInterfaceVersion = 2;
  version->pfnGetInstanceProcAddr = &spirloom::fault_layer::GetInstanceProcAddr;
  version->pfnGetDeviceProcAddr = &spirloom::fault_layer::GetDeviceProcAddr;
  version->pfnGetPhysicalDeviceProcAddr = nullptr;
  return VK_SUCCESS;
}
