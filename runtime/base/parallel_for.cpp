#include "runtime/base/parallel_for.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

namespace spirloom {

void ParallelFor(size_t count, size_t threads, const std::function<void(size_t)>& work) {
  std::atomic<size_t> next{0};
  const auto run = [&] {
    for (size_t i = next++; i < count; i = next++) work(i);
  };
  if (threads == 0) threads = std::thread::hardware_concurrency();
  const size_t most = std::min(threads, count);
  std::vector<std::jthread> helpers;
  for (size_t i = 1; i < most; ++i) {
    try {
      helpers.emplace_back(run);
    } catch (const std::system_error&) {  // no more threads: those there are do the work
      break;
    }
  }
  run();
}

}  // namespace spirloom
