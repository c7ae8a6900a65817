#include "compiler/driver/member_sources.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <map>
#include <spirv/unified1/spirv.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "compiler/glsl/line_directive.h"
#include "compiler/spirv/debug_info.h"
#include "compiler/spirv/spirv_walker.h"

namespace spirloom::compiler {
namespace {

constexpr size_t kMemberSource = debug_info::kFirstOperand + 2;
constexpr size_t kMemberLine = debug_info::kFirstOperand + 3;

// The files of the words that occur in GLSL, by line and word.
using Words = std::map<std::pair<unsigned long, std::string>, std::string>;

bool IsNamePart(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

Words WordsOf(std::string_view glsl) {
  Words words;
  LinePosition position;
  while (!glsl.empty()) {
    const std::string_view line = glsl.substr(0, glsl.find('\n'));
    glsl.remove_prefix(std::min(line.size() + 1, glsl.size()));
    if (ReadLineDirective(line, position)) continue;
    for (auto begin = std::ranges::find_if(line, IsNamePart); begin != line.end();) {
      const auto end = std::find_if_not(begin, line.end(), IsNamePart);
      words.try_emplace({position.line, std::string(begin, end)}, position.file);
      begin = std::find_if(end, line.end(), IsNamePart);
    }
    ++position.line;
  }
  return words;
}

}  // namespace

std::vector<uint32_t> WithMemberSources(std::span<const uint32_t> module, std::string_view glsl) {
  const Words words = WordsOf(glsl);
  std::vector<uint32_t> result(module.begin(), module.end());
  uint32_t set = 0;  // of debug information
  std::map<uint32_t, std::string> strings;
  std::map<uint32_t, uint32_t> constants;
  std::map<std::string, uint32_t> sources;  // DebugSource of a file
  WalkSpirv(module, [&](const Instruction& instruction) {
    if (instruction.opcode == spv::OpExtInstImport && instruction.String(2) == debug_info::kSet)
      set = instruction.Word(1);
    if (instruction.opcode == spv::OpString) strings[instruction.Word(1)] = instruction.String(2);
    if (instruction.opcode == spv::OpConstant) constants[instruction.Word(2)] = instruction.Word(3);
    if (instruction.opcode != spv::OpExtInst || set == 0 ||
        instruction.Word(debug_info::kSetWord) != set)
      return true;
    const uint32_t kind = instruction.Word(debug_info::kInstructionWord);
    const std::string& name = strings[instruction.Word(debug_info::kFirstOperand)];
    if (kind == debug_info::kSource) sources[name] = instruction.Word(2);
    if (kind != debug_info::kTypeMember) return true;
    const auto declared = words.find({constants[instruction.Word(kMemberLine)], name});
    if (declared == words.end()) return true;
    const auto source = sources.find(declared->second);
    const auto at = static_cast<size_t>(instruction.words.data() - module.data());
    if (source != sources.end()) result[at + kMemberSource] = source->second;
    return true;
  });
  return result;
}

}  // namespace spirloom::compiler
