#ifndef SPIRLOOM_RUNTIME_PACK_BYTE_READER_H_
#define SPIRLOOM_RUNTIME_PACK_BYTE_READER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace spirloom::pack {

// Reads what codegen/varint.py writes, never beyond the end. Once something does not fit, ok() is
// false for good and everything reads as zero or empty. Refers to the bytes.
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
  // Bytes behind their number.
  std::span<const std::byte> Counted();
  // Counted text that a NUL follows and none is part of: data() is a C string.
  std::string_view Text();
  // A number below `limit`.
  uint64_t Below(uint64_t limit);

 private:
  std::span<const std::byte> Take(size_t size);

  std::span<const std::byte> bytes_;
  size_t position_ = 0;
  bool ok_ = true;
};

}  // namespace spirloom::pack

#endif  // SPIRLOOM_RUNTIME_PACK_BYTE_READER_H_
