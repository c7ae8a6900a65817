// Replaces operator new: allocations of the arming thread, outside the Vulkan driver, can fail.
#ifndef SPIRLOOM_TESTS_FAULTS_ALLOCATION_FAULTS_H_
#define SPIRLOOM_TESTS_FAULTS_ALLOCATION_FAULTS_H_

#include <cstdint>

namespace spirloom::faults {

// Makes `count` allocations of this thread fail, starting with the `first` one, counted from 1.
void FailAllocations(uint64_t first, uint64_t count);
// Ends the fault injection. Returns the number of failed allocations.
uint64_t StopFailingAllocations();

}  // namespace spirloom::faults

#endif  // SPIRLOOM_TESTS_FAULTS_ALLOCATION_FAULTS_H_
