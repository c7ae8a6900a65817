#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <barrier>
#include <cstddef>
#include <cstdint>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/vulkan/descriptors.h"
#include "tests/support/device_fixture.h"
#include "tests/value_of.h"

namespace spirloom::vulkan {
namespace {

using ::testing::Each;

constexpr int kRounds = 60;
constexpr size_t kThreads = 4;
constexpr size_t kMaxBindings = 4;
constexpr uint32_t kPushSizes = 8;  // 0, 4, … bytes

using Handles = std::vector<std::pair<VkDescriptorSetLayout, VkPipelineLayout>>;

class LayoutCacheTest : public testing::DeviceTest {};

Handles AllOf(LayoutCache& layouts) {
  Handles found;
  for (size_t count = 1; count <= kMaxBindings; ++count) {
    const std::vector<pack::BindingType> types(count, pack::BindingType::kStorageBuffer);
    for (uint32_t push = 0; push < kPushSizes; ++push) {
      const BindingLayout layout = ValueOf(layouts.Get(types, 4 * push));
      found.emplace_back(layout.set, layout.pipeline);
    }
  }
  return found;
}

TEST_F(LayoutCacheTest, ThreadsThatNeedALayoutAtOnceShareIt) {
  for (int round = 0; round < kRounds; ++round) {
    LayoutCache layouts(device());
    std::vector<Handles> found(kThreads);
    std::barrier start(kThreads);
    {
      std::vector<std::jthread> threads;
      for (Handles& handles : found) {
        threads.emplace_back([&] {
          start.arrive_and_wait();
          handles = AllOf(layouts);
        });
      }
    }
    EXPECT_THAT(found, Each(AllOf(layouts)));
    std::set<VkPipelineLayout> distinct;
    for (const auto& [set, pipeline] : found.front()) distinct.insert(pipeline);
    EXPECT_EQ(distinct.size(), kMaxBindings * kPushSizes);
  }
}

}  // namespace
}  // namespace spirloom::vulkan
