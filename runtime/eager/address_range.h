#ifndef SPIRLOOM_RUNTIME_EAGER_ADDRESS_RANGE_H_
#define SPIRLOOM_RUNTIME_EAGER_ADDRESS_RANGE_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "spirloom/status.h"

namespace spirloom::eager {

// A range of host addresses without memory, released by the destructor. Device memory has addresses
// in it, so that an access by the host is a fault.
class AddressRange {
 public:
  // Reserves at least `size` bytes, aligned to pages. Fails with kOutOfMemory if the address space
  // of the process is exhausted or limited.
  static Result<AddressRange> Reserve(size_t size);

  AddressRange(AddressRange&& other) noexcept
      : begin_(std::exchange(other.begin_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  AddressRange& operator=(AddressRange&&) = delete;
  ~AddressRange();

  std::byte* begin() const { return begin_; }

 private:
  AddressRange(std::byte* begin, size_t size) : begin_(begin), size_(size) {}

  std::byte* begin_;
  size_t size_;
};

}  // namespace spirloom::eager

#endif  // SPIRLOOM_RUNTIME_EAGER_ADDRESS_RANGE_H_
