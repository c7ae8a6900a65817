#include "compiler/spirv/matrix_length.h"

#include <gmock/gmock.h>

#include <set>
#include <spirv/unified1/spirv.hpp>
#include <string>
#include <vector>

#include "compiler/glsl/glsl_to_spirv.h"
#include "compiler/spirv/cooperative_matrix.h"
#include "compiler/spirv/khr_matrix.h"
#include "compiler/spirv/matrix_check.h"
#include "compiler/spirv/optimize.h"
#include "tests/compiler/find_instructions.h"
#include "tests/value_of.h"

namespace spirloom::compiler {
namespace {

using testing::HasSubstr;

// A multiply-add of matrices; `functions` precede main(), and `statements` its store.
std::vector<uint32_t> Module(const std::string& functions, const std::string& statements) {
  const std::string glsl = R"(#version 450
#extension GL_KHR_memory_scope_semantics : require
#extension GL_NV_cooperative_matrix : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
layout(local_size_x = 32) in;
layout(constant_id = 1000) const uint M = 16;
layout(constant_id = 1001) const uint N = 16;
layout(constant_id = 1002) const uint K = 16;
layout(set = 0, binding = 0) buffer X { uvec4 x[]; };
layout(set = 0, binding = 1) buffer Y { float y[]; };
#define Left fcoopmatNV<16, gl_ScopeSubgroup, M, K>
#define Right fcoopmatNV<16, gl_ScopeSubgroup, K, N>
#define Sum fcoopmatNV<32, gl_ScopeSubgroup, M, N>
)" + functions + R"(
void main() {
  Left left;
  Right right;
  Sum sum = Sum(0.0);
  coopMatLoadNV(left, x, 0, 2, false);
  coopMatLoadNV(right, x, 32, 2, false);
  sum = coopMatMulAddNV(left, right, sum);
)" + statements + R"(
  coopMatStoreNV(sum, y, 0, 16, false);
}
)";
  const GlslResult parsed = GlslToSpirv(glsl, "test.comp", Target::kVulkan11);
  for (const GlslError& error : parsed.errors) ADD_FAILURE() << error.where << error.message;
  return parsed.words;
}

size_t ConstantLengths(std::span<const uint32_t> module) {
  size_t count = 0;
  for (const Instruction& constant : Find(module, spv::OpSpecConstantOp))
    count += constant.Word(3) == spv::OpCooperativeMatrixLengthNV ? 1 : 0;
  return count;
}

constexpr const char* kLoop = "for (int i = 0; i < sum.length(); ++i) sum[i] *= 2.0;";

TEST(MatrixLength, KeepsModulesWithoutLengths) {
  const std::vector<uint32_t> module = Module("", "");
  EXPECT_EQ(WithLengthsInFunctions(module), module);
}

TEST(MatrixLength, IsComputedInTheFunction) {
  const std::vector<uint32_t> module = Module("", kLoop);
  ASSERT_EQ(ConstantLengths(module), 1u);
  const std::vector<uint32_t> moved = WithLengthsInFunctions(module);
  EXPECT_EQ(ConstantLengths(moved), 0u);
  const std::vector<Instruction> lengths = Find(moved, spv::OpCooperativeMatrixLengthNV);
  ASSERT_EQ(lengths.size(), 1u);
  EXPECT_EQ(lengths[0].words.size(), 4u);
  EXPECT_EQ(lengths[0].Word(2), module[3]) << "A new id.";
  EXPECT_TRUE(Validate(moved, Target::kVulkan11).ok());
  EXPECT_EQ(WithLengthsInFunctions(moved), moved);
}

// Each function has its own; no id is defined twice or used in another function.
TEST(MatrixLength, IsComputedInEachFunctionThatUsesIt) {
  const std::string functions =
      "bool is_eight(Left left, Sum sum) { return left.length() == 8 && sum.length() == 8; }\n"
      "int unrelated(int i) { return i + 1; }\n";
  const std::string statements =
      std::string(kLoop) + "if (is_eight(left, sum)) y[unrelated(3)] = 1.0;";
  const std::vector<uint32_t> moved = WithLengthsInFunctions(Module(functions, statements));
  EXPECT_EQ(ConstantLengths(moved), 0u);
  std::set<uint32_t> ids;
  for (const Instruction& length : Find(moved, spv::OpCooperativeMatrixLengthNV))
    EXPECT_TRUE(ids.insert(length.Word(2)).second && length.Word(2) < moved[3]);
  EXPECT_EQ(ids.size(), 3u);
  EXPECT_TRUE(Validate(moved, Target::kVulkan11).ok());
}

TEST(MatrixLength, BecomesTheInstructionOfKhrMatrices) {
  const std::vector<uint32_t> moved = WithLengthsInFunctions(Module("", kLoop));
  const std::vector<uint32_t> optimized = ValueOf(Optimize(moved, Target::kVulkan11));
  EXPECT_TRUE(Validate(optimized, Target::kVulkan11).ok());
  const std::vector<uint32_t> converted = ValueOf(WithKhrMatrices(optimized));
  EXPECT_EQ(CheckConvertedMatrices(optimized, converted).message(), "");
  EXPECT_EQ(Find(converted, khr::kOpLength).size(), 1u);
  EXPECT_EQ(ConstantLengths(converted), 0u);
}

TEST(MatrixLength, IsNoConstant) {
  constexpr const char* kArray = "float copy[sum.length()]; copy[0] = sum[0]; y[1] = copy[0];";
  const std::vector<uint32_t> module = Module("", kArray);
  const std::vector<uint32_t> moved = WithLengthsInFunctions(module);
  EXPECT_EQ(moved, module);
  EXPECT_THAT(WithKhrMatrices(moved).status().message(),
              HasSubstr("The length of a cooperative matrix is used outside of functions."));
}

}  // namespace
}  // namespace spirloom::compiler
