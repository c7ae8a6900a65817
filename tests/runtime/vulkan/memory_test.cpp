// Memory types, allocations, buffers and images.
#include "runtime/vulkan/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "runtime/vulkan/buffer.h"
#include "runtime/vulkan/image.h"
#include "tests/support/device_fixture.h"

namespace spirloom::vulkan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr VkMemoryPropertyFlags kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
constexpr VkMemoryPropertyFlags kVisible =
    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
constexpr VkMemoryPropertyFlags kCached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;

VkPhysicalDeviceMemoryProperties Types(const std::vector<VkMemoryPropertyFlags>& flags) {
  VkPhysicalDeviceMemoryProperties memory{};
  memory.memoryTypeCount = static_cast<uint32_t>(flags.size());
  for (size_t i = 0; i < flags.size(); ++i) memory.memoryTypes[i].propertyFlags = flags[i];
  return memory;
}

TEST(ChooseMemoryType, DiscreteDevice) {
  const auto memory = Types({0, kLocal, kVisible, kVisible | kCached, kLocal | kVisible});
  EXPECT_EQ(ChooseMemoryType(memory, ~0U, MemoryUse::kDevice), 1U);
  EXPECT_EQ(ChooseMemoryType(memory, ~0U, MemoryUse::kUpload), 2U);
  EXPECT_EQ(ChooseMemoryType(memory, ~0U, MemoryUse::kReadback), 3U);
  EXPECT_EQ(ChooseMemoryType(memory, ~0U, MemoryUse::kShared), 4U);
  EXPECT_EQ(ChooseMemoryType(memory, 0b01100, MemoryUse::kShared), 2U);
  EXPECT_EQ(ChooseMemoryType(memory, 0b10000, MemoryUse::kUpload), 4U);
  EXPECT_EQ(ChooseMemoryType(memory, 0b00100, MemoryUse::kDevice), 2U);
}

TEST(ChooseMemoryType, UnifiedDevice) {
  const auto memory = Types({kLocal | kVisible | kCached});
  for (MemoryUse use :
       {MemoryUse::kDevice, MemoryUse::kUpload, MemoryUse::kReadback, MemoryUse::kShared}) {
    EXPECT_EQ(ChooseMemoryType(memory, 1, use), 0U);
  }
}

TEST(ChooseMemoryType, NoSuitableType) {
  EXPECT_EQ(ChooseMemoryType(Types({kLocal}), ~0U, MemoryUse::kUpload), std::nullopt);
  EXPECT_EQ(ChooseMemoryType(Types({kLocal}), 0, MemoryUse::kDevice), std::nullopt);
  EXPECT_EQ(
      ChooseMemoryType(Types({kLocal | VK_MEMORY_PROPERTY_PROTECTED_BIT}), ~0U, MemoryUse::kDevice),
      std::nullopt);
}

TEST(ChooseMemoryTypes, PrefersACommonType) {
  const auto memory = Types({kVisible, kLocal, kLocal});
  const std::vector<uint32_t> buffer_and_image{0b111, 0b100};
  EXPECT_THAT(*ChooseMemoryTypes(memory, buffer_and_image, MemoryUse::kDevice), ElementsAre(2, 2));
  EXPECT_THAT(*ChooseMemoryTypes(memory, {}, MemoryUse::kDevice), ElementsAre());
}

TEST(ChooseMemoryTypes, DoesNotShareALessPreferredType) {
  const auto memory = Types({kLocal, kVisible, kLocal});
  // Host memory is possible for all, but not preferred on a discrete device.
  const std::vector<uint32_t> buffer_and_image{0b011, 0b110};
  EXPECT_THAT(*ChooseMemoryTypes(memory, buffer_and_image, MemoryUse::kDevice), ElementsAre(0, 2));
  const std::vector<uint32_t> disjoint{0b001, 0b100, 0b001};
  EXPECT_THAT(*ChooseMemoryTypes(memory, disjoint, MemoryUse::kDevice), ElementsAre(0, 2, 0));
}

TEST(ChooseMemoryTypes, NoSuitableTypeForOneResource) {
  const std::vector<uint32_t> bits{0b01, 0b10};
  EXPECT_EQ(ChooseMemoryTypes(Types({kVisible, kLocal}), bits, MemoryUse::kUpload), std::nullopt);
}

TEST(MemoryTypesFor, IncludeTypesOfOtherHeaps) {
  auto memory = Types({kVisible, kLocal, kLocal, kVisible | kCached, kLocal | kVisible});
  for (uint32_t i : {1U, 2U}) memory.memoryTypes[i].heapIndex = 1;
  memory.memoryTypes[4].heapIndex = 2;
  EXPECT_THAT(MemoryTypesFor(memory, ~0U, MemoryUse::kDevice), ElementsAre(1, 4, 0));
  EXPECT_THAT(MemoryTypesFor(memory, 0b01011, MemoryUse::kDevice), ElementsAre(1, 0));
  EXPECT_THAT(MemoryTypesFor(memory, ~0U, MemoryUse::kUpload), ElementsAre(0, 4));
  EXPECT_THAT(MemoryTypesFor(memory, 0b00110, MemoryUse::kUpload), ElementsAre());
}

class MemoryTest : public testing::DeviceTest {};

