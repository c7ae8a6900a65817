#include "tests/faults/allocation_faults.h"

#include <cstdlib>
#include <new>

#include "tests/faults/fault_fixture.h"

namespace spirloom::faults {
namespace {

thread_local bool is_armed = false;
thread_local uint64_t allocation_calls = 0;
thread_local uint64_t first_failing = 0;
thread_local uint64_t failing_allocations = 0;
thread_local uint64_t failed_allocations = 0;

bool MustFail() {
  if (!is_armed || Faults().in_driver()) return false;
  ++allocation_calls;
  if (allocation_calls < first_failing) return false;
  if (allocation_calls - first_failing >= failing_allocations) return false;
  ++failed_allocations;
  return true;
}

void* Allocate(size_t size, size_t alignment) {
  if (MustFail()) return nullptr;
  if (alignment <= alignof(std::max_align_t)) return std::malloc(size > 0 ? size : 1);
  return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

void* AllocateOrThrow(size_t size, size_t alignment) {
  if (void* memory = Allocate(size, alignment); memory != nullptr) return memory;
  throw std::bad_alloc();
}

}  // namespace

void FailAllocations(uint64_t first, uint64_t count) {
  allocation_calls = 0;
  first_failing = first;
  failing_allocations = count;
  failed_allocations = 0;
  is_armed = true;
}

uint64_t StopFailingAllocations() {
  is_armed = false;
  return failed_allocations;
}

}  // namespace spirloom::faults

using spirloom::faults::Allocate;
using spirloom::faults::AllocateOrThrow;
constexpr size_t kNormal = alignof(std::max_align_t);

void* operator new(size_t size) { return AllocateOrThrow(size, kNormal); }
void* operator new[](size_t size) { return AllocateOrThrow(size, kNormal); }
void* operator new(size_t size, const std::nothrow_t&) noexcept { return Allocate(size, kNormal); }
void* operator new[](size_t size, const std::nothrow_t&) noexcept {
  return Allocate(size, kNormal);
}
void* operator new(size_t size, std::align_val_t alignment) {
  return AllocateOrThrow(size, static_cast<size_t>(alignment));
}
void* operator new[](size_t size, std::align_val_t alignment) {
  return AllocateOrThrow(size, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
