#include "runtime/pack/spirv_builder.h"

#include <algorithm>
#include <cstring>

namespace spirloom::pack::spirv {
namespace {

// Returns the result id of this declaration in `words`, which begins with an instruction; 0 if it
// is not there.
uint32_t FindDeclaration(std::span<const uint32_t> words, uint32_t first_word, size_t result,
                         Operands operands) {
  for (size_t i = 0; i < words.size();) {
    const size_t length = words[i] >> 16;
    if (length == 0 || length > words.size() - i || (words[i] & 0xffff) == kOpFunction) break;
    if (words[i] == first_word) {
      const auto in = words.subspan(i, length);
      const std::span<const uint32_t> all(operands.begin(), operands.end());
      if (std::ranges::equal(all.first(result - 1), in.subspan(1, result - 1)) &&
          std::ranges::equal(all.subspan(result - 1), in.subspan(result + 1)))
        return in[result];
    }
    i += length;
  }
  return 0;
}

}  // namespace

uint32_t SpirvBuilder::Declare(uint32_t opcode, size_t result, Operands operands) {
  const uint32_t first = static_cast<uint32_t>(operands.size() + 2) << 16 | opcode;
  if (const uint32_t id = FindDeclaration(module_.subspan(kHeaderWords), first, result, operands))
    return id;
  if (const uint32_t id = FindDeclaration(declarations_, first, result, operands)) return id;
  const uint32_t id = NewId();
  Append(declarations_, std::span(&first, 1));
  Append(declarations_, std::span(operands.begin(), result - 1));
  Append(declarations_, std::span(&id, 1));
  Append(declarations_, std::span(operands.begin() + result - 1, operands.end()));
  return id;
}

uint32_t SpirvBuilder::Uint() { return Type(kOpTypeInt, {32, 0}); }
uint32_t SpirvBuilder::Float() { return Type(kOpTypeFloat, {32}); }
uint32_t SpirvBuilder::Bool() { return Type(kOpTypeBool, {}); }

uint32_t SpirvBuilder::Vector(uint32_t scalar, uint32_t count) {
  return Type(kOpTypeVector, {scalar, count});
}

uint32_t SpirvBuilder::Constant(uint32_t type, uint32_t bits) {
  return Declare(kOpConstant, 2, {type, bits});
}

uint32_t SpirvBuilder::Constant(uint32_t bits) { return Constant(Uint(), bits); }

void SpirvBuilder::Append(std::vector<uint32_t>& out, std::span<const uint32_t> words) {
  const size_t size = out.size();
  out.resize(size + words.size());
  std::ranges::copy(words, out.begin() + static_cast<ptrdiff_t>(size));
}

uint32_t SpirvBuilder::Constant4(const uint32_t (&bits)[4]) {
  const uint32_t ids[] = {Constant(bits[0]), Constant(bits[1]), Constant(bits[2]),
                          Constant(bits[3])};
  return Declare(kOpConstantComposite, 2, {Vector(Uint(), 4), ids[0], ids[1], ids[2], ids[3]});
}

void SpirvBuilder::Emit(std::vector<uint32_t>& out, uint32_t opcode, Operands operands) {
  const uint32_t first = static_cast<uint32_t>(operands.size() + 1) << 16 | opcode;
  Append(out, std::span(&first, 1));
  Append(out, std::span(operands.begin(), operands.end()));
}

void SpirvBuilder::EmitString(std::vector<uint32_t>& out, uint32_t opcode, Operands operands,
                              std::string_view text) {
  std::vector<uint32_t> words(text.size() / sizeof(uint32_t) + 1);
  std::memcpy(words.data(), text.data(), text.size());
  const size_t count = 1 + operands.size() + words.size();
  const uint32_t first = static_cast<uint32_t>(count) << 16 | opcode;
  Append(out, std::span(&first, 1));
  Append(out, std::span(operands.begin(), operands.end()));
  Append(out, words);
}

uint32_t SpirvBuilder::Result(std::vector<uint32_t>& out, uint32_t opcode, uint32_t type,
                              Operands operands) {
  const uint32_t id = NewId();
  const uint32_t head[] = {static_cast<uint32_t>(operands.size() + 3) << 16 | opcode, type, id};
  Append(out, head);
  Append(out, std::span(operands.begin(), operands.end()));
  return id;
}

}  // namespace spirloom::pack::spirv
