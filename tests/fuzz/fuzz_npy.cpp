// Reads arbitrary bytes as a .npy file.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/fuzzing.h"
#include "tools/spirloom-run/npy.h"

namespace {

using spirloom::fuzz::Require;

void CheckArray(const spirloom::run::Array& array) {
  size_t count = 1;
  for (int64_t dim : array.shape) {
    Require(dim >= 0, "dimensions are not negative");
    count *= static_cast<size_t>(dim);
  }
  Require(array.bytes.size() == count * spirloom::ElementSize(array.dtype),
          "an array has the bytes that its shape takes");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto array = spirloom::run::ParseNpy(spirloom::fuzz::BytesOf(data, size));
  if (array.ok()) {
    CheckArray(*array);
  } else {
    Require(!array.status().message().empty(), "an error says what it is");
  }
  return 0;
}

// Most inputs of version 1 get a header length that ends at the first newline.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  constexpr size_t kHeaderAt = 10;
  size = LLVMFuzzerMutate(data, size, max_size);
  if (size < kHeaderAt || seed % 4 == 0) return size;
  size_t end = kHeaderAt;
  while (end < size && data[end] != '\n') ++end;
  const size_t length = end + (end < size ? 1 : 0) - kHeaderAt;
  data[8] = static_cast<uint8_t>(length);
  data[9] = static_cast<uint8_t>(length >> 8);
  return size;
}
