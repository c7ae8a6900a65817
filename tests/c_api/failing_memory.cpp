#include "tests/c_api/failing_memory.h"

#include <cstdlib>
#include <new>

namespace spirloom::testing {

thread_local int allocations_left = -1;

}  // namespace spirloom::testing

namespace {

void* Allocate(size_t size) {
  int& left = spirloom::testing::allocations_left;
  if (left == 0) return nullptr;
  if (left > 0) --left;
  return std::malloc(size == 0 ? 1 : size);
}

}  // namespace

void* operator new(size_t size) {
  void* memory = Allocate(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new(size_t size, const std::nothrow_t&) noexcept { return Allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
