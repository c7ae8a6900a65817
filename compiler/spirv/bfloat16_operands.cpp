#include "compiler/spirv/bfloat16_operands.h"

#include <algorithm>
#include <optional>
#include <set>
#include <spirv/unified1/spirv.hpp>
#include <string>
#include <utility>

#include "compiler/base/capabilities.h"
#include "compiler/spirv/khr_matrix.h"
#include "compiler/spirv/spirv_index.h"

namespace spirloom::compiler {
namespace {

// From SPV_KHR_bfloat16. The distribution's SPIR-V headers do not define them.
constexpr std::string_view kBFloat16Extension = "SPV_KHR_bfloat16";
constexpr uint32_t kBFloat16Encoding = 0;  // FP encoding of OpTypeFloat

// The ids of the component types of a type.
std::span<const uint32_t> ComponentTypesOf(const Instruction& type) {
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

bool IsFloat16(const Instruction& type) {
  return type.opcode == spv::OpTypeFloat && type.Word(2) == 16;
}

// Types and variables, which need not be used.
bool IsDeclaration(const Instruction& in) {
  return in.opcode == khr::kOpTypeMatrix || in.opcode == spv::OpVariable ||
         (in.opcode >= spv::OpTypeVoid && in.opcode <= spv::OpTypeForwardPointer);
}

// Whether the result of the instruction has the bits of an operand or of memory.
bool PreservesBits(uint16_t opcode) {
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

class OperandRewriter {
 public:
  explicit OperandRewriter(std::span<const uint32_t> words)
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
  bool ContainsFloat16(std::span<const uint32_t> types) const {
    return std::ranges::any_of(types,
                               [this](uint32_t type) { return float16_types_.contains(type); });
  }
  Status Check(const Instruction& in);
  void Rewrite(const Instruction& in);

  std::vector<uint32_t> out_;
  std::set<uint32_t> float16_types_;  // the type, and types that contain it, except matrices
  std::set<uint32_t> operand_types_;  // matrices of 16-bit floats
  std::set<uint32_t> operands_;       // ids of these types
};

Status Reject(const Instruction& in, const char* use) {
  return Status(StatusCode::kInvalidFile,
                std::string("With `needs: [bfloat16_matrix]`, 16-bit floats are bfloat16, and only "
                            "operands of cooperative matrices may have this type; the shader "
                            "contains ") +
                    use + " (SPIR-V opcode " + std::to_string(in.opcode) +
                    "). Load operands from 32-bit words; convert and compute in 32-bit floats.");
}

// An instruction with a type has it in word 1 and its own id in word 2.
Status OperandRewriter::Check(const Instruction& in) {
  const uint32_t first = in.Word(1);
  if (IsFloat16(in) || ContainsFloat16(ComponentTypesOf(in))) float16_types_.insert(first);
  if (in.opcode == khr::kOpTypeMatrix && float16_types_.contains(in.Word(2)))
    operand_types_.insert(first);
  if (IsDeclaration(in)) return {};
  if (float16_types_.contains(first)) return Reject(in, "other 16-bit floats");
  const bool converts = in.opcode == spv::OpFConvert || in.opcode == spv::OpBitcast;
  if (converts && operands_.contains(in.Word(3))) return Reject(in, "conversions of operands");
  if (!operand_types_.contains(first)) return {};
  if (!PreservesBits(in.opcode)) return Reject(in, "computed operands");
  operands_.insert(in.Word(2));
  return {};
}

void OperandRewriter::Rewrite(const Instruction& in) {
  if (in.opcode == spv::OpCapability && in.Word(1) == spv::CapabilityFloat16) return;
  if (IsFloat16(in))
    return AppendInstruction(out_, spv::OpTypeFloat, {in.Word(1), 16, kBFloat16Encoding});
  out_.insert(out_.end(), in.words.begin(), in.words.end());
  if (in.opcode == spv::OpCapability && in.Word(1) == kCooperativeMatrixKhr) {
    AppendInstruction(out_, spv::OpCapability, {kBFloat16TypeKhr});
    AppendInstruction(out_, spv::OpCapability, {kBFloat16CooperativeMatrixKhr});
  }
  if (in.opcode == spv::OpExtension && in.String(1) == khr::kMatrixExtension)
    AppendInstruction(out_, spv::OpExtension, {}, kBFloat16Extension);
}

}  // namespace

Result<std::vector<uint32_t>> WithBFloat16Operands(std::span<const uint32_t> words) {
  const std::optional<SpirvIndex> index = SpirvIndex::Create(words);
  if (!index) return Status(StatusCode::kInvalidFile, "The module is not well-formed SPIR-V.");
  const auto& capabilities = index->capabilities();
  if (std::ranges::find(capabilities, kCooperativeMatrixKhr) == capabilities.end())
    return std::vector<uint32_t>(words.begin(), words.end());
  return OperandRewriter(words).Run(words);
}

}  // namespace spirloom::compiler
