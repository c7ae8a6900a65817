// Encoding of values as push constants and specialization constants.
#include <bit>
#include <cmath>
#include <limits>

#include "runtime/base/text.h"
#include "runtime/ops/eval.h"

namespace spirloom::ops {
namespace {

static_assert(std::numeric_limits<float>::is_iec559, "large doubles must convert to infinity");

constexpr uint32_t kQuietNan = 0x7fc00000;

// Writes 4 bytes at `offset`; false if they exceed the block.
bool WriteBits(std::span<std::byte> block, size_t offset, uint32_t bits) {
  if (offset > block.size() || block.size() - offset < sizeof(bits)) return false;
  for (size_t i = 0; i < sizeof(bits); ++i) {
    block[offset + i] = static_cast<std::byte>(bits >> (8 * i) & 0xff);
  }
  return true;
}

std::string OutsideText(std::span<std::byte> block, size_t offset) {
  return Format("Offset ({}) is outside a push-constant block of {} bytes.", offset, block.size());
}

}  // namespace

uint32_t Eval::IntBits(int64_t value) {
  if (value < std::numeric_limits<int32_t>::min() || value > std::numeric_limits<int32_t>::max()) {
    Fail("The value {} does not fit int32.", value);
    return 0;
  }
  return static_cast<uint32_t>(static_cast<int32_t>(value));
}

uint32_t Eval::FloatBits(double value) {
  return std::isnan(value) ? kQuietNan : std::bit_cast<uint32_t>(static_cast<float>(value));
}

void Eval::WriteInt(std::span<std::byte> block, size_t offset, int64_t value) {
  if (!WriteBits(block, offset, IntBits(value))) Fail("{}", OutsideText(block, offset));
}

void Eval::WriteFloat(std::span<std::byte> block, size_t offset, double value) {
  if (!WriteBits(block, offset, FloatBits(value))) Fail("{}", OutsideText(block, offset));
}

void Eval::WriteInts(std::span<std::byte> block, size_t offset, const Ints& values, size_t count) {
  if (values.size() != count) {
    Fail("A list of {} is not a list of {}.", values.size(), count);
    return;
  }
  for (size_t i = 0; i < count; ++i) WriteInt(block, offset + 4 * i, values[i]);
}

}  // namespace spirloom::ops
