// Functions shared by the fuzz targets.
#ifndef SPIRLOOM_TESTS_FUZZ_FUZZING_H_
#define SPIRLOOM_TESTS_FUZZ_FUZZING_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <vector>

// Mutates the first `size` bytes of `data`, whose capacity is `max_size`. Returns the new size.
// Defined by libFuzzer or replay_main.cpp.
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace spirloom::fuzz {

// Aborts, which reports a finding to the fuzzer, unless `condition` holds.
inline void Require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "Requirement violated: %s\n", what);
  std::abort();
}

// Counts accepted inputs and prints the count at exit: a target that rejects all inputs tests
// little.
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

// Reads every byte, so that a sanitizer detects invalid ones.
inline void Touch(std::span<const std::byte> bytes) {
  uint64_t sum = 0;
  for (std::byte byte : bytes) sum += std::to_integer<uint64_t>(byte);
  volatile uint64_t sink = sum;
  static_cast<void>(sink);
}

// A copy of bytes with the alignment of a mapped file.
class AlignedCopy {
 public:
  explicit AlignedCopy(std::span<const std::byte> bytes)
      : words_(bytes.size() / 8 + 1), size_(bytes.size()) {
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
