// Host memory imported as a buffer.
#include "runtime/vulkan/imported_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

#include "tests/support/device_fixture.h"

namespace spirloom::vulkan {
namespace {

using ::testing::HasSubstr;

class ImportedMemoryTest : public testing::DeviceTest {
 protected:
  // Creates a device on `physical` and imports an allocation. Skips the test without the extension.
  Status Import(const PhysicalDevice& physical) {
    const auto created =
        Device::Create(instance(), physical, /*capabilities=*/0, {.import_host_memory = true});
    if (!created.ok()) return created.status();
    const size_t size = physical.host_pointer_alignment;
    const std::unique_ptr<void, decltype(&std::free)> memory(std::aligned_alloc(size, size),
                                                             &std::free);
    const std::span bytes(static_cast<std::byte*>(memory.get()), size);
    return ImportedMemory::Create(**created, bytes).status();
  }

  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (device().physical().host_pointer_alignment == 0) {
      GTEST_SKIP() << "The device does not support VK_EXT_external_memory_host.";
    }
  }
};

TEST_F(ImportedMemoryTest, IsABuffer) {
  const Status status = Import(device().physical());
  EXPECT_TRUE(status.ok()) << status.message();
}

// The runtime neither flushes nor invalidates mapped memory.
TEST_F(ImportedMemoryTest, RequiresCoherentMemory) {
  PhysicalDevice physical = device().physical();
  for (VkMemoryType& type : physical.memory.memoryTypes) {
    type.propertyFlags &= ~VkMemoryPropertyFlags{VK_MEMORY_PROPERTY_HOST_COHERENT_BIT};
  }
  const Status status = Import(physical);
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_THAT(status.message(), HasSubstr("cannot create a coherent buffer on this host memory"));
}

}  // namespace
}  // namespace spirloom::vulkan
