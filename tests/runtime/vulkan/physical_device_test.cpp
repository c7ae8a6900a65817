// Properties of the physical device, and creation of devices.
#include "runtime/vulkan/physical_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "runtime/pack/capability.h"
#include "runtime/vulkan/cooperative_matrix.h"
#include "runtime/vulkan/features.h"
#include "runtime/vulkan/texture_limits.h"
#include "tests/support/device_fixture.h"
#include "tests/value_of.h"

namespace spirloom::vulkan {
namespace {

class PhysicalDeviceTest : public testing::DeviceTest {};

TEST_F(PhysicalDeviceTest, DescribesTheDevice) {
  const PhysicalDevice& physical = device().physical();
  const DeviceInfo& info = physical.info;
  EXPECT_TRUE(info.usable);
  EXPECT_FALSE(info.name.empty());
  EXPECT_FALSE(info.driver.empty());
  EXPECT_EQ(info.api_version.substr(0, 2), "1.");
  // The minimum limits of Vulkan 1.1.
  EXPECT_GE(info.max_storage_buffer_range, uint64_t{1} << 27);
  EXPECT_GE(info.max_image_dimension_3d, 256U);
  EXPECT_GE(physical.max_memory_allocation_size, uint64_t{1} << 30);
  EXPECT_GE(info.subgroup_size, 1U);
  EXPECT_EQ(info.max_loop_iterations, info.name.starts_with("llvmpipe") ? 65535U : 0U);
  EXPECT_GT(info.device_memory, 0U);
  ASSERT_EQ(info.properties.size(), pack::kDevicePropertyNames.size());
  for (size_t i = 0; i < info.properties.size(); ++i) {
    EXPECT_EQ(info.properties[i].first, pack::kDevicePropertyNames[i]);
  }
  EXPECT_GE(physical.kernel_properties.cores, 1);
  EXPECT_EQ(physical.kernel_properties.subgroup_size, info.subgroup_size);
  EXPECT_EQ(info.features, pack::CapabilityNames(physical.capabilities));
  // Basic subgroup operations in compute shaders are mandatory.
  EXPECT_NE(physical.capabilities & pack::CapabilityBit(pack::Capability::kSubgroupBasic), 0U);
}

TEST_F(PhysicalDeviceTest, HasVersionsAndIds) {
  const PhysicalDevice& physical = device().physical();
  const DeviceInfo& info = physical.info;
  EXPECT_EQ(info.vendor_id, physical.properties.vendorID);
  EXPECT_EQ(info.device_id, physical.properties.deviceID);
  EXPECT_EQ(info.api_version_number, physical.properties.apiVersion);
  EXPECT_EQ(info.driver_version_number, physical.properties.driverVersion);
  EXPECT_EQ(info.uuid.size(), std::string("uuid:").size() + 32);
  const auto found = Runtime::Create({.device = info.uuid, .cache_dir = "none"});
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->device().uuid, info.uuid);
}

TEST_F(PhysicalDeviceTest, ListIsInOrderOfPreference) {
  const auto devices = ListPhysicalDevices(instance());
  ASSERT_TRUE(devices.ok()) << devices.status().message();
  bool cpu = false;
  for (const PhysicalDevice& physical : *devices) {
    EXPECT_FALSE(cpu && physical.info.type == "discrete");
    cpu = cpu || physical.info.type == "cpu";
  }
}

TEST(TextureLimits, OnlyOneErrorMeansThatAFormatIsNotSupported) {
  const auto unsupported = IsSupported(VK_ERROR_FORMAT_NOT_SUPPORTED);
  ASSERT_TRUE(unsupported.ok());
  EXPECT_FALSE(*unsupported);
  EXPECT_TRUE(ValueOf(IsSupported(VK_SUCCESS)));
  for (const VkResult failure : {VK_ERROR_OUT_OF_HOST_MEMORY, VK_ERROR_OUT_OF_DEVICE_MEMORY}) {
    EXPECT_EQ(IsSupported(failure).status().code(), StatusCode::kOutOfMemory);
  }
}

TEST_F(PhysicalDeviceTest, TwoDevicesCoexist) {
  const auto second = Device::Create(instance(), device().physical(), pack::kAllCapabilities);
  ASSERT_TRUE(second.ok()) << second.status().message();
  EXPECT_NE((*second)->handle(), device().handle());
}

TEST_F(PhysicalDeviceTest, DevicesEnableTheRequestedCapabilities) {
  const PhysicalDevice& physical = device().physical();
  for (const uint64_t requested :
       {uint64_t{0}, pack::CapabilityBit(pack::Capability::kStorageBuffer16Bit),
        pack::CapabilityBit(pack::Capability::kShaderInt8), pack::kAllCapabilities}) {
    const auto created = Device::Create(instance(), physical, requested);
    ASSERT_TRUE(created.ok()) << created.status().message();
    EXPECT_EQ((*created)->capabilities(), physical.capabilities & requested);
  }
}

TEST_F(PhysicalDeviceTest, RejectsAnUnusableDevice) {
  PhysicalDevice old = device().physical();
  old.info.usable = false;
  EXPECT_EQ(Device::Create(instance(), old, 0).status().code(), StatusCode::kUnsupported);
}

TEST(FeatureChain, EnablesExtensionsOnlyOnOlderVersions) {
  const std::vector<std::string> extensions = {VK_KHR_8BIT_STORAGE_EXTENSION_NAME,
                                               VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME,
                                               "VK_KHR_cooperative_matrix"};
  const auto count = [&](uint32_t version) {
    return FeatureChain(version, extensions, pack::kAllCapabilities).extensions().size();
  };
  EXPECT_EQ(count(VK_API_VERSION_1_1), 2U);
  EXPECT_EQ(count(VK_API_VERSION_1_3), 1U);
  const FeatureChain none(VK_API_VERSION_1_1, {}, pack::kAllCapabilities);
  EXPECT_TRUE(none.extensions().empty());
  EXPECT_EQ(none.Capabilities(), 0U);
}

// Cooperative matrix kernels also require a subgroup size: Vulkan 1.3, or an extension in 1.2.
TEST(FeatureChain, CooperativeMatricesRequireSubgroupSizeControl) {
  constexpr uint64_t kMatrices = pack::CapabilityBit(pack::Capability::kCooperativeMatrix);
  const std::vector<std::string> one = {"VK_KHR_cooperative_matrix"};
  const std::vector<std::string> both = {"VK_KHR_cooperative_matrix",
                                         VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME};
  EXPECT_EQ(FeatureChain(VK_API_VERSION_1_3, one, kMatrices).extensions().size(), 1U);
  EXPECT_EQ(FeatureChain(VK_API_VERSION_1_2, one, kMatrices).extensions().size(), 0U);
  EXPECT_EQ(FeatureChain(VK_API_VERSION_1_2, both, kMatrices).extensions().size(), 2U);
}

// bf16 operands require cooperative matrices and another extension.
TEST(FeatureChain, BFloat16MatricesRequireCooperativeMatrices) {
  constexpr uint64_t kMatrices = pack::CapabilityBit(pack::Capability::kCooperativeMatrix);
  constexpr uint64_t kBFloat16 = pack::CapabilityBit(pack::Capability::kBFloat16Matrix);
  const std::vector<std::string> matrices = {"VK_KHR_cooperative_matrix"};
  const std::vector<std::string> bfloat16 = {"VK_KHR_shader_bfloat16"};
  const std::vector<std::string> both = {"VK_KHR_cooperative_matrix", "VK_KHR_shader_bfloat16"};
  const auto links = [](const std::vector<std::string>& extensions, uint64_t requested) {
    const FeatureChain features(VK_API_VERSION_1_3, extensions, requested);
    auto* next = static_cast<const VkBaseOutStructure*>(features.head()->pNext);
    while (next != nullptr && next->sType != static_cast<VkStructureType>(1000141000))
      next = next->pNext;
    EXPECT_EQ(next != nullptr, std::ranges::count(features.extensions(),
                                                  std::string_view("VK_KHR_shader_bfloat16")) == 1);
    return next != nullptr;
  };
  EXPECT_TRUE(links(both, kMatrices | kBFloat16));
  EXPECT_FALSE(links(both, kMatrices));
  EXPECT_FALSE(links(matrices, kMatrices | kBFloat16));
  EXPECT_FALSE(links(bfloat16, kMatrices | kBFloat16));
}

// A driver that supports all features of matrices, except those that are set to VK_FALSE.
struct MatrixDriver {
  static inline VkBool32 cooperative = VK_TRUE;
  static inline VkBool32 device_scope = VK_TRUE;

