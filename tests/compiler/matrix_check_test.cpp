#include "compiler/spirv/matrix_check.h"

#include <gmock/gmock.h>

#include <spirv/unified1/spirv.hpp>
#include <string>
#include <vector>

#include "compiler/glsl/glsl_to_spirv.h"
#include "compiler/spirv/bfloat16_operands.h"
#include "compiler/spirv/cooperative_matrix.h"
#include "compiler/spirv/khr_matrix.h"
#include "compiler/spirv/matrix_length.h"
#include "compiler/spirv/optimize.h"
#include "tests/compiler/find_instructions.h"
#include "tests/value_of.h"

namespace spirloom::compiler {
namespace {

using testing::HasSubstr;

std::vector<uint32_t> NvModule() {
  const GlslResult parsed = GlslToSpirv(R"(#version 450
#extension GL_KHR_memory_scope_semantics : require
#extension GL_NV_cooperative_matrix : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
layout(local_size_x = 32) in;
layout(constant_id = 1000) const uint M = 16;
layout(constant_id = 1001) const uint N = 16;
layout(constant_id = 1002) const uint K = 16;
layout(set = 0, binding = 0) buffer X { uvec4 x[]; };
layout(set = 0, binding = 1) buffer Y { float y[]; };
shared uvec4 tile[64];
void main() {
  tile[gl_LocalInvocationIndex] = x[gl_LocalInvocationIndex];
  barrier();
  fcoopmatNV<16, gl_ScopeSubgroup, M, K> left;
  fcoopmatNV<16, gl_ScopeSubgroup, K, N> right;
  fcoopmatNV<32, gl_ScopeSubgroup, M, N> sum = fcoopmatNV<32, gl_ScopeSubgroup, M, N>(0.0);
  coopMatLoadNV(left, tile, 0, 2, false);
  coopMatLoadNV(right, tile, 32, 2, true);
  sum = coopMatMulAddNV(left, right, sum);
  coopMatStoreNV(sum, y, sum.length(), 16, false);
}
)",
                                        "test.comp", Target::kVulkan11);
  for (const GlslError& error : parsed.errors) ADD_FAILURE() << error.where << error.message;
  return ValueOf(Optimize(WithLengthsInFunctions(parsed.words), Target::kVulkan11));
}

TEST(MatrixCheck, AcceptsConvertedModules) {
  const std::vector<uint32_t> nv = NvModule();
  const std::vector<uint32_t> khr = ValueOf(WithKhrMatrices(nv));
  EXPECT_EQ(CheckConvertedMatrices(nv, khr).message(), "");
  const std::vector<uint32_t> bfloat16 = ValueOf(WithBFloat16Operands(khr));
  EXPECT_NE(bfloat16, khr);
  EXPECT_EQ(CheckConvertedMatrices(nv, bfloat16).message(), "");
}

TEST(MatrixCheck, RejectsAnUnconvertedModule) {
  const std::vector<uint32_t> nv = NvModule();
  EXPECT_THAT(CheckConvertedMatrices(nv, nv).message(),
              HasSubstr("capability and extension of the matrices do not match"));
}

struct Damage {
  const char* name;
  uint16_t opcode;  // of the first instruction that is damaged
  size_t word;      // set to the word `from` of the instruction
  size_t from;
  const char* message;
};

class DamagedMatrices : public testing::TestWithParam<Damage> {};

TEST_P(DamagedMatrices, AreRejected) {
  const Damage& damage = GetParam();
  const std::vector<uint32_t> nv = NvModule();
  std::vector<uint32_t> khr = ValueOf(WithKhrMatrices(nv));
  const std::vector<Instruction> found = Find(khr, damage.opcode);
  ASSERT_FALSE(found.empty());
  const auto at = static_cast<size_t>(found[0].words.data() - khr.data());
  ASSERT_NE(khr[at + damage.word], khr[at + damage.from]);
  khr[at + damage.word] = khr[at + damage.from];
  EXPECT_THAT(CheckConvertedMatrices(nv, khr).message(), HasSubstr(damage.message));
}

INSTANTIATE_TEST_SUITE_P(
    All, DamagedMatrices,
    testing::Values(
        Damage{"TypeHasTheUseOfAnotherMatrix", khr::kOpTypeMatrix, 6, 4, "its use is not matrix A"},
        Damage{"TypeHasAnotherScope", khr::kOpTypeMatrix, 3, 4, "is not the one before"},
        Damage{"LoadHasNvsOrder", khr::kOpLoad, 4, 5, "is not the one before"},
        Damage{"LoadFromAnotherPointer", khr::kOpLoad, 3, 5, "is not the one before"},
        Damage{"StoreOfAnotherObject", khr::kOpStore, 2, 1, "is not the one before"},
        Damage{"OperandsOfMulAdd", khr::kOpMulAdd, 3, 4, "is not the one before"},
        Damage{"AnotherInstruction", spv::OpStore, 2, 1, "an instruction without matrices differs"},
        Damage{"UseIsNoUse", spv::OpConstant, 3, 2, "its use is not matrix A"}),
    [](const auto& test) { return std::string(test.param.name); });

// The uses of A and B exchanged: each instruction alone is plausible.
TEST(MatrixCheck, RejectsExchangedUses) {
  const std::vector<uint32_t> nv = NvModule();
  std::vector<uint32_t> khr = ValueOf(WithKhrMatrices(nv));
  const std::vector<Instruction> mul_add = Find(khr, khr::kOpMulAdd);
  ASSERT_EQ(mul_add.size(), 1u);
  const std::vector<Instruction> types = Find(khr, khr::kOpTypeMatrix);
  ASSERT_EQ(types.size(), 3u);
  const auto use = [&](const Instruction& type) -> uint32_t& {
    return khr[static_cast<size_t>(type.words.data() - khr.data()) + 6];
  };
  std::swap(use(types[0]), use(types[1]));
  EXPECT_THAT(CheckConvertedMatrices(nv, khr).message(),
              HasSubstr("its operands are not a matrix A, a matrix B and an accumulator"));
}

}  // namespace
}  // namespace spirloom::compiler
