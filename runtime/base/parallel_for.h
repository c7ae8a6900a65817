// Work on several cores.
#ifndef SPIRLOOM_RUNTIME_BASE_PARALLEL_FOR_H_
#define SPIRLOOM_RUNTIME_BASE_PARALLEL_FOR_H_

#include <cstddef>
#include <functional>

namespace spirloom {

// Calls work(i, thread) once for each i < count, on up to `threads` threads (the caller's is thread
// 0), and returns when all are done. Indices are handed out in order. With fewer threads, in the
// end the caller's alone, where the system gives no more. What `work` throws comes out of here when
// the threads have ended, the first of it, and the rest of the work is left undone.
void ParallelFor(size_t count, size_t threads,
                 const std::function<void(size_t i, size_t thread)>& work);

// As many threads as there are cores.
size_t AllCores();

}  // namespace spirloom

#endif  // SPIRLOOM_RUNTIME_BASE_PARALLEL_FOR_H_
