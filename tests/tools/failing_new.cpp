// A library to preload: allocations by operator new of at least SPIRLOOM_TEST_MAX_NEW bytes fail.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace {

size_t Limit() {
  const char* text = std::getenv("SPIRLOOM_TEST_MAX_NEW");
  return text == nullptr ? SIZE_MAX : std::strtoull(text, nullptr, 10);
}

}  // namespace

void* operator new(size_t size) {
  static const size_t limit = Limit();
  void* memory = size < limit ? std::malloc(size > 0 ? size : 1) : nullptr;
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
