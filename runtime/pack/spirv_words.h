// SPIR-V as words: the constants of its specification that the runtime uses, without its headers,
// and bounds-checked iteration over instructions.
#ifndef SPIRLOOM_RUNTIME_PACK_SPIRV_WORDS_H_
#define SPIRLOOM_RUNTIME_PACK_SPIRV_WORDS_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace spirloom::pack::spirv {

inline constexpr uint32_t kMagic = 0x07230203;
inline constexpr size_t kHeaderWords = 5;
inline constexpr size_t kIdBound = 3;  // index of the id bound in the header

enum Op : uint32_t {
  kOpExtInst = 12,
  kOpCapability = 17,
  kOpTypeInt = 21,
  kOpTypeFloat = 22,
  kOpTypeVector = 23,
  kOpTypeImage = 25,
  kOpTypeRuntimeArray = 29,
  kOpTypeStruct = 30,
  kOpTypePointer = 32,
  kOpFunction = 54,
  kOpFunctionEnd = 56,
  kOpVariable = 59,
  kOpLoad = 61,
  kOpAccessChain = 65,
  kOpInBoundsAccessChain = 66,
  kOpDecorate = 71,
  kOpVectorExtractDynamic = 77,
  kOpVectorShuffle = 79,
  kOpCompositeExtract = 81,
  kOpCompositeInsert = 82,
  kOpImageFetch = 95,
};

inline constexpr uint32_t kDecorationBinding = 33;
inline constexpr uint32_t kDecorationDescriptorSet = 34;
inline constexpr uint32_t kDim2D = 1;
inline constexpr uint32_t kDim3D = 2;
inline constexpr uint32_t kDimBuffer = 5;
inline constexpr uint32_t kUniformConstant = 0;
inline constexpr uint32_t kStorageBuffer = 12;
inline constexpr uint32_t kSampledBuffer = 46;

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
