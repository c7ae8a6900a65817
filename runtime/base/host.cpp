#include "runtime/base/host.h"

#include "runtime/base/parallel_for.h"

namespace spirloom {

void Host::Say(LogLevel level, std::initializer_list<TextPiece> message) const {
  if (log) log(level, Concat(message));
}

void Host::ParallelFor(size_t count, const std::function<void(size_t)>& work) const {
  if (!parallel_for) {
    spirloom::ParallelFor(count, threads, [&](size_t i, size_t /*thread*/) { work(i); });
    return;
  }
  FirstException exception;  // none of ours passes through the application
  parallel_for(count, [&](size_t i) { exception.Try([&] { work(i); }); });
  exception.Rethrow();
}

}  // namespace spirloom
