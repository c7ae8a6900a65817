#include "runtime/base/parallel_for.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

namespace spirloom {

void ParallelFor(size_t count, const std::function<void(size_t)>& work) {
  std::atomic<size_t> next{0};
  const auto run = [&] {
    for (size_t i = next++; i < count; i = next++) work(i);
  };
  const size_t helpers = std::min<size_t>(std::thread::hardware_concurrency(), count);
  std::vector<std::jthread> threads;
  for (size_t i = 1; i < helpers; ++i) {
    try {
      threads.emplace_back(run);
    } catch (const std::system_error&) {  // no more threads: those there are do the work
      break;
    }
  }
  run();
}

}  // namespace spirloom
