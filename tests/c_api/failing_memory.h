// Replaces the global allocator by one that fails on request.
#ifndef SPIRLOOM_TESTS_C_API_FAILING_MEMORY_H_
#define SPIRLOOM_TESTS_C_API_FAILING_MEMORY_H_

namespace spirloom::testing {

// Number of allocations of this thread that succeed before all fail; negative: all succeed.
extern thread_local int allocations_left;

}  // namespace spirloom::testing

#endif  // SPIRLOOM_TESTS_C_API_FAILING_MEMORY_H_
