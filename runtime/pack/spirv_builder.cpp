#include "runtime/pack/spirv_builder.h"

#include <algorithm>

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
      const auto operand = operands.begin();
      if (std::equal(operand, operand + result - 1, in.begin() + 1) &&
          std::equal(operand + result - 1, operands.end(), in.begin() + result + 1))
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
  declarations_.push_back(first);
  declarations_.insert(declarations_.end(), operands);
  declarations_.insert(declarations_.end() - static_cast<ptrdiff_t>(operands.size() - result + 1),
                       id);
  return id;
}

uint32_t SpirvBuilder::Constant4(const uint32_t (&bits)[4]) {
  const uint32_t ids[] = {Constant(bits[0]), Constant(bits[1]), Constant(bits[2]),
                          Constant(bits[3])};
  return Declare(kOpConstantComposite, 2, {Vector(Uint(), 4), ids[0], ids[1], ids[2], ids[3]});
}

void SpirvBuilder::Emit(std::vector<uint32_t>& out, uint32_t opcode, Operands operands) {
  out.push_back(static_cast<uint32_t>(operands.size() + 1) << 16 | opcode);
  out.insert(out.end(), operands);
}

uint32_t SpirvBuilder::Result(std::vector<uint32_t>& out, uint32_t opcode, uint32_t type,
                              Operands operands) {
  const uint32_t id = NewId();
  out.push_back(static_cast<uint32_t>(operands.size() + 3) << 16 | opcode);
  out.push_back(type);
  out.push_back(id);
  out.insert(out.end(), operands);
  return id;
}

}  // namespace spirloom::pack::spirv
