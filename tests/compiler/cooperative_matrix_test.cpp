#include "compiler/spirv/cooperative_matrix.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>
#include <spirv/unified1/spirv.hpp>
#include <string>
#include <vector>

#include "compiler/base/capabilities.h"
#include "compiler/glsl/glsl_to_spirv.h"
#include "compiler/spirv/matrix_length.h"
#include "compiler/spirv/optimize.h"
#include "compiler/spirv/spirv_index.h"
#include "compiler/spirv/spirv_walker.h"
#include "tests/compiler/find_instructions.h"
#include "tests/value_of.h"

namespace spirloom::compiler {
namespace {

using testing::HasSubstr;

// The parts that tests change of a shader that multiplies two matrices.
struct Parts {
  std::string a = "fcoopmatNV<16, gl_ScopeSubgroup, M, K>";
  std::string b = "fcoopmatNV<16, gl_ScopeSubgroup, K, N>";
  std::string c = "fcoopmatNV<32, gl_ScopeSubgroup, M, N>";
  std::string k = "16";
  std::string product = "coopMatMulAddNV(left, right, sum)";
};

std::vector<uint32_t> NvModule(const Parts& parts) {
  const std::string glsl =
      "#version 450\n"
      "#extension GL_KHR_memory_scope_semantics : require\n"
      "#extension GL_NV_cooperative_matrix : require\n"
      "#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require\n"
      "#extension GL_EXT_shader_16bit_storage : require\n"
      "layout(local_size_x = 32) in;\n"
      "layout(constant_id = 3) const uint OTHER = 5;\n"
      "layout(constant_id = 1000) const uint M = 16;\n"
      "layout(constant_id = 1001) const uint N = 16;\n"
      "layout(constant_id = 1002) const uint K = " +
      parts.k +
      ";\n"
      "layout(set = 0, binding = 0) buffer X { float16_t x[]; };\n"
      "layout(set = 0, binding = 1) buffer Y { float y[]; };\n"
      "void main() {\n"
      "  " +
      parts.a +
      " left;\n"
      "  " +
      parts.b +
      " right;\n"
      "  " +
      parts.c + " sum = " + parts.c +
      "(0.0);\n"
      "  coopMatLoadNV(left, x, 0, OTHER, false);\n"
      "  coopMatLoadNV(right, x, 256, 24, true);\n"
      "  sum = " +
      parts.product +
      ";\n"
      "  coopMatStoreNV(sum, y, sum.length(), 32, true);\n"
      "}\n";
  const GlslResult parsed = GlslToSpirv(glsl, "test.comp", Target::kVulkan11);
  for (const GlslError& error : parsed.errors) ADD_FAILURE() << error.where << error.message;
  const auto optimized = Optimize(WithLengthsInFunctions(parsed.words), Target::kVulkan11);
  EXPECT_TRUE(optimized.ok()) << optimized.status().message();
  if (!optimized.ok()) return {};
  EXPECT_TRUE(Validate(*optimized, Target::kVulkan11).ok());
  return *optimized;
}

std::string MessageFor(const Parts& parts) {
  return WithKhrMatrices(NvModule(parts)).status().message();
}

TEST(CooperativeMatrix, KeepsOtherModules) {
  const GlslResult parsed =
      GlslToSpirv("#version 450\nvoid main() {}\n", "test.comp", Target::kVulkan11);
  EXPECT_EQ(ValueOf(WithKhrMatrices(parsed.words)), parsed.words);
  EXPECT_FALSE(WithKhrMatrices(std::vector<uint32_t>{1, 2, 3}).ok());
}

TEST(CooperativeMatrix, RemovesAllNvInstructions) {
  const std::vector<uint32_t> words = ValueOf(WithKhrMatrices(NvModule({})));
  const SpirvIndex index = *SpirvIndex::Create(words);
  EXPECT_THAT(index.capabilities(), testing::Contains(kCooperativeMatrixKhr));
  EXPECT_THAT(index.capabilities(),
              testing::Not(testing::Contains(spv::CapabilityCooperativeMatrixNV)));
  const std::set<std::string> extensions = ExtensionsOf(words);
  EXPECT_TRUE(extensions.contains("SPV_KHR_cooperative_matrix"));
  EXPECT_FALSE(extensions.contains("SPV_NV_cooperative_matrix"));
  WalkSpirv(words, [](const Instruction& in) {
    EXPECT_FALSE(in.opcode >= spv::OpTypeCooperativeMatrixNV &&
                 in.opcode <= spv::OpCooperativeMatrixLengthNV);
    EXPECT_FALSE(in.opcode == spv::OpSpecConstantOp &&
                 in.Word(3) == spv::OpCooperativeMatrixLengthNV);
    return true;
  });
}

TEST(CooperativeMatrix, TypesHaveUses) {
  const std::vector<uint32_t> words = ValueOf(WithKhrMatrices(NvModule({})));
  const SpirvIndex index = *SpirvIndex::Create(words);
  std::map<uint32_t, uint32_t> use_of;  // by type
  for (const Instruction& type : Find(words, 4456)) {
    ASSERT_EQ(type.words.size(), 7u);
    use_of[type.Word(1)] = index.ConstantValue(type.Word(6));
  }
  ASSERT_EQ(use_of.size(), 3u);
  const std::vector<Instruction> mul_adds = Find(words, 4459);
  ASSERT_EQ(mul_adds.size(), 1u);
  EXPECT_EQ(use_of.at(mul_adds[0].Word(1)), 2u);
  const std::vector<Instruction> loads = Find(words, 4457);
  ASSERT_EQ(loads.size(), 2u);
  for (uint32_t i = 0; i < 2; ++i) EXPECT_EQ(use_of.at(loads[i].Word(1)), i);
}

TEST(CooperativeMatrix, SwapsLayoutAndStride) {
  const std::vector<uint32_t> words = ValueOf(WithKhrMatrices(NvModule({})));
  const SpirvIndex index = *SpirvIndex::Create(words);
  const std::vector<Instruction> loads = Find(words, 4457);
  ASSERT_EQ(loads.size(), 2u);
  EXPECT_EQ(index.ConstantValue(loads[0].Word(4)), 0u);
  EXPECT_EQ(index.ConstantValue(loads[0].Word(5)), 5u);
  EXPECT_EQ(index.ConstantValue(loads[1].Word(4)), 1u);
  EXPECT_EQ(index.ConstantValue(loads[1].Word(5)), 24u);
  const std::vector<Instruction> stores = Find(words, 4458);
  ASSERT_EQ(stores.size(), 1u);
  EXPECT_EQ(index.ConstantValue(stores[0].Word(3)), 1u);
  EXPECT_EQ(index.ConstantValue(stores[0].Word(4)), 32u);
}

TEST(CooperativeMatrix, SizesAreOrdinaryConstants) {
  const std::vector<uint32_t> words = ValueOf(WithKhrMatrices(NvModule({})));
  const SpirvIndex index = *SpirvIndex::Create(words);
  ASSERT_EQ(index.spec_constants().size(), 1u);
  EXPECT_EQ(index.Decoration(index.spec_constants()[0].Word(2), spv::DecorationSpecId), 3u);
  for (const Instruction& in : Find(words, spv::OpDecorate)) {
    if (in.Word(2) == spv::DecorationSpecId) {
      EXPECT_EQ(in.Word(3), 3u);
    }
  }
}

TEST(CooperativeMatrix, IdsStayWithinTheBound) {
  const std::vector<uint32_t> nv = NvModule({});
  const std::vector<uint32_t> words = ValueOf(WithKhrMatrices(nv));
  EXPECT_EQ(words[3], nv[3] + 3);
  std::set<uint32_t> constants;
  for (const Instruction& in : Find(words, spv::OpConstant))
    EXPECT_TRUE(constants.insert(in.Word(2)).second && in.Word(2) < words[3]);
}

TEST(CooperativeMatrix, OneTypeWithTwoUsesIsRejected) {
  Parts parts;  // square, since newer glslang compares sizes
  parts.a = parts.b = "fcoopmatNV<16, gl_ScopeSubgroup, M, M>";
  parts.c = "fcoopmatNV<32, gl_ScopeSubgroup, M, M>";
  EXPECT_EQ(MessageFor(parts),
            "Cooperative matrices of one type (f16 16 x 16) are used as matrix A and as matrix B. "
            "Declare their sizes by different constants (lib/coopmat.glsl.j2).");
}

TEST(CooperativeMatrix, OtherShapesAndTypesAreRejected) {
  Parts parts;
  parts.k = "8";
  EXPECT_EQ(MessageFor(parts),
            "The shader uses cooperative matrices f16 16 x 8 as matrix A; `needs: "
            "[cooperative_matrix]` supports only f16 16 x 16 with subgroup scope.");
  parts = {};
  parts.c = "fcoopmatNV<16, gl_ScopeSubgroup, M, N>";
  EXPECT_THAT(MessageFor(parts),
              HasSubstr("f16 16 x 16 as accumulator; `needs: [cooperative_matrix]` "
                        "supports only f32 16 x 16 with subgroup scope."));
}

TEST(CooperativeMatrix, MatricesWithoutMultiplyAddAreRejected) {
  Parts parts;
  parts.product = "sum + sum";
  EXPECT_THAT(MessageFor(parts),
              HasSubstr("so their use (matrix A, matrix B or accumulator) is unknown."));
}

}  // namespace
}  // namespace spirloom::compiler
