// Runs a function over a range of indices on several threads.
#ifndef SPIRLOOM_COMPILER_PARALLEL_FOR_H_
#define SPIRLOOM_COMPILER_PARALLEL_FOR_H_

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace spirloom::compiler {

// Calls `function(index, thread)` once for each index below `count`, on `threads` threads (at least
// one; the caller's is thread 0), and returns when all are done. Indices are handed out in order.
template <typename Function>
void ParallelFor(size_t count, size_t threads, const Function& function) {
  std::atomic<size_t> next = 0;
  const auto work = [&](size_t thread) {
    for (size_t i = next++; i < count; i = next++) function(i, thread);
  };
  std::vector<std::jthread> pool;
  for (size_t thread = 1; thread < threads && thread < count; ++thread)
    pool.emplace_back(work, thread);
  work(/*thread=*/0);
}

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_PARALLEL_FOR_H_