TEST_F(MemoryTest, CountsAllocations) {
  const DeviceCounters& counters = device().counters();
  const uint64_t allocations = counters.memory_allocations;
  const uint64_t frees = counters.memory_frees;
  const uint64_t bytes = counters.allocated_bytes;
  {
    const auto buffer = Buffer::Create(device(), 1000, MemoryUse::kUpload);
    ASSERT_TRUE(buffer.ok()) << buffer.status().message();
    EXPECT_EQ(buffer->size(), 1000U);
    EXPECT_EQ(counters.memory_allocations, allocations + 1);
    EXPECT_GE(counters.allocated_bytes, bytes + 1000);
    ASSERT_NE(buffer->mapped(), nullptr);
    std::memset(buffer->mapped(), 1, 1000);
  }
  EXPECT_EQ(counters.memory_frees, frees + 1);
  EXPECT_EQ(counters.allocated_bytes, bytes);
}

TEST_F(MemoryTest, MovesTransferOwnership) {
  const uint64_t frees = device().counters().memory_frees;
  {
    auto created = DeviceMemory::Create(device(), 64, ~0U, MemoryUse::kReadback);
    ASSERT_TRUE(created.ok()) << created.status().message();
    DeviceMemory a = std::move(created).value();
    DeviceMemory b = std::move(a);
    a = std::move(b);
    DeviceMemory empty;
    empty = DeviceMemory();
    EXPECT_NE(a.mapped(), nullptr);
    EXPECT_EQ(device().counters().memory_frees, frees);
  }
  EXPECT_EQ(device().counters().memory_frees, frees + 1);
}

TEST_F(MemoryTest, BuffersShareMemory) {
  auto first = Buffer::CreateUnbound(device(), 100);
  auto second = Buffer::CreateUnbound(device(), 100);
  ASSERT_TRUE(first.ok() && second.ok());
  const VkMemoryRequirements& requirements = first->requirements();
  const VkDeviceSize offset = (requirements.size + requirements.alignment - 1) /
                              requirements.alignment * requirements.alignment;
  const auto memory = DeviceMemory::Create(device(), offset + requirements.size,
                                           requirements.memoryTypeBits, MemoryUse::kReadback);
  ASSERT_TRUE(memory.ok()) << memory.status().message();
  ASSERT_TRUE(first->Bind(*memory, 0).ok());
  ASSERT_TRUE(second->Bind(*memory, offset).ok());
  EXPECT_EQ(second->mapped(), first->mapped() + offset);
}

TEST_F(MemoryTest, RejectsSizesBeyondTheDeviceLimits) {
  const VkDeviceSize limit = device().physical().max_buffer_size;
  if (limit < ~VkDeviceSize{0} - 64) {
    const Status buffer = Buffer::Create(device(), limit + 1, MemoryUse::kDevice).status();
    EXPECT_EQ(buffer.code(), StatusCode::kOutOfMemory);
    EXPECT_THAT(buffer.message(), HasSubstr("exceeds the device's limit"));
  }
  const Status huge =
      DeviceMemory::Create(device(), ~VkDeviceSize{0}, ~0U, MemoryUse::kDevice).status();
  EXPECT_EQ(huge.code(), StatusCode::kOutOfMemory);
  EXPECT_THAT(huge.message(), HasSubstr("18446744073709551615 bytes"));
  EXPECT_EQ(Buffer::Create(device(), 0, MemoryUse::kDevice).status().code(),
            StatusCode::kInvalidArgument);
}

TEST_F(MemoryTest, CreatesImagesOfAllDTypes) {
  for (DType dtype : {DType::kF32, DType::kF16, DType::kI32, DType::kI8, DType::kU8, DType::kB8}) {
    for (Storage storage : {Storage::kTexture3D, Storage::kTexture2D}) {
      const auto image = Image::Create(device(), storage, {3, 5, 2}, TexelFormat(dtype));
      ASSERT_TRUE(image.ok()) << ShortName(dtype) << ": " << image.status().message();
      EXPECT_NE(image->view(), VkImageView{});
      EXPECT_EQ(image->extent().height, 5U);
    }
  }
}

TEST_F(MemoryTest, TextureLimitsAreAtLeastThoseOfVulkan) {
  const TextureLimits& texture3d = device().physical().texture3d;
  EXPECT_GE(std::min({texture3d.width, texture3d.height, texture3d.depth}), 256U);
  EXPECT_GE(texture3d.bytes, uint64_t{1} << 31);
  const TextureLimits& texture2d = device().physical().texture2d;
  EXPECT_GE(std::min(texture2d.width, texture2d.height), 4096U);
  EXPECT_GE(texture2d.depth, 256U);
  EXPECT_GE(texture2d.bytes, uint64_t{1} << 31);
  EXPECT_GE(device().physical().max_buffer_size, uint64_t{1} << 30);
}

TEST_F(MemoryTest, RejectsImagesBeyondTheLimits) {
  const auto error_of = [this](Storage storage, VkExtent3D extent) {
    return Image::Create(device(), storage, extent, VK_FORMAT_R32_SFLOAT).status();
  };
  const uint32_t limit = device().limits().maxImageDimension3D;
  const Status too_high = error_of(Storage::kTexture3D, {1, limit + 1, 1});
  EXPECT_EQ(too_high.code(), StatusCode::kUnsupported);
  EXPECT_THAT(too_high.message(),
              HasSubstr("A texture3d image of 1 x " + std::to_string(limit + 1) + " x 1 texels"));
  const uint32_t layers = device().limits().maxImageArrayLayers;
  const Status too_many_layers = error_of(Storage::kTexture2D, {1, 1, layers + 1});
  EXPECT_EQ(too_many_layers.code(), StatusCode::kUnsupported);
  EXPECT_THAT(too_many_layers.message(),
              HasSubstr(" x " + std::to_string(layers) + " (the device's limit)"));
  EXPECT_EQ(error_of(Storage::kTexture3D, {0, 1, 1}).code(), StatusCode::kUnsupported);
}

}  // namespace
}  // namespace spirloom::vulkan
