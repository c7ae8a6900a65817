#include "compiler/bfloat16_factors.h"

#include <algorithm>
#include <optional>
#include <set>
#include <spirv/unified1/spirv.hpp>
#include <string>
#include <utility>

#include "compiler/capabilities.h"
#include "compiler/khr_matrix.h"
#include "compiler/spirv_index.h"

namespace spirloom::compiler {
namespace {

// Of SPV_KHR_bfloat16, which these SPIR-V headers do not name.
constexpr std::string_view kBFloat16Extension = "SPV_KHR_bfloat16";
constexpr uint32_t kEncoding = 0;  // FP encoding of OpTypeFloat

// The operands of a type that are types themselves; the others are literals or constants.
std::span<const uint32_t> PartsOf(const Instruction& type) {
  switch (type.opcode) {
    case spv::OpTypeVector:
    case spv::OpTypeMatrix:
    case spv::OpTypeImage:
    case spv::OpTypeArray:
    case spv::OpTypeRuntimeArray:
      return type.words.subspan(2, 1);
    case spv::OpTypePointer:
      return type.words.subspan(3, 1);
    case spv::OpTypeStruct:
    case spv::OpTypeFunction:
      return type.words.subspan(2);
    default:
      return {};
  }
}

bool IsHalf(const Instruction& type) {
  return type.opcode == spv::OpTypeFloat && type.Word(2) == 16;
}

// What nothing need use.
bool IsDeclaration(const Instruction& in) {
  return in.opcode == khr::kOpTypeMatrix || in.opcode == spv::OpVariable ||
         (in.opcode >= spv::OpTypeVoid && in.opcode <= spv::OpTypeForwardPointer);
}

// Whether the instruction gives a matrix of the bits that one had, or that memory has.
bool MovesBits(uint16_t opcode) {
  switch (opcode) {
    case khr::kOpLoad:
    case spv::OpLoad:
    case spv::OpCompositeExtract:
    case spv::OpConstantNull:
    case spv::OpCopyObject:
    case spv::OpFunction:
    case spv::OpFunctionCall:
    case spv::OpFunctionParameter:
    case spv::OpPhi:
    case spv::OpSelect:
    case spv::OpUndef:
      return true;
    default:
      return false;
  }
}

class FactorRewriter {
 public:
  explicit FactorRewriter(std::span<const uint32_t> words)
      : out_(words.begin(), words.begin() + 5) {}

  Result<std::vector<uint32_t>> Run(std::span<const uint32_t> words) && {
    Status status;
    WalkSpirv(words, [&](const Instruction& in) {
      status = Check(in);
      Rewrite(in);
      return status.ok();
    });
    SPIRLOOM_TRY(status);
    return std::move(out_);
  }

 private:
  bool ArePartlyHalves(std::span<const uint32_t> types) const {
    return std::ranges::any_of(types, [this](uint32_t type) { return halves_.contains(type); });
  }
  Status Check(const Instruction& in);
  void Rewrite(const Instruction& in);

  std::vector<uint32_t> out_;
  std::set<uint32_t> halves_;    // the type and those that are made of it, but no matrices
  std::set<uint32_t> factors_;   // types of matrices of it
  std::set<uint32_t> matrices_;  // of those types
};

Status Refuse(const Instruction& in, const char* what) {
  return Status(
      StatusCode::kInvalidFile,
      std::string("With `needs: [bfloat16_matrix]` the 16-bit floats of a shader are "
                  "bfloat16, and only factors of cooperative matrices may be so; it has ") +
          what + " (SPIR-V instruction " + std::to_string(in.opcode) +
          "). Load factors from words, and convert and compute in floats.");
}

// Whatever has a type has it in word 1 and its own id in word 2.
Status FactorRewriter::Check(const Instruction& in) {
  const uint32_t first = in.Word(1);
  if (IsHalf(in) || ArePartlyHalves(PartsOf(in))) halves_.insert(first);
  if (in.opcode == khr::kOpTypeMatrix && halves_.contains(in.Word(2))) factors_.insert(first);
  if (IsDeclaration(in)) return {};
  if (halves_.contains(first)) return Refuse(in, "others");
  const bool reads_numbers = in.opcode == spv::OpFConvert || in.opcode == spv::OpBitcast;
  if (reads_numbers && matrices_.contains(in.Word(3))) return Refuse(in, "conversions of factors");
  if (!factors_.contains(first)) return {};
  if (!MovesBits(in.opcode)) return Refuse(in, "factors that are computed");
  matrices_.insert(in.Word(2));
  return {};
}

void FactorRewriter::Rewrite(const Instruction& in) {
  if (in.opcode == spv::OpCapability && in.Word(1) == spv::CapabilityFloat16) return;
  if (IsHalf(in)) return AppendInstruction(out_, spv::OpTypeFloat, {in.Word(1), 16, kEncoding});
  out_.insert(out_.end(), in.words.begin(), in.words.end());
  if (in.opcode == spv::OpCapability && in.Word(1) == kCooperativeMatrixKhr) {
    AppendInstruction(out_, spv::OpCapability, {kBFloat16TypeKhr});
    AppendInstruction(out_, spv::OpCapability, {kBFloat16CooperativeMatrixKhr});
  }
  if (in.opcode == spv::OpExtension && in.String(1) == khr::kMatrixExtension)
    AppendExtension(out_, kBFloat16Extension);
}

}  // namespace

Result<std::vector<uint32_t>> WithBFloat16Factors(std::span<const uint32_t> words) {
  const std::optional<SpirvIndex> index = SpirvIndex::Create(words);
  if (!index) return Status(StatusCode::kInvalidFile, "The module is not well-formed SPIR-V.");
  const auto& capabilities = index->capabilities();
  if (std::ranges::find(capabilities, kCooperativeMatrixKhr) == capabilities.end())
    return std::vector<uint32_t>(words.begin(), words.end());
  return FactorRewriter(words).Run(words);
}

}  // namespace spirloom::compiler
