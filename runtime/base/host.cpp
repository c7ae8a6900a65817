#include "runtime/base/host.h"

#include "runtime/base/parallel_for.h"

namespace spirloom {

void Host::Say(LogLevel level, std::initializer_list<TextPiece> message) const {
  if (log) log(level, Concat(message));
}

void Host::ParallelFor(size_t count, const std::function<void(size_t)>& work) const {
  if (parallel_for) {
    parallel_for(count, work);
  } else {
    spirloom::ParallelFor(count, threads, work);
  }
}

}  // namespace spirloom
