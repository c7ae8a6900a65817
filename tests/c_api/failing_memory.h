// Host memory that runs out when a test says so, in the whole program.
#ifndef SPIRLOOM_TESTS_C_API_FAILING_MEMORY_H_
#define SPIRLOOM_TESTS_C_API_FAILING_MEMORY_H_

namespace spirloom::testing {

// How many allocations of this thread succeed before all fail; below zero, all succeed.
extern thread_local int allocations_left;

}  // namespace spirloom::testing

#endif  // SPIRLOOM_TESTS_C_API_FAILING_MEMORY_H_
