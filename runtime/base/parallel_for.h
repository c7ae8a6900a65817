// Work on all cores.
#ifndef SPIRLOOM_RUNTIME_BASE_PARALLEL_FOR_H_
#define SPIRLOOM_RUNTIME_BASE_PARALLEL_FOR_H_

#include <cstddef>
#include <functional>

namespace spirloom {

// Calls work(i) for each i < count, on all cores; returns when all are done. With fewer threads, in
// the end the caller's alone, where the system gives no more.
void ParallelFor(size_t count, const std::function<void(size_t)>& work);

}  // namespace spirloom

#endif  // SPIRLOOM_RUNTIME_BASE_PARALLEL_FOR_H_
