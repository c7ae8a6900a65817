// What this machine's device reports, and devices made of it.
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
#include "tests/unit/runtime/device_fixture.h"
#include "tests/value_of.h"

namespace spirloom::vulkan {
namespace {

class PhysicalDeviceTest : public testing::DeviceTest {};

TEST_F(PhysicalDeviceTest, DescribesItself) {
  const PhysicalDevice& physical = device().physical();
  const DeviceInfo& info = physical.info;
  EXPECT_TRUE(info.usable);
  EXPECT_FALSE(info.name.empty());
  EXPECT_FALSE(info.driver.empty());
  EXPECT_EQ(info.api_version.substr(0, 2), "1.");
  // The least that Vulkan 1.1 allows.
  EXPECT_GE(info.max_storage_buffer_range, uint64_t{1} << 27);
  EXPECT_GE(info.max_image_dimension_3d, 256U);
  EXPECT_GE(physical.max_memory_allocation_size, uint64_t{1} << 30);
  EXPECT_GE(info.subgroup_size, 1U);
  EXPECT_GT(info.device_memory, 0U);
  EXPECT_EQ(info.features, pack::CapabilityNames(physical.capabilities));
  // Basic subgroup operations in compute shaders are not optional.
  EXPECT_NE(physical.capabilities & pack::CapabilityBit(pack::Capability::kSubgroupBasic), 0U);
}

TEST_F(PhysicalDeviceTest, HasNumbersAndIds) {
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

TEST(TextureLimits, OnlyOneAnswerMeansThatAFormatIsNotSupported) {
  const auto unsupported = IsSupported(VK_ERROR_FORMAT_NOT_SUPPORTED);
  ASSERT_TRUE(unsupported.ok());
  EXPECT_FALSE(*unsupported);
  EXPECT_TRUE(ValueOf(IsSupported(VK_SUCCESS)));
  for (const VkResult failure : {VK_ERROR_OUT_OF_HOST_MEMORY, VK_ERROR_OUT_OF_DEVICE_MEMORY}) {
    EXPECT_EQ(IsSupported(failure).status().code(), StatusCode::kOutOfMemory);
  }
}

TEST_F(PhysicalDeviceTest, TwoDevicesLiveSideBySide) {
  const auto second = Device::Create(instance(), device().physical(), pack::kAllCapabilities);
  ASSERT_TRUE(second.ok()) << second.status().message();
  EXPECT_NE((*second)->handle(), device().handle());
  EXPECT_TRUE((*second)->WaitIdle().ok());
}

TEST_F(PhysicalDeviceTest, DevicesHaveTheCapabilitiesThatAreWanted) {
  const PhysicalDevice& physical = device().physical();
  for (const uint64_t wanted :
       {uint64_t{0}, pack::CapabilityBit(pack::Capability::kStorageBuffer16Bit),
        pack::CapabilityBit(pack::Capability::kShaderInt8), pack::kAllCapabilities}) {
    const auto made = Device::Create(instance(), physical, wanted);
    ASSERT_TRUE(made.ok()) << made.status().message();
    EXPECT_EQ((*made)->capabilities(), physical.capabilities & wanted);
  }
}

TEST_F(PhysicalDeviceTest, RefusesAnUnusableDevice) {
  PhysicalDevice old = device().physical();
  old.info.usable = false;
  EXPECT_EQ(Device::Create(instance(), old, 0).status().code(), StatusCode::kUnsupported);
}

TEST(FeatureChain, NamesExtensionsOnOldDevicesOnly) {
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

// Matrix kernels want subgroups of their size too, which Vulkan 1.3 has, and 1.2 with an extension.
TEST(FeatureChain, CooperativeMatricesComeWithSubgroupSizes) {
  constexpr uint64_t kMatrices = pack::CapabilityBit(pack::Capability::kCooperativeMatrix);
  const std::vector<std::string> one = {"VK_KHR_cooperative_matrix"};
  const std::vector<std::string> both = {"VK_KHR_cooperative_matrix",
                                         VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME};
  EXPECT_EQ(FeatureChain(VK_API_VERSION_1_3, one, kMatrices).extensions().size(), 1U);
  EXPECT_EQ(FeatureChain(VK_API_VERSION_1_2, one, kMatrices).extensions().size(), 0U);
  EXPECT_EQ(FeatureChain(VK_API_VERSION_1_2, both, kMatrices).extensions().size(), 2U);
}

// Their factors may be bfloat16 where there are such matrices, and the extension.
TEST(FeatureChain, BFloat16MatricesComeWithCooperativeOnes) {
  constexpr uint64_t kMatrices = pack::CapabilityBit(pack::Capability::kCooperativeMatrix);
  constexpr uint64_t kBFloat16 = pack::CapabilityBit(pack::Capability::kBFloat16Matrix);
  const std::vector<std::string> halves = {"VK_KHR_cooperative_matrix"};
  const std::vector<std::string> alone = {"VK_KHR_shader_bfloat16"};
  const std::vector<std::string> both = {"VK_KHR_cooperative_matrix", "VK_KHR_shader_bfloat16"};
  const auto links = [](const std::vector<std::string>& extensions, uint64_t wanted) {
    const FeatureChain features(VK_API_VERSION_1_3, extensions, wanted);
    auto* next = static_cast<const VkBaseOutStructure*>(features.head()->pNext);
    while (next != nullptr && next->sType != static_cast<VkStructureType>(1000141000))
      next = next->pNext;
    EXPECT_EQ(next != nullptr, std::ranges::count(features.extensions(),
                                                  std::string_view("VK_KHR_shader_bfloat16")) == 1);
    return next != nullptr;
  };
  EXPECT_TRUE(links(both, kMatrices | kBFloat16));
  EXPECT_FALSE(links(both, kMatrices));
  EXPECT_FALSE(links(halves, kMatrices | kBFloat16));
  EXPECT_FALSE(links(alone, kMatrices | kBFloat16));
}

// A driver that supports whatever matrices take, unless told to lack cooperative ones.
struct MatrixDriver {
  static inline VkBool32 cooperative = VK_TRUE;

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
        case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES:
          reinterpret_cast<VkPhysicalDeviceVulkanMemoryModelFeatures*>(next)->vulkanMemoryModel =
              VK_TRUE;
          break;
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
    KeepWanted();
  }
};

TEST(FeatureChain, BFloat16MatricesAreCooperativeMatrices) {
  EXPECT_EQ(MatrixFeatures().Capabilities(), kBothMatrices);
  MatrixDriver::cooperative = VK_FALSE;
  EXPECT_EQ(MatrixFeatures().Capabilities(), 0U);
  MatrixDriver::cooperative = VK_TRUE;
}

TEST(FeatureChain, TurnsOnBFloat16MatricesAndNoDotProducts) {
  MatrixFeatures features;
  EXPECT_EQ(EnabledCapabilities(features.head()), kBothMatrices);
  // They join the chain of an application that turns on none of it.
  VkPhysicalDeviceFeatures2 chain{};
  chain.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  ShaderBFloat16Features theirs{};
  theirs.sType = static_cast<VkStructureType>(1000141000);
  chain.pNext = &theirs;
  features.AddTo(chain);
  EXPECT_EQ(EnabledCapabilities(&chain), kBothMatrices);
  EXPECT_EQ(theirs.shaderBFloat16Type, VK_TRUE);
  EXPECT_EQ(theirs.shaderBFloat16CooperativeMatrix, VK_TRUE);
  EXPECT_EQ(theirs.shaderBFloat16DotProduct, VK_FALSE);
  theirs.shaderBFloat16Type = VK_FALSE;
  EXPECT_EQ(EnabledCapabilities(&chain), pack::CapabilityBit(pack::Capability::kCooperativeMatrix));
}

// Where the application has no struct for them, ours joins.
TEST(FeatureChain, BFloat16MatricesJoinWithoutDotProducts) {
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

TEST(CooperativeMatrix, OfOneShapeInSubgroupsOfOneSize) {
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
  const auto takes = [&] {
    return MatrixCapabilities({&shape, 1}, limits, subgroups) ==
           pack::CapabilityBit(pack::Capability::kCooperativeMatrix);
  };
  EXPECT_TRUE(takes());
  EXPECT_EQ(MatrixCapabilities({}, limits, subgroups), 0U);
  const auto without = [&](auto& value, auto other) {
    const auto before = std::exchange(value, other);
    const bool taken = takes();
    value = before;
    return !taken;
  };
  EXPECT_TRUE(without(shape.n, 8));
  EXPECT_TRUE(without(shape.k, 8));
  EXPECT_TRUE(without(shape.a_type, 1));
  EXPECT_TRUE(without(shape.c_type, 0));
  EXPECT_TRUE(without(shape.scope, 2));
  EXPECT_TRUE(without(shape.saturating, VK_TRUE));
  EXPECT_TRUE(without(limits.maxComputeSharedMemorySize, 16384));
  EXPECT_TRUE(without(subgroups.minSubgroupSize, 64));
  EXPECT_TRUE(without(subgroups.maxSubgroupSize, 16));
  EXPECT_TRUE(without(subgroups.requiredSubgroupSizeStages, 0));
}

// As an H200 reports them.
TEST(CooperativeMatrix, OfBFloat16BesideThoseOfHalves) {
  constexpr uint32_t kBFloat16 = 1000141000;
  CooperativeMatrixShape halves{};
  halves.m = halves.n = halves.k = 16;
  halves.c_type = halves.result_type = 1;
  halves.scope = 3;
  CooperativeMatrixShape bfloat16 = halves;
  bfloat16.a_type = bfloat16.b_type = kBFloat16;
  VkPhysicalDeviceLimits limits{};
  limits.maxComputeSharedMemorySize = 49152;
  VkPhysicalDeviceSubgroupSizeControlProperties subgroups{};
  subgroups.minSubgroupSize = subgroups.maxSubgroupSize = 32;
  subgroups.requiredSubgroupSizeStages = VK_SHADER_STAGE_COMPUTE_BIT;
  const auto capabilities = [&](std::vector<CooperativeMatrixShape> shapes) {
    return MatrixCapabilities(shapes, limits, subgroups);
  };
  constexpr uint64_t kHalves = pack::CapabilityBit(pack::Capability::kCooperativeMatrix);
  constexpr uint64_t kBoth = kHalves | pack::CapabilityBit(pack::Capability::kBFloat16Matrix);
  EXPECT_EQ(capabilities({halves, bfloat16}), kBoth);
  EXPECT_EQ(capabilities({bfloat16}), 0U);
  const auto without = [&](uint32_t CooperativeMatrixShape::*member, uint32_t value) {
    CooperativeMatrixShape other = bfloat16;
    other.*member = value;
    return capabilities({halves, other});
  };
  EXPECT_EQ(without(&CooperativeMatrixShape::k, 8), kHalves);
  EXPECT_EQ(without(&CooperativeMatrixShape::b_type, 0), kHalves);
  EXPECT_EQ(without(&CooperativeMatrixShape::c_type, kBFloat16), kHalves);
  EXPECT_EQ(without(&CooperativeMatrixShape::result_type, kBFloat16), kHalves);
  EXPECT_EQ(without(&CooperativeMatrixShape::scope, 2), kHalves);
  EXPECT_EQ(without(&CooperativeMatrixShape::saturating, VK_TRUE), kHalves);
  subgroups.requiredSubgroupSizeStages = 0;
  EXPECT_EQ(capabilities({halves, bfloat16}), 0U);
}

TEST(FeatureChain, LinksOnlyWhatIsWanted) {
  const std::vector<std::string> extensions = {VK_KHR_8BIT_STORAGE_EXTENSION_NAME,
                                               VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME,
                                               "VK_KHR_cooperative_matrix"};
  const FeatureChain nothing(VK_API_VERSION_1_3, extensions, 0);
  EXPECT_TRUE(nothing.extensions().empty());
  EXPECT_EQ(nothing.head()->pNext, nullptr);
  const FeatureChain bytes(VK_API_VERSION_1_1, extensions,
                           pack::CapabilityBit(pack::Capability::kStorageBuffer8Bit));
  ASSERT_EQ(bytes.extensions().size(), 1U);
  EXPECT_STREQ(bytes.extensions()[0], VK_KHR_8BIT_STORAGE_EXTENSION_NAME);
  const auto* only = static_cast<const VkBaseOutStructure*>(bytes.head()->pNext);
  EXPECT_EQ(only->sType, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES);
  EXPECT_EQ(only->pNext, nullptr);
}

TEST_F(PhysicalDeviceTest, FeaturesJoinAnotherChain) {
  const PhysicalDevice& physical = device().physical();
  const uint64_t wanted = pack::CapabilityBit(pack::Capability::kShaderInt8) |
                          pack::CapabilityBit(pack::Capability::kStorageBuffer16Bit);
  const uint64_t there = physical.capabilities & wanted;
  if (there == 0) GTEST_SKIP() << "The device has neither feature.";
  VkPhysicalDeviceVulkan11Features version{};
  version.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
  VkPhysicalDeviceFeatures2 chain{};
  chain.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  chain.pNext = &version;
  EXPECT_EQ(EnabledCapabilities(&chain), 0U);
  FeatureChain features(physical.api_version, physical.extensions, wanted);
  features.Query(instance().fn(), physical.handle);
  features.KeepWanted();
  features.AddTo(chain);
  EXPECT_EQ(EnabledCapabilities(&chain), there);
  EXPECT_EQ(version.storageBuffer16BitAccess, VK_TRUE);
  for (auto* next = static_cast<VkBaseOutStructure*>(version.pNext); next; next = next->pNext) {
    EXPECT_NE(next->sType, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES);
  }
}

// A driver that fails to list its extensions in one of its ways, on top of the real one.
struct FaultyDriver {
  static inline PFN_vkGetInstanceProcAddr real = nullptr;
  static inline VkResult first = VK_SUCCESS;   // of the call for the count
  static inline VkResult second = VK_SUCCESS;  // of that for the names, the first time
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
      *count = first == VK_SUCCESS ? 1 : 0xFFFFFF;  // what a failure leaves is garbage
      return first;
    }
    if (second != VK_SUCCESS && calls == 2) return second;
    *count = 1;
    std::strcpy(out[0].extensionName, "VK_EXT_from_a_test");
    return VK_SUCCESS;
  }
};

TEST_F(PhysicalDeviceTest, DevicesThatFailAreLeftOut) {
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
  const auto again = describe(VK_SUCCESS, VK_INCOMPLETE);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_TRUE(again->HasExtension("VK_EXT_from_a_test"));
  FaultyDriver::first = VK_ERROR_INITIALIZATION_FAILED;
  EXPECT_FALSE(ListPhysicalDevices(**instance).ok()) << "there is no other";
  ASSERT_FALSE(log.empty());
  EXPECT_NE(log[0].find("is left out: vkEnumerateDeviceExtensionProperties"), std::string::npos);
}

// Layers may be older than an extension: being asked about it must not make them speak.
TEST_F(PhysicalDeviceTest, AskingAboutFeaturesIsSilent) {
  FeatureChain features(VK_API_VERSION_1_3, {"VK_KHR_cooperative_matrix", "VK_KHR_shader_bfloat16"},
                        pack::kAllCapabilities);
  features.Query(instance().fn(), device().physical().handle);
}

}  // namespace
}  // namespace spirloom::vulkan
