#include "compiler/spirv/source_texts.h"

#include <algorithm>
#include <cstddef>
#include <spirv/unified1/spirv.hpp>
#include <string_view>

#include "compiler/spirv/debug_info.h"
#include "compiler/spirv/spirv_walker.h"

namespace spirloom::compiler {
namespace {

constexpr uint32_t kGlslVersion = 450;

constexpr size_t kWordsWithoutText = debug_info::kFirstOperand + 1;

// Texts are cut to what an instruction holds: its length has 16 bits, and OpString no continuation.
constexpr size_t kMaxOperands = 4;  // before the text, including the first word
constexpr size_t kMaxTextBytes = (0xffff - kMaxOperands) * sizeof(uint32_t) - 1;

class TextAdder {
 public:
  TextAdder(std::span<const uint32_t> module, const SourceFiles& sources)
      : module_(module), sources_(sources) {}

  std::vector<uint32_t> Run() {
    WalkSpirv(module_, [&](const Instruction& instruction) {
      Note(instruction);
      return true;
    });
    result_.assign(module_.begin(), module_.begin() + pack::spirv::kHeaderWords);
    WalkSpirv(module_, [&](const Instruction& instruction) {
      Copy(instruction);
      return true;
    });
    return result_;
  }

 private:
  void Note(const Instruction& instruction) {
    if (instruction.opcode == spv::OpExtInstImport && instruction.String(2) == debug_info::kSet)
      set_ = instruction.Word(1);
    if (instruction.opcode == spv::OpSource && instruction.words.size() > 4)
      with_text_.push_back(instruction.Word(3));
  }

  void Copy(const Instruction& instruction) {
    const size_t first = result_.size();
    result_.insert(result_.end(), instruction.words.begin(), instruction.words.end());
    if (instruction.opcode == spv::OpString) {
      const auto source = sources_.find(instruction.String(2));
      if (source != sources_.end())
        AddText(instruction.Word(1), std::string_view(source->second).substr(0, kMaxTextBytes));
    } else if (IsDebugSourceWithoutText(instruction)) {
      const auto text = texts_.find(instruction.Word(debug_info::kFirstOperand));
      if (text == texts_.end()) return;
      result_.push_back(text->second);
      result_[first] += 1U << 16;
    }
  }

  void AddText(uint32_t file, std::string_view text) {
    if (set_ != 0) {
      const uint32_t id = result_[pack::spirv::kIdBound]++;
      AppendInstruction(result_, spv::OpString, {id}, text);
      texts_[file] = id;
    } else if (std::ranges::find(with_text_, file) == with_text_.end()) {
      AppendInstruction(result_, spv::OpSource, {spv::SourceLanguageGLSL, kGlslVersion, file},
                        text);
    }
  }

  bool IsDebugSourceWithoutText(const Instruction& instruction) const {
    return instruction.opcode == spv::OpExtInst && set_ != 0 &&
           instruction.Word(debug_info::kSetWord) == set_ &&
           instruction.Word(debug_info::kInstructionWord) == debug_info::kSource &&
           instruction.words.size() == kWordsWithoutText;
  }

  std::span<const uint32_t> module_;
  const SourceFiles& sources_;
  std::vector<uint32_t> result_;
  uint32_t set_ = 0;                    // the imported instruction set
  std::vector<uint32_t> with_text_;     // files of an OpSource with a text
  std::map<uint32_t, uint32_t> texts_;  // OpString of a file to OpString of its text
};

}  // namespace

std::vector<uint32_t> WithSourceTexts(std::span<const uint32_t> module,
                                      const SourceFiles& sources) {
  return TextAdder(module, sources).Run();
}

}  // namespace spirloom::compiler
