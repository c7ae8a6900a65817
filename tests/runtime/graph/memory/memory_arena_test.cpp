// Blocks of memory that are charged to a budget.
#include "runtime/graph/memory/memory_arena.h"

#include <gtest/gtest.h>

#include <memory>

#include "tests/support/model_fixture.h"
#include "tests/value_of.h"

namespace spirloom {
namespace {

constexpr uint32_t kAllTypes = ~uint32_t{0};

TEST_F(ModelTest, FreedBlocksAreReleasedFromTheBudget) {
  const auto budget = std::make_shared<graph::MemoryBudget>(4096);
  graph::MemoryArena arena(*runtime_->state()->device, vulkan::MemoryUse::kUpload, budget);
  auto block = ValueOf(arena.Block(/*type=*/0, kAllTypes, /*index=*/0, 4096));
  EXPECT_EQ(budget->remaining(), 0u);
  EXPECT_EQ(arena.Block(/*type=*/0, kAllTypes, /*index=*/1, 1).status().code(),
            StatusCode::kOutOfMemory);
  EXPECT_EQ(ValueOf(arena.Block(/*type=*/0, kAllTypes, /*index=*/0, 1024)), block) << "reused";
  EXPECT_EQ(ValueOf(arena.Block(/*type=*/0, kAllTypes, /*index=*/0, 4096)), block) << "reused";
  const uint32_t own_type = uint32_t{1} << block->type();
  EXPECT_EQ(ValueOf(arena.Block(/*type=*/0, own_type, /*index=*/0, 4096)), block) << "reused";
  EXPECT_FALSE(arena.Block(/*type=*/0, ~own_type, /*index=*/0, 4096).ok()) << "another type";
  arena.DropUnused();
  EXPECT_EQ(budget->remaining(), 0u) << "the block has another owner";
  EXPECT_EQ(ValueOf(arena.Block(/*type=*/0, kAllTypes, /*index=*/0, 4096)), block) << "reused";
  block.reset();
  arena.DropUnused();
  EXPECT_TRUE(budget->is_unused());
}

TEST_F(ModelTest, AFailedAllocationIsReleasedFromTheBudget) {
  const auto budget = std::make_shared<graph::MemoryBudget>(UINT64_MAX);
  graph::MemoryArena arena(*runtime_->state()->device, vulkan::MemoryUse::kDevice, budget);
  EXPECT_EQ(arena.Block(/*type=*/0, kAllTypes, /*index=*/0, uint64_t{1} << 56).status().code(),
            StatusCode::kOutOfMemory);
  EXPECT_TRUE(budget->is_unused());
}

}  // namespace
}  // namespace spirloom
