#include <sys/mman.h>

#include "runtime/base/error.h"
#include "runtime/eager/address_range.h"

namespace spirloom::eager {

Result<AddressRange> AddressRange::Reserve(size_t size) {
  void* begin = mmap(/*addr=*/nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                     /*fd=*/-1, /*offset=*/0);
  if (begin == MAP_FAILED) {
    return Error(StatusCode::kOutOfMemory,
                 "The process cannot reserve {} bytes of addresses for device memory. Raise its "
                 "limit of virtual memory (ulimit -v).",
                 size);
  }
  return AddressRange(static_cast<std::byte*>(begin), size);
}

AddressRange::~AddressRange() {
  if (begin_ != nullptr) munmap(begin_, size_);
}

}  // namespace spirloom::eager
