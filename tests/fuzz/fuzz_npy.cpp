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
          "an array has the bytes that its shape takes");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto array = spirloom::run::ParseNpy(spirloom::fuzz::BytesOf(data, size));
  static spirloom::fuzz::Tally read("arrays read");
  read.Count(array.ok());
  if (array.ok()) {
    CheckArray(*array);
  } else {
    Require(!array.status().message().empty(), "an error says what it is");
  }
  return 0;
}

namespace {

// A header of words that headers have, right as often as not.
struct SomeHeader {
  std::string text;
  size_t bytes = 1;  // of the elements that it asks for
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

// Bytes change, or the file is written anew, mostly with as many elements as the header asks for;
// and mostly the header ends at its newline.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  constexpr size_t kHeaderAt = 10;
  constexpr size_t kMostElements = 256;  // bytes of them
  std::mt19937 random(seed);
  if (random() % 2 == 0 || max_size < 512) {
    size = LLVMFuzzerMutate(data, size, max_size);
  } else {
    const SomeHeader header = MakeHeader(random);
    std::memcpy(data, "\x93NUMPY\x01\x00", 8);
    std::memcpy(data + kHeaderAt, header.text.data(), header.text.size());
    size = kHeaderAt + header.text.size();
    const size_t wanted = random() % 8 == 0 ? random() % kMostElements : header.bytes;
    for (size_t count = std::min(wanted, kMostElements); count > 0; --count) {
      data[size++] = static_cast<uint8_t>(random() % 4);
    }
  }
  if (size < kHeaderAt || seed % 8 == 0) return size;
  const uint8_t* const end = std::find(data + kHeaderAt, data + size, '\n');
  const size_t length = static_cast<size_t>(end - data) + (end < data + size ? 1 : 0) - kHeaderAt;
  data[8] = static_cast<uint8_t>(length);
  data[9] = static_cast<uint8_t>(length >> 8);
  return size;
}
