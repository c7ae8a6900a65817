#include "tests/ops/guarded_memory.h"

#include <gmock/gmock.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "runtime/vulkan/command_buffer.h"
#include "tests/support/device_fixture.h"

namespace spirloom::testing {
namespace {

using ::testing::HasSubstr;

class GuardedMemoryTest : public DeviceTest {
 protected:
  // The reported errors after `use` has accessed a tensor of this shape, in memory filled with
  // `value`.
  std::string ErrorsAfter(Storage storage, std::initializer_list<int64_t> shape, std::byte value,
                          const std::function<void(VkCommandBuffer, VkBuffer)>& use = {}) {
    graph::Plan plan;
    graph::PlanTensor& tensor = plan.tensors.emplace_back();
    tensor.name = "t";
    tensor.desc.shape = ops::Ints(shape);
    tensor.desc.storage = storage;
    tensor.size = sizeof(float);
    for (const int64_t size : shape) tensor.size *= static_cast<size_t>(size);
    Scratch scratch(device());
    GuardedMemory watch(scratch, value);
    {
      graph::TensorStore store(device(), plan, std::make_shared<graph::MemoryBudget>(UINT64_MAX),
                               &watch);
      const std::array<uint32_t, 1> tensors{0};
      EXPECT_TRUE(store.Allocate(tensors, vulkan::MemoryUse::kDevice).ok());
      if (use)
        Run([&](VkCommandBuffer commands) { use(commands, store.Find(0)->buffer->handle()); });
    }
    return watch.errors();
  }

  void Fill(VkCommandBuffer commands, VkBuffer buffer, VkDeviceSize offset, VkDeviceSize size) {
    device().fn().vkCmdFillBuffer(commands, buffer, offset, size, /*data=*/0x3F800000);
  }

 private:
  void Run(const std::function<void(VkCommandBuffer)>& record) {
    auto commands = vulkan::CommandBuffer::Create(device());
    ASSERT_TRUE(commands.ok() && commands->Begin().ok());
    record(commands->handle());
    ASSERT_TRUE(commands->End().ok() && device().SubmitAndWait(commands->handle()).ok());
  }
};

constexpr std::byte kOnes{0xFF};
constexpr VkDeviceSize kMargin = 4096;  // GuardedMemory::margin()

TEST_F(GuardedMemoryTest, AllowsWritesWithinTheTensor) {
  EXPECT_EQ(ErrorsAfter(Storage::kBuffer, {2, 3}, kOnes,
                        [&](VkCommandBuffer commands, VkBuffer buffer) {
                          Fill(commands, buffer, kMargin, /*size=*/24);
                        }),
            "");
}

TEST_F(GuardedMemoryTest, ReportsWritesBeforeAndAfterTheTensor) {
  for (const std::byte value : {kOnes, std::byte{0}}) {
    EXPECT_EQ(ErrorsAfter(Storage::kBuffer, {2, 3}, value,
                          [&](VkCommandBuffer commands, VkBuffer buffer) {
                            Fill(commands, buffer, kMargin + 12, /*size=*/24);
                          }),
              value == kOnes
                  ? "Tensor 't' (f32[2, 3]): out-of-bounds write, 0 bytes after the end.\n"
                  : "Tensor 't' (f32[2, 3]): out-of-bounds write, 2 bytes after the end.\n");
    EXPECT_THAT(ErrorsAfter(Storage::kBuffer, {2, 3}, value,
                            [&](VkCommandBuffer commands, VkBuffer buffer) {
                              Fill(commands, buffer, kMargin - 8, /*size=*/24);
                            }),
                HasSubstr("bytes before the start."));
  }
}

TEST_F(GuardedMemoryTest, RequiresZerosBeyondTheChannelsOfATexture) {
  for (const Storage storage : {Storage::kTexture3D, Storage::kTexture2D}) {
    EXPECT_EQ(ErrorsAfter(storage, {2, 5, 1, 3}, kOnes),
              "Tensor 't' (f32[2, 5, 1, 3]): texel 3 has a nonzero component beyond channel 5.\n");
    EXPECT_EQ(ErrorsAfter(storage, {2, 5, 1, 3}, std::byte{0}), "");
    EXPECT_EQ(ErrorsAfter(storage, {2, 8, 1, 3}, kOnes), "");
  }
}

}  // namespace
}  // namespace spirloom::testing
