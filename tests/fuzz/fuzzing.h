// What the fuzz targets share.
#ifndef SPIRLOOM_TESTS_FUZZ_FUZZING_H_
#define SPIRLOOM_TESTS_FUZZ_FUZZING_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <vector>

// Of libFuzzer, or of replay_main.cpp: damages the first `size` bytes of `data`, which has room for
// `max_size`; returns how many there are then.
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace spirloom::fuzz {

// Ends the process, which is how a target reports a finding, unless `condition`.
inline void Require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "Does not hold: %s\n", what);
  std::abort();
}

// How many inputs came how far, printed when the process ends: a target whose inputs are all
// refused tests little.
class Tally {
 public:
  explicit Tally(const char* what) : what_(what) {}
  Tally(const Tally&) = delete;
  Tally& operator=(const Tally&) = delete;
  ~Tally() { std::fprintf(stderr, "%s: %zu of %zu\n", what_, accepted_, all_); }

  void Count(bool accepted) {
    ++all_;
    if (accepted) ++accepted_;
  }

 private:
  const char* what_;
  size_t all_ = 0;
  size_t accepted_ = 0;
};

// Reads every byte, so that a sanitizer sees those that are not there.
inline void Touch(std::span<const std::byte> bytes) {
  uint64_t sum = 0;
  for (std::byte byte : bytes) sum += std::to_integer<uint64_t>(byte);
  volatile uint64_t sink = sum;
  static_cast<void>(sink);
}

// Bytes aligned as those of a mapped file.
class AlignedCopy {
 public:
  explicit AlignedCopy(std::span<const std::byte> bytes)
      : words_((bytes.size() + 7) / 8), size_(bytes.size()) {
    std::ranges::copy(bytes, std::as_writable_bytes(std::span(words_)).begin());
  }
  AlignedCopy(const AlignedCopy&) = delete;
  AlignedCopy& operator=(const AlignedCopy&) = delete;

  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(words_)).first(size_); }

 private:
  std::vector<uint64_t> words_;
  size_t size_;
};

inline std::span<const std::byte> BytesOf(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const std::byte*>(data), size};
}

}  // namespace spirloom::fuzz

#endif  // SPIRLOOM_TESTS_FUZZ_FUZZING_H_
