// SPIR-V as words: the constants of its specification that the runtime uses, without its headers,
// and bounds-checked iteration over instructions.
#ifndef SPIRLOOM_RUNTIME_PACK_SPIRV_WORDS_H_
#define SPIRLOOM_RUNTIME_PACK_SPIRV_WORDS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

namespace spirloom::pack::spirv {

inline constexpr uint32_t kMagic = 0x07230203;
inline constexpr size_t kHeaderWords = 5;
inline constexpr size_t kIdBound = 3;  // index of the id bound in the header

enum Op : uint32_t {
  kOpName = 5,
  kOpMemberName = 6,
  kOpExtension = 10,
  kOpExtInstImport = 11,
  kOpExtInst = 12,
  kOpMemoryModel = 14,
  kOpEntryPoint = 15,
  kOpExecutionMode = 16,
  kOpCapability = 17,
  kOpTypeVoid = 19,
  kOpTypeBool = 20,
  kOpTypeInt = 21,
  kOpTypeFloat = 22,
  kOpTypeVector = 23,
  kOpTypeImage = 25,
  kOpTypeArray = 28,
  kOpTypeRuntimeArray = 29,
  kOpTypeStruct = 30,
  kOpTypePointer = 32,
  kOpTypeFunction = 33,
  kOpConstant = 43,
  kOpConstantComposite = 44,
  kOpFunction = 54,
  kOpFunctionParameter = 55,
  kOpFunctionEnd = 56,
  kOpFunctionCall = 57,
  kOpVariable = 59,
  kOpLoad = 61,
  kOpStore = 62,
  kOpAccessChain = 65,
  kOpInBoundsAccessChain = 66,
  kOpDecorate = 71,
  kOpMemberDecorate = 72,
  kOpVectorExtractDynamic = 77,
  kOpVectorShuffle = 79,
  kOpCompositeConstruct = 80,
  kOpCompositeExtract = 81,
  kOpCompositeInsert = 82,
  kOpCopyObject = 83,
  kOpImageFetch = 95,
  kOpUConvert = 113,
  kOpSConvert = 114,
  kOpFConvert = 115,
  kOpBitcast = 124,
  kOpIAdd = 128,
  kOpFAdd = 129,
  kOpISub = 130,
  kOpSelect = 169,
  kOpIEqual = 170,
  kOpUGreaterThan = 172,
  kOpULessThan = 176,
  kOpShiftRightLogical = 194,
  kOpShiftRightArithmetic = 195,
  kOpShiftLeftLogical = 196,
  kOpBitwiseOr = 197,
  kOpBitwiseAnd = 199,
  kOpNot = 200,
  kOpAtomicCompareExchange = 230,
  kOpPhi = 245,
  kOpLoopMerge = 246,
  kOpLabel = 248,
  kOpBranch = 249,
  kOpBranchConditional = 250,
  kOpSwitch = 251,
  kOpReturn = 253,
  kOpReturnValue = 254,
};

inline constexpr uint32_t kDecorationArrayStride = 6;
inline constexpr uint32_t kDecorationNonReadable = 25;
inline constexpr uint32_t kDecorationBinding = 33;
inline constexpr uint32_t kDecorationDescriptorSet = 34;
inline constexpr uint32_t kDim2D = 1;
inline constexpr uint32_t kDim3D = 2;
inline constexpr uint32_t kDimBuffer = 5;
inline constexpr uint32_t kUniformConstant = 0;
inline constexpr uint32_t kStorageBuffer = 12;
inline constexpr uint32_t kFloat64 = 10;
inline constexpr uint32_t kInt64 = 11;
inline constexpr uint32_t kSampledBuffer = 46;
inline constexpr uint32_t kRoundingModeRte = 4467;
inline constexpr uint32_t kExecutionModeRte = 4462;
inline constexpr uint32_t kStorageBuffer16BitAccess = 4433;
inline constexpr uint32_t kStorageBuffer8BitAccess = 4448;
// Instructions of GLSL.std.450.
inline constexpr std::string_view kGlslName = "GLSL.std.450";
inline constexpr uint32_t kPackHalf2x16 = 58;
inline constexpr uint32_t kUnpackHalf2x16 = 62;

// The range [first, last) of literal operands of an instruction of a function body; empty if there
// are none. Literals of instructions that never have buffers as operands may be missing.
inline std::pair<size_t, size_t> LiteralsOf(uint32_t opcode, std::span<const uint32_t> in) {
  switch (opcode) {
    case kOpExtInst:
      return {4, 5};
    case kOpVariable:
    case kOpFunction:
      return {3, 4};
    case kOpSwitch:
      return {2, in.size()};
    case kOpCompositeExtract:
      return {4, in.size()};
    case kOpCompositeInsert:
    case kOpVectorShuffle:
      return {5, in.size()};
    default:
      return {in.size(), in.size()};
  }
}

// Whether `name` is the literal string that begins at in[i].
inline bool IsNamed(std::span<const uint32_t> in, size_t i, std::string_view name) {
  const size_t bytes = (in.size() - std::min(i, in.size())) * sizeof(uint32_t);
  return bytes > name.size() && std::memcmp(&in[i], name.data(), name.size()) == 0 &&
         reinterpret_cast<const char*>(&in[i])[name.size()] == '\0';
}

// Calls visit(opcode, words) for each instruction, including its first word, until it returns
// false. Returns false if the header is missing or an instruction exceeds the module.
template <typename Word, typename Visit>
bool ForEachInstruction(std::span<Word> module, Visit visit) {
  for (size_t i = kHeaderWords; i < module.size();) {
    const size_t length = module[i] >> 16;
    if (length == 0 || length > module.size() - i) return false;
    if (!visit(module[i] & 0xffff, module.subspan(i, length))) break;
    i += length;
  }
  return module.size() >= kHeaderWords;
}

}  // namespace spirloom::pack::spirv

#endif  // SPIRLOOM_RUNTIME_PACK_SPIRV_WORDS_H_
