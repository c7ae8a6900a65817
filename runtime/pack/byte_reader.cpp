#include "runtime/pack/byte_reader.h"

#include <bit>

namespace spirloom::pack {

std::span<const std::byte> ByteReader::Take(size_t size) {
  ok_ = ok_ && size <= remaining();
  if (!ok_) return {};
  const std::span<const std::byte> bytes = bytes_.subspan(position_, size);
  position_ += size;
  return bytes;
}

uint8_t ByteReader::Byte() {
  const std::span<const std::byte> bytes = Take(1);
  return bytes.empty() ? uint8_t{0} : std::to_integer<uint8_t>(bytes[0]);
}

uint64_t ByteReader::Varint() {
  uint64_t value = 0;
  for (uint32_t shift = 0; shift < 64; shift += 7) {
    const uint8_t byte = Byte();
    value |= uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) {
      ok_ = ok_ && (shift < 63 || byte <= 1);
      return ok_ ? value : 0;
    }
  }
  ok_ = false;
  return 0;
}

int64_t ByteReader::Zigzag() {
  const uint64_t value = Varint();
  return static_cast<int64_t>((value >> 1) ^ (0 - (value & 1)));
}

double ByteReader::Float() {
  uint64_t bits = 0;
  for (uint32_t shift = 0; shift < 64; shift += 8) bits |= uint64_t{Byte()} << shift;
  return std::bit_cast<double>(bits);
}

std::span<const std::byte> ByteReader::Counted() {
  const uint64_t size = Varint();
  ok_ = ok_ && size <= remaining();
  return Take(static_cast<size_t>(size));
}

std::string_view ByteReader::Text() {
  const std::span<const std::byte> bytes = Counted();
  ok_ = Byte() == 0 && ok_;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  ok_ = ok_ && text.find('\0') == std::string_view::npos;
  return ok_ ? text : std::string_view("");
}

uint64_t ByteReader::Below(uint64_t limit) {
  const uint64_t value = Varint();
  ok_ = ok_ && value < limit;
  return ok_ ? value : 0;
}

}  // namespace spirloom::pack