  static void VKAPI_PTR Support(VkPhysicalDevice, VkPhysicalDeviceFeatures2* chain) {
    for (auto* next = static_cast<VkBaseOutStructure*>(chain->pNext); next; next = next->pNext) {
      switch (static_cast<uint32_t>(next->sType)) {
        case 1000141000: {
          auto* features = reinterpret_cast<ShaderBFloat16Features*>(next);
          features->shaderBFloat16Type = features->shaderBFloat16DotProduct = VK_TRUE;
          features->shaderBFloat16CooperativeMatrix = VK_TRUE;
          break;
        }
        case 1000506000:
          reinterpret_cast<CooperativeMatrixFeatures*>(next)->cooperativeMatrix = cooperative;
          break;
        case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES: {
          auto* features = reinterpret_cast<VkPhysicalDeviceVulkanMemoryModelFeatures*>(next);
          features->vulkanMemoryModel = VK_TRUE;
          features->vulkanMemoryModelDeviceScope = device_scope;
          break;
        }
        case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES: {
          auto* features = reinterpret_cast<VkPhysicalDeviceSubgroupSizeControlFeatures*>(next);
          features->subgroupSizeControl = features->computeFullSubgroups = VK_TRUE;
          break;
        }
        default:
          break;
      }
    }
  }
};

constexpr uint64_t kBothMatrices = pack::CapabilityBit(pack::Capability::kCooperativeMatrix) |
                                   pack::CapabilityBit(pack::Capability::kBFloat16Matrix);

struct MatrixFeatures : FeatureChain {
  MatrixFeatures()
      : FeatureChain(VK_API_VERSION_1_3, {"VK_KHR_cooperative_matrix", "VK_KHR_shader_bfloat16"},
                     kBothMatrices) {
    InstanceFunctions fn{};
    fn.vkGetPhysicalDeviceFeatures2 = &MatrixDriver::Support;
    Query(fn, VK_NULL_HANDLE);
    DisableUnrequested();
  }
};

TEST(FeatureChain, BFloat16MatricesAreCooperativeMatrices) {
  EXPECT_EQ(MatrixFeatures().Capabilities(), kBothMatrices);
  MatrixDriver::cooperative = VK_FALSE;
  EXPECT_EQ(MatrixFeatures().Capabilities(), 0U);
  MatrixDriver::cooperative = VK_TRUE;
}

// With the memory model, atomics need the feature vulkanMemoryModelDeviceScope.
TEST(FeatureChain, TheMemoryModelIsEnabledForMatricesAndWithDeviceScope) {
  const auto enabled = [] {
    MatrixFeatures features;
    auto* next = static_cast<const VkBaseOutStructure*>(features.head()->pNext);
    while (next->sType != VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES)
      next = next->pNext;
    const auto* model = reinterpret_cast<const VkPhysicalDeviceVulkanMemoryModelFeatures*>(next);
    EXPECT_EQ(model->vulkanMemoryModel, model->vulkanMemoryModelDeviceScope);
    EXPECT_EQ(features.Capabilities(), model->vulkanMemoryModel == VK_TRUE ? kBothMatrices : 0U);
    return model->vulkanMemoryModel;
  };
  EXPECT_EQ(enabled(), VK_TRUE);
  for (VkBool32* feature : {&MatrixDriver::cooperative, &MatrixDriver::device_scope}) {
    *feature = VK_FALSE;
    EXPECT_EQ(enabled(), VK_FALSE);
    *feature = VK_TRUE;
  }
}

TEST(FeatureChain, EnablesBFloat16MatricesWithoutDotProducts) {
  MatrixFeatures features;
  EXPECT_EQ(EnabledCapabilities(features.head()), kBothMatrices);
  // The features are added to the chain of an application that enables none of them.
  VkPhysicalDeviceFeatures2 chain{};
  chain.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  ShaderBFloat16Features application_features{};
  application_features.sType = static_cast<VkStructureType>(1000141000);
  chain.pNext = &application_features;
  features.AddTo(chain);
  EXPECT_EQ(EnabledCapabilities(&chain), kBothMatrices);
  EXPECT_EQ(application_features.shaderBFloat16Type, VK_TRUE);
  EXPECT_EQ(application_features.shaderBFloat16CooperativeMatrix, VK_TRUE);
  EXPECT_EQ(application_features.shaderBFloat16DotProduct, VK_FALSE);
  application_features.shaderBFloat16Type = VK_FALSE;
  EXPECT_EQ(EnabledCapabilities(&chain), pack::CapabilityBit(pack::Capability::kCooperativeMatrix));
}

// Without a struct in the chain of the application, one is added.
TEST(FeatureChain, BFloat16MatricesAreAddedWithoutDotProducts) {
  MatrixFeatures features;
  VkPhysicalDeviceFeatures2 chain{};
  chain.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  features.AddTo(chain);
  EXPECT_EQ(EnabledCapabilities(&chain), kBothMatrices);
  auto* next = static_cast<VkBaseOutStructure*>(chain.pNext);
  while (next != nullptr && next->sType != static_cast<VkStructureType>(1000141000))
    next = next->pNext;
  ASSERT_NE(next, nullptr);
  EXPECT_EQ(reinterpret_cast<ShaderBFloat16Features*>(next)->shaderBFloat16DotProduct, VK_FALSE);
}

TEST(CooperativeMatrix, RequiresAShapeAndASubgroupSize) {
  CooperativeMatrixShape shape{};
  shape.m = shape.n = shape.k = 16;
  shape.c_type = shape.result_type = 1;
  shape.scope = 3;
  VkPhysicalDeviceLimits limits{};
  limits.maxComputeSharedMemorySize = 32768;
  VkPhysicalDeviceSubgroupSizeControlProperties subgroups{};
  subgroups.minSubgroupSize = 32;
  subgroups.maxSubgroupSize = 64;
  subgroups.requiredSubgroupSizeStages = VK_SHADER_STAGE_COMPUTE_BIT;
  VkShaderStageFlags stages = VK_SHADER_STAGE_COMPUTE_BIT;
  const auto is_supported = [&] {
    return MatrixCapabilities({&shape, 1}, stages, limits, subgroups) ==
           pack::CapabilityBit(pack::Capability::kCooperativeMatrix);
  };
  EXPECT_TRUE(is_supported());
  EXPECT_EQ(MatrixCapabilities({}, stages, limits, subgroups), 0U);
  const auto fails_with = [&](auto& value, auto other) {
    const auto original = std::exchange(value, other);
    const bool supported = is_supported();
    value = original;
    return !supported;
  };
  EXPECT_TRUE(fails_with(shape.n, 8));
  EXPECT_TRUE(fails_with(shape.k, 8));
  EXPECT_TRUE(fails_with(shape.a_type, 1));
  EXPECT_TRUE(fails_with(shape.c_type, 0));
  EXPECT_TRUE(fails_with(shape.scope, 2));
  EXPECT_TRUE(fails_with(shape.saturating, VK_TRUE));
  EXPECT_TRUE(fails_with(stages, VK_SHADER_STAGE_FRAGMENT_BIT));
  EXPECT_TRUE(fails_with(limits.maxComputeSharedMemorySize, 16384));
  EXPECT_TRUE(fails_with(subgroups.minSubgroupSize, 64));
  EXPECT_TRUE(fails_with(subgroups.maxSubgroupSize, 16));
  EXPECT_TRUE(fails_with(subgroups.requiredSubgroupSizeStages, 0));
}

// With the properties of an H200.
TEST(CooperativeMatrix, SupportsBFloat16InAdditionToFloat16) {
  constexpr uint32_t kBFloat16 = 1000141000;
  CooperativeMatrixShape float16{};
  float16.m = float16.n = float16.k = 16;
  float16.c_type = float16.result_type = 1;
  float16.scope = 3;
  CooperativeMatrixShape bfloat16 = float16;
  bfloat16.a_type = bfloat16.b_type = kBFloat16;
  VkPhysicalDeviceLimits limits{};
  limits.maxComputeSharedMemorySize = 49152;
  VkPhysicalDeviceSubgroupSizeControlProperties subgroups{};
  subgroups.minSubgroupSize = subgroups.maxSubgroupSize = 32;
  subgroups.requiredSubgroupSizeStages = VK_SHADER_STAGE_COMPUTE_BIT;
  const auto capabilities = [&](std::vector<CooperativeMatrixShape> shapes) {
    return MatrixCapabilities(shapes, VK_SHADER_STAGE_COMPUTE_BIT, limits, subgroups);
  };
  constexpr uint64_t kFloat16 = pack::CapabilityBit(pack::Capability::kCooperativeMatrix);
  constexpr uint64_t kBoth = kFloat16 | pack::CapabilityBit(pack::Capability::kBFloat16Matrix);
  EXPECT_EQ(capabilities({float16, bfloat16}), kBoth);
  EXPECT_EQ(capabilities({bfloat16}), 0U);
  const auto with = [&](uint32_t CooperativeMatrixShape::*member, uint32_t value) {
    CooperativeMatrixShape other = bfloat16;
    other.*member = value;
    return capabilities({float16, other});
  };
  EXPECT_EQ(with(&CooperativeMatrixShape::k, 8), kFloat16);
  EXPECT_EQ(with(&CooperativeMatrixShape::b_type, 0), kFloat16);
  EXPECT_EQ(with(&CooperativeMatrixShape::c_type, kBFloat16), kFloat16);
  EXPECT_EQ(with(&CooperativeMatrixShape::result_type, kBFloat16), kFloat16);
  EXPECT_EQ(with(&CooperativeMatrixShape::scope, 2), kFloat16);
  EXPECT_EQ(with(&CooperativeMatrixShape::saturating, VK_TRUE), kFloat16);
  subgroups.requiredSubgroupSizeStages = 0;
  EXPECT_EQ(capabilities({float16, bfloat16}), 0U);
}

TEST(FeatureChain, ContainsOnlyRequestedFeatures) {
  const std::vector<std::string> extensions = {VK_KHR_8BIT_STORAGE_EXTENSION_NAME,
                                               VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME,
                                               "VK_KHR_cooperative_matrix"};
  const FeatureChain empty(VK_API_VERSION_1_3, extensions, 0);
  EXPECT_TRUE(empty.extensions().empty());
  EXPECT_EQ(empty.head()->pNext, nullptr);
  const FeatureChain bytes(VK_API_VERSION_1_1, extensions,
                           pack::CapabilityBit(pack::Capability::kStorageBuffer8Bit));
  ASSERT_EQ(bytes.extensions().size(), 1U);
  EXPECT_STREQ(bytes.extensions()[0], VK_KHR_8BIT_STORAGE_EXTENSION_NAME);
  const auto* only = static_cast<const VkBaseOutStructure*>(bytes.head()->pNext);
  EXPECT_EQ(only->sType, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES);
  EXPECT_EQ(only->pNext, nullptr);
}

TEST_F(PhysicalDeviceTest, FeaturesAreAddedToAnotherChain) {
  const PhysicalDevice& physical = device().physical();
  const uint64_t requested = pack::CapabilityBit(pack::Capability::kShaderInt8) |
                             pack::CapabilityBit(pack::Capability::kStorageBuffer16Bit);
  const uint64_t supported = physical.capabilities & requested;
  if (supported == 0) GTEST_SKIP() << "The device has neither feature.";
  VkPhysicalDeviceVulkan11Features version{};
  version.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
  VkPhysicalDeviceFeatures2 chain{};
  chain.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  chain.pNext = &version;
  EXPECT_EQ(EnabledCapabilities(&chain), 0U);
  FeatureChain features(physical.api_version, physical.extensions, requested);
  features.Query(instance().fn(), physical.handle);
  features.DisableUnrequested();
  features.AddTo(chain);
  EXPECT_EQ(EnabledCapabilities(&chain), supported);
  EXPECT_EQ(version.storageBuffer16BitAccess, VK_TRUE);
  for (auto* next = static_cast<VkBaseOutStructure*>(version.pNext); next; next = next->pNext) {
    EXPECT_NE(next->sType, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES);
  }
}

// A layer on the driver whose enumeration of extensions fails.
struct FaultyDriver {
  static inline PFN_vkGetInstanceProcAddr real = nullptr;
  static inline VkResult first = VK_SUCCESS;   // result of the call for the count
  static inline VkResult second = VK_SUCCESS;  // result of the first call for the names
  static inline int calls = 0;

