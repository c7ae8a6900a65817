// Work on several cores.
#ifndef SPIRLOOM_RUNTIME_BASE_PARALLEL_FOR_H_
#define SPIRLOOM_RUNTIME_BASE_PARALLEL_FOR_H_

#include <cstddef>
#include <functional>

namespace spirloom {

// Calls work(i) for each i < count, on up to `threads` threads, the caller's included (0: one for
// each core); returns when all are done. With fewer threads, in the end the caller's alone, where
// the system gives no more.
void ParallelFor(size_t count, size_t threads, const std::function<void(size_t)>& work);

}  // namespace spirloom

#endif  // SPIRLOOM_RUNTIME_BASE_PARALLEL_FOR_H_
