// Host allocations fail: a single one, or all from one on. The result is kOutOfMemory; process,
// runtime and device memory are unchanged.
#include "tests/faults/allocation_faults.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <new>

#include "runtime/graph/memory/memory_arena.h"
#include "runtime/session/runtime_state.h"
#include "tests/faults/fault_fixture.h"

namespace spirloom::faults {
namespace {

constexpr uint64_t kForEver = std::numeric_limits<uint64_t>::max();

// Calls `work`, which returns a Result, once per sampled allocation, which fails. Checks the status
// and calls `check` after each call. Returns the number of failed calls.
template <typename Work, typename Check>
int FailEach(const Work& work, const Check& check) {
  int failures = 0;
  for (const uint64_t count : {uint64_t{1}, kForEver}) {
    for (uint64_t first = 1;; first += TryAll() ? 1 : 1 + first / 16) {
      Status status;
      FailAllocations(first, count);
      try {
        status = work().status();
      } catch (const std::bad_alloc&) {  // thrown by the test itself, never by the runtime
      }
      if (StopFailingAllocations() == 0) break;
      if (!status.ok()) {
        EXPECT_EQ(status.code(), StatusCode::kOutOfMemory)
            << "allocation " << first << ": " << status.message();
        ++failures;
      }
      check();
      if (testing::Test::HasFailure()) return failures;
    }
  }
  return failures;
}

class AllocationFaultsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!IsAvailable()) GTEST_SKIP() << "No Vulkan device is available.";
  }
};

TEST_F(AllocationFaultsTest, CreatingARuntime) {
  const size_t live = Faults().live();
  const int failures =
      FailEach([] { return MakeRuntime(); }, [&] { EXPECT_EQ(Faults().live(), live); });
  EXPECT_GT(failures, 20);
  EXPECT_TRUE(MakeRuntime().ok());
}

TEST_F(AllocationFaultsTest, ABlockThatCannotBeAllocatedIsNotChargedToTheBudget) {
  const Result<Runtime> runtime = MakeRuntime();
  ASSERT_TRUE(runtime.ok());
  const auto budget = std::make_shared<graph::MemoryBudget>(1 << 20);
  const auto allocate = [&] {
    graph::MemoryArena arena(*runtime->state()->device, vulkan::MemoryUse::kDevice, budget);
    return arena.Block(/*type=*/0, /*type_bits=*/~0U, /*index=*/0, /*size=*/4096);
  };
  const auto& counters = runtime->state()->device->counters();
  const uint64_t allocations = counters.memory_allocations;
  FailEach(allocate, [&] { EXPECT_TRUE(budget->is_unused()); });
  EXPECT_GT(counters.memory_allocations, allocations + 2)
      << "allocations after the device memory's";
  EXPECT_TRUE(allocate().ok());
}

TEST_F(AllocationFaultsTest, UsingAModel) {
  for (const Use& use :
       {Use{.name = "buffers"}, Use{.name = "textures", .storage = Storage::kTexture3D},
        Use{.name = "staged", .staged = true}}) {
    const Result<Runtime> runtime = MakeRuntime();
    ASSERT_TRUE(runtime.ok());
    const auto expected = UseModel(*runtime, use);
    ASSERT_TRUE(expected.ok());
    const auto& counters = runtime->state()->device->counters();
    const int failures = FailEach([&] { return UseModel(*runtime, use); },
                                  [&] { EXPECT_EQ(counters.allocated_bytes, 0U); });
    EXPECT_GT(failures, 50);
    const auto again = UseModel(*runtime, use);
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(*again, *expected);
  }
}

}  // namespace
}  // namespace spirloom::faults