  static PFN_vkVoidFunction VKAPI_PTR Get(VkInstance instance, const char* name) {
    if (std::string_view(name) != "vkEnumerateDeviceExtensionProperties") {
      return real(instance, name);
    }
    return reinterpret_cast<PFN_vkVoidFunction>(&Enumerate);
  }

  static VkResult VKAPI_PTR Enumerate(VkPhysicalDevice, const char*, uint32_t* count,
                                      VkExtensionProperties* out) {
    ++calls;
    if (out == nullptr) {
      *count = first == VK_SUCCESS ? 1 : 0xFFFFFF;  // undefined after a failure
      return first;
    }
    if (second != VK_SUCCESS && calls == 2) return second;
    *count = 1;
    std::strcpy(out[0].extensionName, "VK_EXT_test");
    return VK_SUCCESS;
  }
};

TEST_F(PhysicalDeviceTest, FailingDevicesAreNotListed) {
  FaultyDriver::real = ValueOf(LoadLoader());
  std::vector<std::string> log;
  InstanceOptions options;
  options.host.log = [&](LogLevel, std::string_view text) { log.emplace_back(text); };
  const auto instance =
      Instance::Adopt({DeviceTest::instance().handle(), kApiVersion, &FaultyDriver::Get}, options);
  ASSERT_TRUE(instance.ok()) << instance.status().message();
  const VkPhysicalDevice handle = device().physical().handle;
  const auto describe = [&](VkResult first, VkResult second) {
    FaultyDriver::first = first;
    FaultyDriver::second = second;
    FaultyDriver::calls = 0;
    return DescribeDevice(**instance, handle);
  };
  EXPECT_EQ(describe(VK_ERROR_OUT_OF_HOST_MEMORY, VK_SUCCESS).status().message(),
            "vkEnumerateDeviceExtensionProperties returns VK_ERROR_OUT_OF_HOST_MEMORY.");
  EXPECT_FALSE(describe(VK_SUCCESS, VK_ERROR_OUT_OF_HOST_MEMORY).ok());
  const auto incomplete = describe(VK_SUCCESS, VK_INCOMPLETE);
  ASSERT_TRUE(incomplete.ok()) << incomplete.status().message();
  EXPECT_TRUE(incomplete->HasExtension("VK_EXT_test"));
  FaultyDriver::first = VK_ERROR_INITIALIZATION_FAILED;
  EXPECT_FALSE(ListPhysicalDevices(**instance).ok()) << "no other device";
  ASSERT_FALSE(log.empty());
  EXPECT_NE(log[0].find("ignored because querying it failed: vkEnumerateDeviceExtension"),
            std::string::npos);
}

// A query of features must not cause validation messages of layers older than an extension.
TEST_F(PhysicalDeviceTest, QueryingFeaturesCausesNoMessages) {
  FeatureChain features(VK_API_VERSION_1_3, {"VK_KHR_cooperative_matrix", "VK_KHR_shader_bfloat16"},
                        pack::kAllCapabilities);
  features.Query(instance().fn(), device().physical().handle);
}

}  // namespace
}  // namespace spirloom::vulkan
