// Allocations of host memory fail: one, or all from one on. What comes out is kOutOfMemory, and the
// process, the runtime and the device's memory are as before.
#include "tests/faults/allocation_faults.h"

#include <gtest/gtest.h>

#include <limits>
#include <new>

#include "runtime/session/runtime_state.h"
#include "tests/faults/fault_fixture.h"

namespace spirloom::faults {
namespace {

constexpr uint64_t kForEver = std::numeric_limits<uint64_t>::max();

// Calls `work`, which returns a Result, with each allocation failing that the sample
// takes; checks what it returns, and calls `check` after it. Returns how many times it was refused.
template <typename Work, typename Check>
int FailEach(const Work& work, const Check& check) {
  int refused = 0;
  for (const uint64_t count : {uint64_t{1}, kForEver}) {
    for (uint64_t first = 1;; first += TryAll() ? 1 : 1 + first / 16) {
      Status status;
      FailAllocations(first, count);
      try {
        status = work().status();
      } catch (const std::bad_alloc&) {  // of the test's own: nothing of the runtime's comes out
      }
      if (StopFailingAllocations() == 0) break;
      if (!status.ok()) {
        EXPECT_EQ(status.code(), StatusCode::kOutOfMemory)
            << "allocation " << first << ": " << status.message();
        ++refused;
      }
      check();
      if (testing::Test::HasFailure()) return refused;
    }
  }
  return refused;
}

class AllocationFaultsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!IsAvailable()) GTEST_SKIP() << "There is no Vulkan device.";
  }
};

TEST_F(AllocationFaultsTest, CreatingARuntime) {
  const size_t live = Faults().live();
  const int refused =
      FailEach([] { return MakeRuntime(); }, [&] { EXPECT_EQ(Faults().live(), live); });
  EXPECT_GT(refused, 20);
  EXPECT_TRUE(MakeRuntime().ok());
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
    const int refused = FailEach([&] { return UseModel(*runtime, use); },
                                 [&] { EXPECT_EQ(counters.allocated_bytes, 0U); });
    EXPECT_GT(refused, 50);
    const auto again = UseModel(*runtime, use);
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(*again, *expected);
  }
}

}  // namespace
}  // namespace spirloom::faults
