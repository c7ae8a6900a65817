#include "runtime/base/parallel_for.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace spirloom {
namespace {

TEST(ParallelFor, CallsOnceForEach) {
  std::vector<std::atomic<int>> calls(1000);
  ParallelFor(calls.size(), /*threads=*/4, [&](size_t i, size_t thread) {
    ++calls[i];
    EXPECT_LT(thread, 4U);
  });
  for (const std::atomic<int>& count : calls) EXPECT_EQ(count, 1);
  ParallelFor(0, /*threads=*/0, [](size_t, size_t) { FAIL(); });
}

TEST(ParallelFor, PassesOnWhatIsThrown) {
  std::atomic<int> ended = 0;
  const auto work = [&](size_t i, size_t) {
    if (i % 10 == 3) throw std::runtime_error("at one index");
    ++ended;
  };
  EXPECT_THROW(ParallelFor(100, /*threads=*/4, work), std::runtime_error);
  EXPECT_LT(ended, 100);
}

// The address space is too small for more threads' stacks.
TEST(ParallelFor, DoesWithoutThreads) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{.rlim_cur = 1 << 20, .rlim_max = 1 << 20};
    setrlimit(RLIMIT_AS, &limit);
    std::atomic<int> calls = 0;
    ParallelFor(100, /*threads=*/64, [&](size_t, size_t) { ++calls; });
    _exit(calls == 100 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace spirloom
