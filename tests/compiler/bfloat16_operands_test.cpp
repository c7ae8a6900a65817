#include "compiler/spirv/bfloat16_operands.h"

#include <gmock/gmock.h>

#include <spirv/unified1/spirv.hpp>
#include <string>
#include <vector>

#include "compiler/base/capabilities.h"
#include "compiler/glsl/glsl_to_spirv.h"
#include "compiler/spirv/cooperative_matrix.h"
#include "compiler/spirv/khr_matrix.h"
#include "compiler/spirv/optimize.h"
#include "compiler/spirv/spirv_index.h"
#include "tests/compiler/find_instructions.h"
#include "tests/value_of.h"

namespace spirloom::compiler {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

// A shader that multiplies matrices from shared memory, with a statement before the multiply-add.
std::vector<uint32_t> KhrModule(const std::string& statement = "") {
  const std::string glsl =
      "#version 450\n"
      "#extension GL_KHR_memory_scope_semantics : require\n"
      "#extension GL_NV_cooperative_matrix : require\n"
      "#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require\n"
      "#extension GL_EXT_shader_16bit_storage : require\n"
      "layout(local_size_x = 32) in;\n"
      "layout(constant_id = 1000) const uint M = 16;\n"
      "layout(constant_id = 1001) const uint N = 16;\n"
      "layout(constant_id = 1002) const uint K = 16;\n"
      "layout(set = 0, binding = 0) buffer X { uvec4 x[]; };\n"
      "layout(set = 0, binding = 1) buffer Y { float y[]; };\n"
      "layout(set = 0, binding = 2) buffer Z { float16_t z[]; };\n"
      "shared uvec4 words[64];\n"
      "#define Left fcoopmatNV<16, gl_ScopeSubgroup, M, K>\n"
      "#define Right fcoopmatNV<16, gl_ScopeSubgroup, K, N>\n"
      "#define Sum fcoopmatNV<32, gl_ScopeSubgroup, M, N>\n"
      "void main() {\n"
      "  words[gl_LocalInvocationIndex] = x[gl_LocalInvocationIndex];\n"
      "  barrier();\n"
      "  Left lefts[2];\n"
      "  Right right;\n"
      "  Sum sum = Sum(0.0);\n"
      "  for (int i = 0; i < 2; ++i) coopMatLoadNV(lefts[i], words, 32 * i, 2, false);\n"
      "  coopMatLoadNV(right, words, 32, 2, true);\n"
      "  " +
      statement +
      "\n"
      "  for (int i = 0; i < 2; ++i) sum = coopMatMulAddNV(lefts[i], right, sum);\n"
      "  coopMatStoreNV(sum, y, 0, 16, false);\n"
      "}\n";
  const GlslResult parsed = GlslToSpirv(glsl, "test.comp", Target::kVulkan11);
  for (const GlslError& error : parsed.errors) ADD_FAILURE() << error.where << error.message;
  const auto optimized = Optimize(parsed.words, Target::kVulkan11);
  EXPECT_TRUE(optimized.ok()) << optimized.status().message();
  EXPECT_TRUE(Validate(*optimized, Target::kVulkan11).ok());
  return ValueOf(WithKhrMatrices(*optimized));
}

std::string MessageFor(const std::string& statement) {
  return WithBFloat16Operands(KhrModule(statement)).status().message();
}

TEST(BFloat16Operands, KeepsModulesWithoutMatrices) {
  const GlslResult parsed =
      GlslToSpirv("#version 450\nvoid main() {}\n", "test.comp", Target::kVulkan11);
  EXPECT_EQ(ValueOf(WithBFloat16Operands(parsed.words)), parsed.words);
  EXPECT_FALSE(WithBFloat16Operands(std::vector<uint32_t>{1, 2, 3}).ok());
}

TEST(BFloat16Operands, ReplaceFloat16) {
  const std::vector<uint32_t> f16 = KhrModule();
  EXPECT_THAT(SpirvIndex::Create(f16)->capabilities(), Contains(spv::CapabilityFloat16));
  const std::vector<uint32_t> words = ValueOf(WithBFloat16Operands(f16));
  const SpirvIndex index = *SpirvIndex::Create(words);
  EXPECT_THAT(index.capabilities(), Not(Contains(spv::CapabilityFloat16)));
  EXPECT_THAT(index.capabilities(), Contains(kCooperativeMatrixKhr));
  EXPECT_THAT(index.capabilities(), Contains(5116));
  EXPECT_THAT(index.capabilities(), Contains(5118));
  EXPECT_THAT(ExtensionsOf(words), Contains("SPV_KHR_cooperative_matrix"));
  EXPECT_THAT(ExtensionsOf(words), Contains("SPV_KHR_bfloat16"));
  size_t operands = 0;
  for (const Instruction& matrix : Find(words, khr::kOpTypeMatrix)) {
    const Instruction element = index.Definition(matrix.Word(2));
    if (element.Word(2) == 32) continue;
    ++operands;
    EXPECT_THAT(element.words, testing::ElementsAre(4 << 16 | spv::OpTypeFloat, element.Word(1), 16,
                                                    /*BFloat16KHR*/ 0));
  }
  EXPECT_EQ(operands, 2u);
}

// Two capabilities, an extension of 17 bytes and an encoding are added; one capability is removed.
TEST(BFloat16Operands, ChangeNothingElse) {
  const std::vector<uint32_t> f16 = KhrModule();
  const std::vector<uint32_t> words = ValueOf(WithBFloat16Operands(f16));
  EXPECT_EQ(words.size(), f16.size() + 2 * 2 + (1 + 5) + 1 - 2);
  EXPECT_EQ(words[3], f16[3]);
}

TEST(BFloat16Operands, MayBeCopiedAndStored) {
  EXPECT_EQ(MessageFor("if (y[0] > 0.0) lefts[0] = lefts[1];"), "");
  EXPECT_EQ(MessageFor("coopMatStoreNV(right, words, 0, 2, false);"), "");
}

TEST(BFloat16Operands, OtherFloat16UsesAreRejected) {
  EXPECT_EQ(MessageFor("z[0] = z[1];"),
            "With `needs: [bfloat16_matrix]`, 16-bit floats are bfloat16, and only operands of "
            "cooperative matrices may have this type; the shader contains other 16-bit floats "
            "(SPIR-V opcode 65). Load operands from 32-bit words; convert and compute in 32-bit "
            "floats.");
  EXPECT_THAT(MessageFor("words[0].x = packFloat2x16(f16vec2(y[0], y[1]));"),
              HasSubstr("contains other 16-bit floats (SPIR-V opcode "));
  EXPECT_THAT(MessageFor("y[1] = float(float16_t(y[0]));"),
              HasSubstr("contains other 16-bit floats (SPIR-V opcode 115)"));
  EXPECT_THAT(MessageFor("lefts[0] = Left(1.0);"),
              HasSubstr("contains other 16-bit floats (SPIR-V opcode 43)"));
  EXPECT_THAT(MessageFor("coopMatLoadNV(right, z, 0, 16, true);"),
              HasSubstr("contains other 16-bit floats (SPIR-V opcode 65)"));
}

TEST(BFloat16Operands, ComputedOperandsAreRejected) {
  EXPECT_THAT(MessageFor("right = right + right;"),
              HasSubstr("contains computed operands (SPIR-V opcode 129)"));
  EXPECT_THAT(MessageFor("sum = fcoopmatNV<32, gl_ScopeSubgroup, M, N>(lefts[0]);"),
              HasSubstr("contains conversions of operands (SPIR-V opcode 115)"));
}

}  // namespace
}  // namespace spirloom::compiler
