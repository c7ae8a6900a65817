#include "compiler/spirv/division.h"

#include <algorithm>
#include <set>
#include <spirv/unified1/spirv.hpp>
#include <utility>

#include "compiler/spirv/spirv_walker.h"

namespace spirloom::compiler {
namespace {

using pack::spirv::kHeaderWords;

constexpr const char* kDivide = "divide(i1;i1;";  // as glslang names it
constexpr uint32_t kExportedName = 'd';           // with the terminating zero

// The declarations of a module that concern divisions.
struct Module {
  uint32_t divide = 0;        // id of the function, or 0
  uint32_t named = 0;         // a function of that name, with any parameters
  std::set<uint32_t> ints;    // type ids of int
  std::set<uint32_t> of_two;  // type ids of int(int, int)

  explicit Module(std::span<const uint32_t> module) {
    WalkSpirv(module, [this](const Instruction& in) {
      Record(in);
      return true;
    });
  }

  bool IsDivision(const Instruction& in) const {
    return in.opcode == spv::OpUDiv && ints.contains(in.Word(1));
  }

  static bool IsExport(const Instruction& in) {
    return in.opcode == spv::OpDecorate && in.Word(2) == spv::DecorationLinkageAttributes &&
           in.Word(3) == kExportedName;
  }

 private:
  void Record(const Instruction& in) {
    if (in.opcode == spv::OpName && in.String(2) == kDivide) named = in.Word(1);
    if (IsExport(in)) divide = in.Word(1);
    if (in.opcode == spv::OpTypeInt && in.Word(2) == 32 && in.Word(3) == 1) ints.insert(in.Word(1));
    if (in.opcode == spv::OpTypeFunction) {
      const auto all = in.words.subspan(2);
      const auto is_int = [this](uint32_t type) { return ints.contains(type); };
      if (all.size() == 3 && std::ranges::all_of(all, is_int)) of_two.insert(in.Word(1));
    }
    if (in.opcode == spv::OpFunction && in.Word(2) == named && of_two.contains(in.Word(4))) {
      divide = named;
    }
  }
};

// Copies the module. `replace(instruction, out)` returns true if it appended a replacement for the
// instruction.
template <typename Replace>
std::vector<uint32_t> Rewrite(std::span<const uint32_t> module, Replace replace) {
  std::vector<uint32_t> out(module.begin(), module.begin() + kHeaderWords);
  WalkSpirv(module, [&](const Instruction& in) {
    if (!replace(in, out)) out.insert(out.end(), in.words.begin(), in.words.end());
    return true;
  });
  return out;
}

}  // namespace

std::vector<uint32_t> DivisionsAsInstructions(std::span<const uint32_t> module) {
  const Module known(module);
  if (known.divide == 0) return {module.begin(), module.end()};
  bool exported = false;
  return Rewrite(module, [&](const Instruction& in, std::vector<uint32_t>& out) {
    if (in.opcode == spv::OpDecorate && !std::exchange(exported, true)) {
      AppendInstruction(
          out, spv::OpDecorate,
          {known.divide, spv::DecorationLinkageAttributes, kExportedName, spv::LinkageTypeExport});
    }
    if (in.opcode != spv::OpFunctionCall || in.Word(3) != known.divide) return false;
    AppendInstruction(out, spv::OpUDiv, {in.Word(1), in.Word(2), in.Word(4), in.Word(5)});
    return true;
  });
}

size_t CountDivisions(std::span<const uint32_t> module) {
  const Module known(module);
  size_t count = 0;
  WalkSpirv(module, [&](const Instruction& in) {
    count += known.IsDivision(in) ? 1 : 0;
    return true;
  });
  return count;
}

std::vector<uint32_t> DivisionsAsCalls(std::span<const uint32_t> module) {
  const Module known(module);
  if (known.divide == 0) return {module.begin(), module.end()};
  return Rewrite(module, [&](const Instruction& in, std::vector<uint32_t>& out) {
    if (Module::IsExport(in)) return true;
    if (in.opcode == spv::OpFunction && in.Word(2) == known.divide) {
      AppendInstruction(out, spv::OpFunction,
                        {in.Word(1), in.Word(2), spv::FunctionControlInlineMask, in.Word(4)});
      return true;
    }
    if (!known.IsDivision(in)) return false;
    AppendInstruction(out, spv::OpFunctionCall,
                      {in.Word(1), in.Word(2), known.divide, in.Word(3), in.Word(4)});
    return true;
  });
}

}  // namespace spirloom::compiler
