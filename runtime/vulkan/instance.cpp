#include "runtime/vulkan/instance.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/base/guarded.h"
#include "runtime/vulkan/resident_drivers.h"

namespace spirloom::vulkan {
namespace {

constexpr const char* kValidationLayer = "VK_LAYER_KHRONOS_validation";
constexpr VkDebugUtilsMessageSeverityFlagsEXT kSeverities =
    VK_DEBUG_UTILS_MESSAGE_SEVERITY_INFO_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
    VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
// Without GENERAL: the loader uses it for messages about other drivers.
constexpr VkDebugUtilsMessageTypeFlagsEXT kTypes = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT |
                                                   VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT;

Status CreateStatus(VkResult result) {
  if (result == VK_ERROR_LAYER_NOT_PRESENT || result == VK_ERROR_EXTENSION_NOT_PRESENT) {
    return Error(StatusCode::kUnavailable,
                 "The Vulkan validation layer ({}) is not installed. On Debian and Ubuntu: apt-get "
                 "install vulkan-validationlayers.",
                 kValidationLayer);
  }
  if (result == VK_ERROR_INCOMPATIBLE_DRIVER) {
    return Error(
        StatusCode::kUnavailable,
        "The Vulkan loader finds no driver (VK_ERROR_INCOMPATIBLE_DRIVER). Install one for this "
        "machine's GPU, or Mesa's software driver (Debian: mesa-vulkan-drivers).");
  }
  return ToStatus(result, "vkCreateInstance");
}

// The instance extensions of the loader and the drivers; empty if they cannot be listed.
std::vector<VkExtensionProperties> ListExtensions(PFN_vkGetInstanceProcAddr get) {
  const auto list = reinterpret_cast<PFN_vkEnumerateInstanceExtensionProperties>(
      get(nullptr, "vkEnumerateInstanceExtensionProperties"));
  uint32_t count = 0;
  if (list == nullptr || list(/*pLayerName=*/nullptr, &count, nullptr) != VK_SUCCESS) return {};
  std::vector<VkExtensionProperties> extensions(count);
  if (list(/*pLayerName=*/nullptr, &count, extensions.data()) != VK_SUCCESS) return {};
  extensions.resize(count);
  return extensions;
}

bool Contains(const std::vector<VkExtensionProperties>& extensions, const char* name) {
  return std::ranges::any_of(extensions, [name](const VkExtensionProperties& extension) {
    return std::strcmp(extension.extensionName, name) == 0;
  });
}

}  // namespace

Instance::Instance(const InstanceOptions& options) : host_(options.host) {
  if (options.allocator != nullptr) allocator_ = *options.allocator;
}

Result<std::unique_ptr<Instance>> Instance::Create(const InstanceOptions& options) {
  std::unique_ptr<Instance> instance(new Instance(options));
  SPIRLOOM_TRY_ASSIGN(instance->get_, LoadLoader());
  SPIRLOOM_TRY(instance->Initialize(options.validation));
  return instance;
}

Result<std::unique_ptr<Instance>> Instance::Adopt(const AdoptedInstance& adopted,
                                                  const InstanceOptions& options) {
  std::unique_ptr<Instance> instance(new Instance(options));
  instance->owned_ = false;
  instance->get_ = adopted.get;
  if (adopted.get == nullptr) {
    SPIRLOOM_TRY_ASSIGN(instance->get_, LoadLoader());
  }
  instance->handle_ = adopted.handle;
  instance->api_version_ = std::min(adopted.api_version, kApiVersion);
  SPIRLOOM_TRY(instance->functions_.Load(instance->get_, adopted.handle));
  return instance;
}

Status Instance::Initialize(bool validation) {
  const VkApplicationInfo application{.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                      .pNext = nullptr,
                                      .pApplicationName = "spirloom",
                                      .applicationVersion = 0,
                                      .pEngineName = "spirloom",
                                      .engineVersion = 0,
                                      .apiVersion = kApiVersion};
  const std::array<VkValidationFeatureEnableEXT, 2> enabled = {
      VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT,
      VK_VALIDATION_FEATURE_ENABLE_DEBUG_PRINTF_EXT};
  const bool debug_printf = std::getenv("SPIRLOOM_DEBUG_PRINTF") != nullptr;
  const VkValidationFeaturesEXT features{.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
                                         .pNext = nullptr,
                                         .enabledValidationFeatureCount = debug_printf ? 2U : 1U,
                                         .pEnabledValidationFeatures = enabled.data(),
                                         .disabledValidationFeatureCount = 0,
                                         .pDisabledValidationFeatures = nullptr};
  const std::vector<VkExtensionProperties> listed = ListExtensions(get_);
  std::vector<const char*> extensions;
  VkInstanceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  info.pApplicationInfo = &application;
  // Lists devices of VK_KHR_portability_subset, such as those of MoltenVK.
  if (Contains(listed, VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME)) {
    info.flags = VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR;
    extensions.push_back(VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME);
  }
  // The loader implements VK_EXT_debug_utils for all drivers.
  debug_utils_ = validation || Contains(listed, VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
  labels_ = debug_utils_ && (validation || std::getenv("SPIRLOOM_DEBUG_LABELS") != nullptr);
  if (debug_utils_) extensions.push_back(VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
  if (validation) {
    extensions.push_back(VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME);
    info.pNext = &features;
    info.enabledLayerCount = 1;
    info.ppEnabledLayerNames = &kValidationLayer;
  }
  info.enabledExtensionCount = static_cast<uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  const auto create = Get<PFN_vkCreateInstance>("vkCreateInstance");
  VkInstance handle = VK_NULL_HANDLE;
  SPIRLOOM_TRY(CreateStatus(create(&info, allocator(), &handle)));
  handle_ = handle;
  SPIRLOOM_TRY(functions_.Load(get_, handle_));
  KeepDriversLoaded(get_);
  return validation ? CreateMessenger() : Status();
}

Status Instance::CreateMessenger() {
  const VkDebugUtilsMessengerCreateInfoEXT info{
      .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
      .pNext = nullptr,
      .flags = 0,
      .messageSeverity = kSeverities,
      .messageType = kTypes,
      .pfnUserCallback = &Instance::OnMessage,
      .pUserData = this};
  const auto create = Get<PFN_vkCreateDebugUtilsMessengerEXT>("vkCreateDebugUtilsMessengerEXT");
  VkDebugUtilsMessengerEXT messenger = VK_NULL_HANDLE;
  SPIRLOOM_TRY(
      ToStatus(create(handle_, &info, allocator(), &messenger), "vkCreateDebugUtilsMessengerEXT"));
  messenger_ = messenger;
  return {};
}

VkBool32 Instance::OnMessage(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                             VkDebugUtilsMessageTypeFlagsEXT /*types*/,
                             const VkDebugUtilsMessengerCallbackDataEXT* data, void* user) {
  auto& instance = *static_cast<Instance*>(user);
  const bool info = severity == VK_DEBUG_UTILS_MESSAGE_SEVERITY_INFO_BIT_EXT;
  if (info) {  // of debugPrintfEXT(), or not of interest
    const char* id = data->pMessageIdName;
    if (id == nullptr || std::strstr(id, "DEBUG-PRINTF") == nullptr) return VK_FALSE;
  }
  // The features that the layers enable for debugPrintfEXT().
  for (const char* change : {"Internal Warning: Forcing ", "Internal Warning: Adding ",
                             "Warning that validation is adjusting settings"})
    if (std::strstr(data->pMessage, change) != nullptr) return VK_FALSE;
  if (!info) instance.messages_.fetch_add(1);
  const char* source = info ? "debug printf: " : "vulkan validation: ";
  if (instance.host_.log) {
    // Exceptions must not propagate through the driver.
    (void)Guarded([&] {
      instance.host_.Log(info ? LogLevel::kInfo : LogLevel::kError, "{}{}", source, data->pMessage);
      return Status();
    });
  } else {
    std::fprintf(stderr, "%s%s\n", source, data->pMessage);
  }
  return VK_FALSE;
}

Instance::~Instance() {
  if (messenger_ != VK_NULL_HANDLE) {
    const auto destroy =
        Get<PFN_vkDestroyDebugUtilsMessengerEXT>("vkDestroyDebugUtilsMessengerEXT");
    destroy(handle_, messenger_, allocator());
  }
  // vkDestroyInstance is null if loading the table failed.
  if (owned_ && !leaked_ && handle_ != VK_NULL_HANDLE && functions_.vkDestroyInstance != nullptr) {
    functions_.vkDestroyInstance(handle_, allocator());
  }
}

}  // namespace spirloom::vulkan
