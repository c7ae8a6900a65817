// Iterates over the instructions of a SPIR-V module, and appends instructions.
#ifndef SPIRLOOM_COMPILER_SPIRV_SPIRV_WALKER_H_
#define SPIRLOOM_COMPILER_SPIRV_SPIRV_WALKER_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/pack/spirv_words.h"

namespace spirloom::compiler {

// One instruction. `words` includes the first word, which contains length and opcode.
struct Instruction {
  uint16_t opcode;
  std::span<const uint32_t> words;

  // Word i, or 0 beyond the end.
  uint32_t Word(size_t i) const { return i < words.size() ? words[i] : 0; }
  // The literal string that begins at word i.
  std::string String(size_t i) const {
    std::string text;
    for (; i < words.size(); ++i) {
      for (unsigned shift = 0; shift < 32; shift += 8) {
        const char c = static_cast<char>(words[i] >> shift & 0xff);
        if (c == '\0') return text;
        text += c;
      }
    }
    return text;
  }
};

// Calls `visit(const Instruction&) -> bool` for each instruction, as
// pack::spirv::ForEachInstruction() does. Returns false if `module` does not have SPIR-V's magic
// number.
template <typename Visit>
bool WalkSpirv(std::span<const uint32_t> module, Visit visit) {
  if (module.empty() || module[0] != pack::spirv::kMagic) return false;
  return pack::spirv::ForEachInstruction(
      module, [&](uint32_t opcode, std::span<const uint32_t> words) {
        return visit(Instruction{static_cast<uint16_t>(opcode), words});
      });
}

// Appends an instruction with these operands.
inline void AppendInstruction(std::vector<uint32_t>& module, uint32_t opcode,
                              std::initializer_list<uint32_t> operands) {
  const auto length = static_cast<uint32_t>(1 + operands.size());
  module.push_back(length << 16 | opcode);
  module.insert(module.end(), operands);
}

// Appends an instruction whose last operand is a literal string.
inline void AppendInstruction(std::vector<uint32_t>& module, uint32_t opcode,
                              std::initializer_list<uint32_t> operands, std::string_view text) {
  const size_t first = module.size();
  AppendInstruction(module, opcode, operands);
  const size_t at = module.size();
  module.resize(at + text.size() / 4 + 1);  // including the terminating zero
  for (size_t i = 0; i < text.size(); ++i)
    module[at + i / 4] |= static_cast<uint32_t>(static_cast<unsigned char>(text[i]))
                          << (8 * (i % 4));
  module[first] = static_cast<uint32_t>(module.size() - first) << 16 | opcode;
}

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_SPIRV_SPIRV_WALKER_H_
