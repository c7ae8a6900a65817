#include "runtime/pack/f16_rounding.h"

#include <array>
#include <span>
#include <utility>

#include "runtime/pack/spirv_words.h"
#include "runtime/pack/word_access.h"

namespace spirloom::pack {
namespace {

using namespace spirv;  // NOLINT(google-build-using-namespace): the specification's names

using Words = std::span<const uint32_t>;

// The conversions of a module to fp16.
class Conversions {
 public:
  // Returns whether the module is well-formed. found() is then known.
  bool Analyze(Words module) {
    if (module.size() < kHeaderWords || module[kIdBound] > module.size()) return false;
    counts_.resize(module[kIdBound]);
    uint32_t last = 0;
    const bool complete = ForEachInstruction(module, [&](uint32_t opcode, Words in) {
      Declare(opcode, in);
      found_ = found_ || IsPack(opcode, in) || CountOf(opcode, in) != 0;
      last = opcode;
      return true;
    });
    return complete && last == kOpFunctionEnd && entry_point_ != 0;
  }

  bool found() const { return found_; }
  uint32_t entry_point() const { return entry_point_; }
  uint32_t glsl() const { return glsl_; }

  // The number of components of an OpFConvert to fp16; 0 for other instructions.
  uint32_t CountOf(uint32_t opcode, Words in) const {
    if (opcode != kOpFConvert || in.size() != 4 || in[1] >= counts_.size()) return 0;
    return counts_[in[1]];
  }

  bool IsPack(uint32_t opcode, Words in) const {
    return opcode == kOpExtInst && in.size() == 6 && glsl_ != 0 && in[3] == glsl_ &&
           in[4] == kPackHalf2x16;
  }

 private:
  void Declare(uint32_t opcode, Words in) {
    if (opcode == kOpEntryPoint && in.size() > 2) entry_point_ = in[2];
    if (opcode == kOpExtInstImport && IsNamed(in, 2, kGlslName)) glsl_ = in[1];
    if (in.size() < 3 || in[1] >= counts_.size()) return;
    if (opcode == kOpTypeFloat && in.size() == 3 && in[2] == 16) counts_[in[1]] = 1;
    if (opcode == kOpTypeVector && in.size() == 4 && in[2] < counts_.size() && counts_[in[2]] == 1)
      counts_[in[1]] = in[3];
  }

  std::vector<uint32_t> counts_;  // the components of each id that is a type of fp16
  uint32_t entry_point_ = 0;
  uint32_t glsl_ = 0;
  bool found_ = false;
};

// A module with the operands of the conversions rounded, so that they are exact.
std::vector<uint32_t> RoundOperands(Words module, const Conversions& conversions) {
  SpirvBuilder builder(module);
  const uint32_t glsl = conversions.glsl() != 0 ? conversions.glsl() : builder.NewId();
  WordAccess access(builder, glsl);
  std::vector<uint32_t> head(module.begin(), module.begin() + kHeaderWords);
  std::vector<uint32_t> body;
  bool in_functions = false;
  ForEachInstruction(module, [&](uint32_t opcode, Words in) {
    in_functions = in_functions || opcode == kOpFunction;
    if (opcode == kOpMemoryModel && conversions.glsl() == 0)
      SpirvBuilder::EmitString(head, kOpExtInstImport, {glsl}, kGlslName);
    if (conversions.IsPack(opcode, in)) {
      access.PackHalf2x16(body, in[2], in[5]);
    } else if (const uint32_t count = conversions.CountOf(opcode, in); count != 0) {
      const uint32_t rounded = builder.NewId();
      access.RoundToHalf(body, rounded, in[3], count);
      SpirvBuilder::Emit(body, kOpFConvert, {in[1], in[2], rounded});
    } else {
      SpirvBuilder::Append(in_functions ? body : head, in);
    }
    return true;
  });
  head[kIdBound] = builder.bound();
  for (const Words part : {Words(builder.declarations()), Words(body), Words(access.functions())})
    SpirvBuilder::Append(head, part);
  return head;
}

// A module that declares the execution mode for the widths.
std::vector<uint32_t> RequestMode(Words module, std::span<const uint32_t> widths) {
  std::vector<uint32_t> out(module.begin(), module.begin() + kHeaderWords);
  bool declared = false;
  ForEachInstruction(module, [&](uint32_t opcode, Words in) {
    if (opcode != kOpCapability && !std::exchange(declared, true)) {
      SpirvBuilder::Emit(out, kOpCapability, {kRoundingModeRte});
      SpirvBuilder::EmitString(out, kOpExtension, {}, "SPV_KHR_float_controls");
    }
    SpirvBuilder::Append(out, in);
    if (opcode != kOpEntryPoint) return true;
    for (const uint32_t width : widths)
      SpirvBuilder::Emit(out, kOpExecutionMode, {in[2], kExecutionModeRte, width});
    return true;
  });
  return out;
}

}  // namespace

void RoundToNearestF16(std::vector<uint32_t>& module, F16Rounding rounding) {
  constexpr std::array<uint32_t, 2> kWidths = {16, 32};
  Conversions conversions;
  if (!conversions.Analyze(module) || !conversions.found()) return;
  module = rounding == F16Rounding::kArithmetic  ? RoundOperands(module, conversions)
           : rounding == F16Rounding::kRequested ? RequestMode(module, std::span(kWidths).first(1))
                                                 : RequestMode(module, kWidths);
}

}  // namespace spirloom::pack
