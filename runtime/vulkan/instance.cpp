#include "runtime/vulkan/instance.h"

#include <array>
#include <cstdio>
#include <mutex>
#include <vector>

#include "runtime/base/error.h"

namespace spirloom::vulkan {
namespace {

constexpr const char* kValidationLayer = "VK_LAYER_KHRONOS_validation";
constexpr VkDebugUtilsMessageSeverityFlagsEXT kSeverities =
    VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
// Not GENERAL: that is the loader's talk of other drivers.
constexpr VkDebugUtilsMessageTypeFlagsEXT kTypes = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT |
                                                   VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT;

// Functions of an extension are asked for per instance: volk's global pointers are those of the
// first.
template <typename Function>
Function Load(VkInstance instance, const char* name) {
  return reinterpret_cast<Function>(vkGetInstanceProcAddr(instance, name));
}

Status CreateStatus(VkResult result) {
  if (result == VK_ERROR_LAYER_NOT_PRESENT || result == VK_ERROR_EXTENSION_NOT_PRESENT) {
    return Error(StatusCode::kNotFound,
                 {"The Vulkan validation layer (", kValidationLayer,
                  ") is not installed. On Debian and Ubuntu: apt-get install "
                  "vulkan-validationlayers."});
  }
  if (result == VK_ERROR_INCOMPATIBLE_DRIVER) {
    return Error(
        StatusCode::kNotFound,
        {"The Vulkan loader finds no driver (VK_ERROR_INCOMPATIBLE_DRIVER). Install one for "
         "this machine's GPU, or Mesa's software driver (Debian: mesa-vulkan-drivers)."});
  }
  return ToStatus(result, "vkCreateInstance");
}

}  // namespace

Status LoadLoader() {
  static const VkResult result = volkInitialize();
  if (result != VK_SUCCESS) {
    return Error(StatusCode::kNotFound,
                 {"No Vulkan loader (libvulkan) is found. On Debian and Ubuntu: apt-get install "
                  "libvulkan1."});
  }
  if (volkGetInstanceVersion() < VK_API_VERSION_1_1) {
    return Error(StatusCode::kNotFound,
                 {"The Vulkan loader has version 1.0; at least 1.1 is needed."});
  }
  return {};
}

Result<std::unique_ptr<Instance>> Instance::Create(const InstanceOptions& options) {
  SPIRLOOM_TRY(LoadLoader());
  std::unique_ptr<Instance> instance(new Instance());
  SPIRLOOM_TRY(instance->Initialize(options));
  return instance;
}

Status Instance::Initialize(const InstanceOptions& options) {
  const VkApplicationInfo application{.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                      .pNext = nullptr,
                                      .pApplicationName = "spirloom",
                                      .applicationVersion = 0,
                                      .pEngineName = "spirloom",
                                      .engineVersion = 0,
                                      .apiVersion = kApiVersion};
  const VkValidationFeatureEnableEXT enabled =
      VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
  const VkValidationFeaturesEXT features{.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
                                         .pNext = nullptr,
                                         .enabledValidationFeatureCount = 1,
                                         .pEnabledValidationFeatures = &enabled,
                                         .disabledValidationFeatureCount = 0,
                                         .pDisabledValidationFeatures = nullptr};
  const std::array<const char*, 2> extensions = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME,
                                                 VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME};
  VkInstanceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  info.pApplicationInfo = &application;
  if (options.validation) {
    info.pNext = &features;
    info.enabledLayerCount = 1;
    info.ppEnabledLayerNames = &kValidationLayer;
    info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
    info.ppEnabledExtensionNames = extensions.data();
  }
  SPIRLOOM_TRY(CreateStatus(vkCreateInstance(&info, /*pAllocator=*/nullptr, &handle_)));
  // The functions are the loader's, the same for every instance; several threads may come here.
  static std::once_flag loaded;
  std::call_once(loaded, [this] { volkLoadInstanceOnly(handle_); });
  return options.validation ? CreateMessenger() : Status();
}

Status Instance::CreateMessenger() {
  debug_utils_ = true;
  const VkDebugUtilsMessengerCreateInfoEXT info{
      .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
      .pNext = nullptr,
      .flags = 0,
      .messageSeverity = kSeverities,
      .messageType = kTypes,
      .pfnUserCallback = &Instance::OnMessage,
      .pUserData = this};
  const auto create =
      Load<PFN_vkCreateDebugUtilsMessengerEXT>(handle_, "vkCreateDebugUtilsMessengerEXT");
  return ToStatus(create(handle_, &info, /*pAllocator=*/nullptr, &messenger_),
                  "vkCreateDebugUtilsMessengerEXT");
}

VkBool32 Instance::OnMessage(VkDebugUtilsMessageSeverityFlagBitsEXT /*severity*/,
                             VkDebugUtilsMessageTypeFlagsEXT /*types*/,
                             const VkDebugUtilsMessengerCallbackDataEXT* data, void* user) {
  static_cast<Instance*>(user)->messages_.fetch_add(1);
  std::fprintf(stderr, "vulkan validation: %s\n", data->pMessage);
  return VK_FALSE;
}

Instance::~Instance() {
  if (messenger_ != VK_NULL_HANDLE) {
    const auto destroy =
        Load<PFN_vkDestroyDebugUtilsMessengerEXT>(handle_, "vkDestroyDebugUtilsMessengerEXT");
    destroy(handle_, messenger_, /*pAllocator=*/nullptr);
  }
  if (handle_ != VK_NULL_HANDLE) vkDestroyInstance(handle_, /*pAllocator=*/nullptr);
}

}  // namespace spirloom::vulkan
