// operator new that fails on demand: on the thread that asks for it, outside the Vulkan driver.
#ifndef SPIRLOOM_TESTS_FAULTS_ALLOCATION_FAULTS_H_
#define SPIRLOOM_TESTS_FAULTS_ALLOCATION_FAULTS_H_

#include <cstdint>

namespace spirloom::faults {

// From now on allocation `first` of this thread fails, counted from 1, and `count` - 1 after it.
void FailAllocations(uint64_t first, uint64_t count);
// None fails any more. Returns how many have failed.
uint64_t StopFailingAllocations();

}  // namespace spirloom::faults

#endif  // SPIRLOOM_TESTS_FAULTS_ALLOCATION_FAULTS_H_
