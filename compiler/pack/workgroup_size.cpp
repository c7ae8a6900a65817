#include "compiler/pack/workgroup_size.h"

#include <cstddef>
#include <set>
#include <spirv/unified1/spirv.hpp>
#include <vector>

#include "compiler/spirv/spirv_walker.h"

namespace spirloom::compiler {

void ClearWorkgroupSize(std::span<uint32_t> module) {
  constexpr size_t kSizes = 3;
  std::set<uint32_t> constants;  // with ids 0, 1 and 2
  std::vector<size_t> values;    // words with their defaults
  size_t local_size = 0;         // first word of the sizes in OpExecutionMode
  WalkSpirv(module, [&](const Instruction& instruction) {
    const auto at = static_cast<size_t>(instruction.words.data() - module.data());
    if (instruction.opcode == spv::OpExecutionMode && instruction.words.size() == 3 + kSizes &&
        instruction.Word(2) == spv::ExecutionModeLocalSize) {
      local_size = at + 3;
    } else if (instruction.opcode == spv::OpDecorate && instruction.words.size() == 4 &&
               instruction.Word(2) == spv::DecorationSpecId && instruction.Word(3) < kSizes) {
      constants.insert(instruction.Word(1));
    } else if (instruction.opcode == spv::OpSpecConstant && instruction.words.size() == 4 &&
               constants.contains(instruction.Word(2))) {
      values.push_back(at + 3);
    }
    return instruction.opcode != spv::OpFunction;
  });
  if (values.size() != kSizes || local_size == 0) return;
  for (size_t i = 0; i < kSizes; ++i) {
    module[values[i]] = 1;
    module[local_size + i] = 1;
  }
}

}  // namespace spirloom::compiler
