#include "runtime/base/parallel_for.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace spirloom {
namespace {

TEST(ParallelFor, CallsEachIndexOnce) {
  std::vector<std::atomic<int>> calls(1000);
  ParallelFor(calls.size(), /*threads=*/4, [&](size_t i, size_t thread) {
    ++calls[i];
    EXPECT_LT(thread, 4U);
  });
  for (const std::atomic<int>& count : calls) EXPECT_EQ(count, 1);
  ParallelFor(0, /*threads=*/0, [](size_t, size_t) { FAIL(); });
}

TEST(ParallelFor, RethrowsExceptions) {
  std::atomic<int> completed = 0;
  const auto work = [&](size_t i, size_t) {
    if (i % 10 == 3) throw std::runtime_error("at one index");
    ++completed;
  };
  EXPECT_THROW(ParallelFor(100, /*threads=*/4, work), std::runtime_error);
  EXPECT_LT(completed, 100);
}

// The stack size exceeds the address space, so that no thread starts.
TEST(ParallelFor, RunsInTheCallerIfThreadsCannotStart) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_getattr_default_np(&attributes), 0);
  size_t default_size = 0;
  ASSERT_EQ(pthread_attr_getstacksize(&attributes, &default_size), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, size_t{1} << 47), 0);
  ASSERT_EQ(pthread_setattr_default_np(&attributes), 0);
  const pthread_t caller = pthread_self();
  int calls = 0;
  ParallelFor(100, /*threads=*/64, [&](size_t, size_t) {
    EXPECT_TRUE(pthread_equal(pthread_self(), caller));
    ++calls;
  });
  EXPECT_EQ(calls, 100);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, default_size), 0);
  EXPECT_EQ(pthread_setattr_default_np(&attributes), 0);
  pthread_attr_destroy(&attributes);
}

}  // namespace
}  // namespace spirloom
