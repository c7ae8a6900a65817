// How values of the expression language reach push constants and specialisation constants.
#include <bit>
#include <cmath>
#include <limits>

#include "runtime/ops/eval.h"
#include "runtime/text.h"

namespace spirloom::ops {
namespace {

static_assert(std::numeric_limits<float>::is_iec559, "a double too large for a float is infinite");

constexpr uint32_t kNotANumber = 0x7fc00000;

// Returns whether 4 bytes fit at `offset`, and writes them.
bool PutBits(std::span<std::byte> block, size_t offset, uint32_t bits) {
  if (offset > block.size() || block.size() - offset < sizeof(bits)) return false;
  for (size_t i = 0; i < sizeof(bits); ++i) {
    block[offset + i] = static_cast<std::byte>(bits >> (8 * i) & 0xff);
  }
  return true;
}

std::string OutsideText(std::span<std::byte> block, size_t offset) {
  return Concat(
      {"Offset (", offset, ") lies outside a push-constant block of ", block.size(), " bytes."});
}

}  // namespace

uint32_t Eval::IntBits(int64_t value) {
  if (value < std::numeric_limits<int32_t>::min() || value > std::numeric_limits<int32_t>::max()) {
    Fail({"The value ", value, " does not fit int32."});
    return 0;
  }
  return static_cast<uint32_t>(static_cast<int32_t>(value));
}

uint32_t Eval::FloatBits(double value) {
  return std::isnan(value) ? kNotANumber : std::bit_cast<uint32_t>(static_cast<float>(value));
}

void Eval::PutInt(std::span<std::byte> block, size_t offset, int64_t value) {
  if (!PutBits(block, offset, IntBits(value))) Fail({OutsideText(block, offset)});
}

void Eval::PutFloat(std::span<std::byte> block, size_t offset, double value) {
  if (!PutBits(block, offset, FloatBits(value))) Fail({OutsideText(block, offset)});
}

void Eval::PutInts(std::span<std::byte> block, size_t offset, const Ints& values, size_t count) {
  if (values.size() != count) {
    Fail({"A list of ", values.size(), " is not a list of ", count, "."});
    return;
  }
  for (size_t i = 0; i < count; ++i) PutInt(block, offset + 4 * i, values[i]);
}

}  // namespace spirloom::ops
