#ifndef SPIRLOOM_RUNTIME_PACK_BYTE_READER_H_
#define SPIRLOOM_RUNTIME_PACK_BYTE_READER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace spirloom::pack {

// Reads the encoding of codegen/registry/encoding.py with bounds checks. After the first violation,
// ok() remains false and all values are zero or empty. Refers to the bytes.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  size_t position() const { return position_; }
  size_t remaining() const { return bytes_.size() - position_; }

  uint8_t Byte();
  uint64_t Varint();
  int64_t Zigzag();
  double Float();
  // Length-prefixed bytes.
  std::span<const std::byte> Counted();
  // Length-prefixed text without NUL, followed by a NUL: data() is a C string.
  std::string_view Text();
  // An integer less than `limit`.
  uint64_t Below(uint64_t limit);

 private:
  std::span<const std::byte> Take(size_t size);

  std::span<const std::byte> bytes_;
  size_t position_ = 0;
  bool ok_ = true;
};

}  // namespace spirloom::pack

#endif  // SPIRLOOM_RUNTIME_PACK_BYTE_READER_H_
