#include "runtime/base/error.h"
#include "runtime/base/windows_api.h"
#include "runtime/eager/address_range.h"

namespace spirloom::eager {

Result<AddressRange> AddressRange::Reserve(size_t size) {
  void* begin = VirtualAlloc(/*lpAddress=*/nullptr, size, MEM_RESERVE, PAGE_NOACCESS);
  if (begin == nullptr) {
    return Error(StatusCode::kOutOfMemory,
                 "The process cannot reserve {} bytes of addresses for device memory.", size);
  }
  return AddressRange(static_cast<std::byte*>(begin), size);
}

AddressRange::~AddressRange() {
  if (begin_ != nullptr) VirtualFree(begin_, /*dwSize=*/0, MEM_RELEASE);
}

}  // namespace spirloom::eager
