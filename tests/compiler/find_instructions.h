#ifndef SPIRLOOM_TESTS_COMPILER_FIND_INSTRUCTIONS_H_
#define SPIRLOOM_TESTS_COMPILER_FIND_INSTRUCTIONS_H_

#include <cstdint>
#include <set>
#include <span>
#include <spirv/unified1/spirv.hpp>
#include <string>
#include <vector>

#include "compiler/spirv/spirv_walker.h"

namespace spirloom::compiler {

// The instructions with this opcode.
inline std::vector<Instruction> Find(std::span<const uint32_t> words, uint16_t opcode) {
  std::vector<Instruction> found;
  WalkSpirv(words, [&](const Instruction& in) {
    if (in.opcode == opcode) found.push_back(in);
    return true;
  });
  return found;
}

// The SPIR-V extensions that a module names.
inline std::set<std::string> ExtensionsOf(std::span<const uint32_t> words) {
  std::set<std::string> names;
  for (const Instruction& in : Find(words, spv::OpExtension)) names.insert(in.String(1));
  return names;
}

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_TESTS_COMPILER_FIND_INSTRUCTIONS_H_
