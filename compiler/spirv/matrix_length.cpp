#include "compiler/spirv/matrix_length.h"

#include <spirv-tools/libspirv.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <spirv-tools/libspirv.hpp>
#include <spirv/unified1/spirv.hpp>
#include <utility>

#include "compiler/spirv/spirv_walker.h"

namespace spirloom::compiler {
namespace {

using pack::spirv::kHeaderWords;
using pack::spirv::kIdBound;

// The constants that are computed from lengths.
std::set<uint32_t> LengthConstants(std::span<const uint32_t> module) {
  std::set<uint32_t> ids;
  WalkSpirv(module, [&ids](const Instruction& in) {
    if (in.opcode != spv::OpSpecConstantOp || in.words.size() < 5) return true;
    const bool from_length = std::ranges::any_of(
        in.words.subspan(4), [&ids](uint32_t operand) { return ids.contains(operand); });
    if (in.Word(3) == spv::OpCooperativeMatrixLengthNV || from_length) ids.insert(in.Word(2));
    return true;
  });
  return ids;
}

// An instruction, and which of its words are ids that it uses.
struct ParsedInstruction {
  explicit ParsedInstruction(const spv_parsed_instruction_t& in)
      : opcode(in.opcode), id(in.result_id), words(in.words, in.words + in.num_words) {
    for (const spv_parsed_operand_t& operand : std::span(in.operands, in.num_operands)) {
      if (operand.type == SPV_OPERAND_TYPE_ID) ids.push_back(operand.offset);
    }
  }

  uint16_t opcode;
  uint32_t id;
  std::vector<uint32_t> words;
  std::vector<size_t> ids;
};

class LengthMover {
 public:
  LengthMover(std::span<const uint32_t> module, std::set<uint32_t> lengths)
      : bound_(module[kIdBound]),
        lengths_(std::move(lengths)),
        out_(module.begin(), module.begin() + kHeaderWords) {}

  // Returns false for a use outside of functions.
  bool Add(ParsedInstruction in) {
    in_function_ = in_function_ || in.opcode == spv::OpFunction;
    if (!in_function_) return AddDeclaration(std::move(in));
    Localize(in);
    body_.insert(body_.end(), in.words.begin(), in.words.end());
    in_head_ = in_head_ && IsHead(in.opcode);
    if (in_head_) head_ = body_.size();
    if (in.opcode == spv::OpFunctionEnd) EndFunction();
    return true;
  }

  std::vector<uint32_t> Finish() && {
    out_[kIdBound] = bound_;
    return std::move(out_);
  }

 private:
  // The instructions before the first computation of a function.
  static bool IsHead(uint16_t opcode) {
    return opcode == spv::OpFunction || opcode == spv::OpFunctionParameter ||
           opcode == spv::OpLabel || opcode == spv::OpVariable || opcode == spv::OpLine ||
           opcode == spv::OpNoLine;
  }

  bool AddDeclaration(ParsedInstruction in) {
    const bool uses = std::ranges::any_of(
        in.ids, [&](size_t offset) { return lengths_.contains(in.words[offset]); });
    if (lengths_.contains(in.id)) {
      order_.push_back(in.id);
      constants_.emplace(in.id, std::move(in));
    } else if (!uses) {
      out_.insert(out_.end(), in.words.begin(), in.words.end());
    } else {
      return in.opcode == spv::OpName || in.opcode == spv::OpDecorate;
    }
    return true;
  }

  // Replaces the ids of constants by those of this function's instructions.
  void Localize(ParsedInstruction& in) {
    for (const size_t offset : in.ids) {
      if (lengths_.contains(in.words[offset])) in.words[offset] = LocalId(in.words[offset]);
    }
  }

  uint32_t LocalId(uint32_t constant) {
    const auto known = locals_.find(constant);
    if (known != locals_.end()) return known->second.id;
    ParsedInstruction in = constants_.at(constant);
    Localize(in);
    in.id = bound_++;
    return locals_.emplace(constant, std::move(in)).first->second.id;
  }

  void EndFunction() {
    const auto begin = body_.begin() + static_cast<ptrdiff_t>(head_);
    out_.insert(out_.end(), body_.begin(), begin);
    for (const uint32_t constant : order_) {
      const auto local = locals_.find(constant);
      if (local == locals_.end()) continue;
      // OpSpecConstantOp has the type, the id, the operation and its operands.
      const std::span<const uint32_t> words = local->second.words;
      AppendInstruction(out_, words[3], {words[1], local->second.id});
      out_[out_.size() - 3] += static_cast<uint32_t>(words.size() - 4) << spv::WordCountShift;
      out_.insert(out_.end(), words.begin() + 4, words.end());
    }
    out_.insert(out_.end(), begin, body_.end());
    body_.clear();
    locals_.clear();
    in_head_ = true;
    in_function_ = false;
  }

  uint32_t bound_;
  std::set<uint32_t> lengths_;
  std::map<uint32_t, ParsedInstruction> constants_;
  std::vector<uint32_t> order_;  // the keys of constants_, in the order of the module
  bool in_function_ = false;
  bool in_head_ = true;
  std::vector<uint32_t> body_;                    // of the current function
  size_t head_ = 0;                               // words of its head
  std::map<uint32_t, ParsedInstruction> locals_;  // by constant, of the current function
  std::vector<uint32_t> out_;
};

spv_result_t AddParsed(void* mover, const spv_parsed_instruction_t* in) {
  const bool added = static_cast<LengthMover*>(mover)->Add(ParsedInstruction(*in));
  return added ? SPV_SUCCESS : SPV_REQUESTED_TERMINATION;
}

}  // namespace

std::vector<uint32_t> WithLengthsInFunctions(std::span<const uint32_t> words) {
  std::set<uint32_t> lengths = LengthConstants(words);
  std::vector<uint32_t> unchanged(words.begin(), words.end());
  if (lengths.empty()) return unchanged;
  LengthMover mover(words, std::move(lengths));
  const spvtools::Context context(SPV_ENV_UNIVERSAL_1_5);
  const spv_result_t result =
      spvBinaryParse(context.CContext(), &mover, words.data(), words.size(),
                     /*parse_header=*/nullptr, AddParsed, /*diagnostic=*/nullptr);
  return result == SPV_SUCCESS ? std::move(mover).Finish() : unchanged;
}

}  // namespace spirloom::compiler
