// Reads arbitrary bytes as a .npy file.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <random>
#include <string>

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
          "the byte size of an array matches its shape");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto array = spirloom::run::ParseNpy(spirloom::fuzz::BytesOf(data, size));
  static spirloom::fuzz::Tally read("arrays read");
  read.Count(array.ok());
  if (array.ok()) {
    CheckArray(*array);
  } else {
    Require(!array.status().message().empty(), "an error has a message");
  }
  return 0;
}

namespace {

// A header of typical tokens, valid about half the time.
struct SomeHeader {
  std::string text;
  size_t bytes = 1;  // size of the array that it declares
};

SomeHeader MakeHeader(std::mt19937& random) {
  const auto one_of = [&](std::initializer_list<const char*> words) {
    return std::string(words.begin()[random() % words.size()]);
  };
  const std::string type =
      one_of({"<f4", "<f2", "<i4", "|i1", "|u1", "|b1", "<i8", "<u8", "<u4", "<i2", "<u2", ">f4"});
  SomeHeader header{.text = {}, .bytes = static_cast<size_t>(type[2] - '0')};
  std::string shape;
  for (auto dims = random() % 5; dims > 0; --dims) {
    const std::string dim = one_of({"1", "2", "3", "0", "16", "7", " 4", "-1", "99999999999"});
    shape += dim + one_of({",", ", ", ",", " ,"});
    header.bytes *= std::stoull(dim);
  }
  header.text = "{'descr': '" + type +
                "', 'fortran_order': " + one_of({"False", "False", "True", "0"}) + ", 'shape': (" +
                shape + one_of({"), }", ")}", "),}", ")"}) + "\n";
  return header;
}

}  // namespace

// Mutates bytes or generates a file, usually with the size that its header declares. Usually sets
// the header length to the position of the newline.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  constexpr size_t kHeaderOffset = 10;
  constexpr size_t kMaxBytes = 256;  // of elements
  std::mt19937 random(seed);
  if (random() % 2 == 0 || max_size < 512) {
    size = LLVMFuzzerMutate(data, size, max_size);
  } else {
    const SomeHeader header = MakeHeader(random);
    std::memcpy(data, "\x93NUMPY\x01\x00", 8);
    std::memcpy(data + kHeaderOffset, header.text.data(), header.text.size());
    size = kHeaderOffset + header.text.size();
    const size_t bytes = random() % 8 == 0 ? random() % kMaxBytes : header.bytes;
    for (size_t count = std::min(bytes, kMaxBytes); count > 0; --count) {
      data[size++] = static_cast<uint8_t>(random() % 4);
    }
  }
  if (size < kHeaderOffset || seed % 8 == 0) return size;
  const uint8_t* const end = std::find(data + kHeaderOffset, data + size, '\n');
  const size_t length =
      static_cast<size_t>(end - data) + (end < data + size ? 1 : 0) - kHeaderOffset;
  data[8] = static_cast<uint8_t>(length);
  data[9] = static_cast<uint8_t>(length >> 8);
  return size;
}
