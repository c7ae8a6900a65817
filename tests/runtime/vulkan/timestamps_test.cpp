// Conversion of timestamps to nanoseconds.
#include "runtime/vulkan/timestamps.h"

#include <gtest/gtest.h>

namespace spirloom::vulkan {
namespace {

using Times = std::vector<uint64_t>;

TEST(TicksToNanoseconds, AreRelativeToTheFirst) {
  EXPECT_EQ(TicksToNanoseconds({100, 100, 150}, 64, 2.0), (Times{0, 0, 100}));
  EXPECT_EQ(TicksToNanoseconds({}, 64, 1.0), Times());
}

TEST(TicksToNanoseconds, HandlesWraparound) {
  EXPECT_EQ(TicksToNanoseconds({(uint64_t{1} << 36) - 10, 5}, 36, 1.0), (Times{0, 15}));
  EXPECT_EQ(TicksToNanoseconds({~uint64_t{0}, 4}, 64, 1.0), (Times{0, 5}));
}

TEST(TicksToNanoseconds, ATimeBeforeTheFirstIsZero) {
  EXPECT_EQ(TicksToNanoseconds({100, 90}, 36, 1.0), (Times{0, 0}));
}

TEST(Elapsed, IsZeroForTimesOutOfOrder) {
  EXPECT_EQ(Elapsed(3, 5), 2U);
  EXPECT_EQ(Elapsed(5, 3), 0U);
}

}  // namespace
}  // namespace spirloom::vulkan
