// Steps through the instructions of a SPIR-V module.
#ifndef SPIRLOOM_COMPILER_SPIRV_WALKER_H_
#define SPIRLOOM_COMPILER_SPIRV_WALKER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace spirloom::compiler {

inline constexpr uint32_t kSpirvMagic = 0x07230203;
inline constexpr size_t kSpirvHeaderWords = 5;

// One instruction; `words` includes the first, which holds length and opcode.
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

// Calls `visit(const Instruction&) -> bool` for each instruction until it returns false. Returns
// false if `module` is not a well-formed sequence of instructions.
template <typename Visit>
bool WalkSpirv(std::span<const uint32_t> module, Visit visit) {
  if (module.size() < kSpirvHeaderWords || module[0] != kSpirvMagic) return false;
  for (size_t i = kSpirvHeaderWords; i < module.size();) {
    const size_t length = module[i] >> 16;
    if (length == 0 || length > module.size() - i) return false;
    if (!visit(Instruction{static_cast<uint16_t>(module[i] & 0xffff), module.subspan(i, length)}))
      return true;
    i += length;
  }
  return true;
}

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_SPIRV_WALKER_H_
