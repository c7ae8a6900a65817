// Optimizations in addition to those of SPIRV-Tools.
#include <gtest/gtest.h>

#include <map>
#include <spirv/unified1/spirv.hpp>
#include <string>

#include "compiler/checks/uniformity.h"
#include "compiler/glsl/glsl_to_spirv.h"
#include "compiler/spirv/division.h"
#include "compiler/spirv/early_return.h"
#include "compiler/spirv/optimize.h"
#include "compiler/spirv/spirv_walker.h"
#include "tests/compiler/fixture.h"
#include "tests/value_of.h"

namespace spirloom::compiler {
namespace {

constexpr const char* kDivide =
    "int divide(const int a, const int b) { return int(float(a) * (1.0 / float(b))); }\n";

class OptimizedModule : public testing::Test {
 protected:
  // Optimizes a shader with these functions and statements, and counts its instructions.
  void Compile(const std::string& functions, const std::string& body) {
    GlslParts parts;
    parts.functions = functions;
    parts.body = body;
    const GlslResult compiled = GlslToSpirv(parts.Text(), "test.glsl", Target::kVulkan11);
    for (const GlslError& error : compiled.errors) ADD_FAILURE() << error.where << error.message;
    module_ = ValueOf(Optimize(compiled.words, Target::kVulkan11));
    const Status valid = Validate(module_, Target::kVulkan11);
    EXPECT_TRUE(valid.ok()) << valid.message();
    counts_.clear();
    WalkSpirv(module_, [this](const Instruction& in) {
      ++counts_[in.opcode];
      return true;
    });
  }

  size_t Count(spv::Op opcode) { return counts_[opcode]; }

  std::vector<uint32_t> module_;
  std::map<uint32_t, size_t> counts_;
};

TEST_F(OptimizedModule, DivisionsAreCalls) {
  Compile(kDivide, "y_data[divide(divide(i, sizes[0]), sizes[1])] = x_data[divide(i, n)];");
  EXPECT_EQ(Count(spv::OpFunction), 2u);
  EXPECT_EQ(Count(spv::OpFunctionCall), 3u);
  EXPECT_EQ(Count(spv::OpFDiv), 1u);
  EXPECT_EQ(Count(spv::OpUDiv), 0u);
}

TEST_F(OptimizedModule, SingleDivisionIsInlined) {
  Compile(kDivide, "y_data[i] = x_data[divide(i, n)];");
  EXPECT_EQ(Count(spv::OpFunction), 1u);
  EXPECT_EQ(Count(spv::OpFDiv), 1u);
}

TEST_F(OptimizedModule, EqualDivisionsAreMergedAndUnusedOnesRemoved) {
  Compile(kDivide,
          "int unused = divide(i, sizes[0]);"
          "y_data[divide(i, n)] = x_data[divide(i, n)];");
  EXPECT_EQ(Count(spv::OpFunction), 1u);
  EXPECT_EQ(Count(spv::OpFDiv), 1u);
}

TEST_F(OptimizedModule, DivisionsOfConstantsAreFolded) {
  Compile(kDivide, "y_data[i] = x_data[divide(i, n) + divide(i, sizes[0]) + divide(42, 6)];");
  EXPECT_EQ(Count(spv::OpFunctionCall), 2u);
}

TEST_F(OptimizedModule, OtherFunctionsNamedDivideAreInlined) {
  Compile(
      "int divide(int a, int b) { return int(float(a) / float(b)); }\n"
      "float divide(const float a, const float b) { return a / b; }\n",
      "y_data[divide(i, n)] = divide(x_data[divide(i, sizes[0])], x_data[n]);");
  EXPECT_EQ(Count(spv::OpFunction), 1u);
  EXPECT_EQ(Count(spv::OpFDiv), 3u);
}

TEST_F(OptimizedModule, UnsignedDivisionsAreKept) {
  Compile(kDivide, "y_data[uint(i) / uint(n)] = x_data[divide(i, n) + divide(i, sizes[0])];");
  EXPECT_EQ(Count(spv::OpUDiv), 1u);
  EXPECT_EQ(Count(spv::OpFunctionCall), 2u);
}

TEST_F(OptimizedModule, UniformityAnalysisIncludesDivisions) {
  const auto divergent = [](const std::string& value) {
    const std::string glsl = "#version 450\n" + std::string(kDivide) +
                             "layout(local_size_x_id = 0) in;\n"
                             "layout(push_constant) uniform Push { int n; int m; };\n"
                             "layout(set = 0, binding = 0) buffer Data { int data[]; };\n"
                             "shared int partial;\n"
                             "void main() {\n"
                             "  partial = n;\n"
                             "  if (divide(" +
                             value +
                             ", m) + divide(m, n) > 2) barrier();\n  data[0] = partial;\n}\n";
    const GlslResult parsed = GlslToSpirv(glsl, "test.comp", Target::kVulkan11);
    for (const GlslError& error : parsed.errors) ADD_FAILURE() << error.where << error.message;
    return FindDivergentBarriers(ValueOf(Optimize(parsed.words, Target::kVulkan11))).size();
  };
  EXPECT_EQ(divergent("n"), 0u);
  EXPECT_EQ(divergent("int(gl_LocalInvocationID.x)"), 1u);
}

TEST_F(OptimizedModule, EntryPointHasEarlyReturns) {
  Compile("",
          "if (i >= n + 1) return; if (x_data[i] > 0.0) { y_data[i] = 1.0; return; }"
          "y_data[i] = x_data[i] * SCALE + float(sizes[0]);");
  EXPECT_EQ(Count(spv::OpSwitch), 0u);
  EXPECT_EQ(Count(spv::OpReturn), 4u);  // the fixture's, these two and the end
}

TEST_F(OptimizedModule, ReturnsOfLoopsAndOfOtherFunctionsAreValid) {
  Compile("float at(int i) { if (i < 0) return 0.0; return x_data[i]; }\n",
          "for (int k = 0; k < n; k++) { if (at(k - 3) < 0.0) return; y_data[k] = SCALE; }"
          "y_data[i] = float(sizes[0]);");
  EXPECT_GE(Count(spv::OpReturn), 1u);
}

TEST_F(OptimizedModule, KeepsModulesWithoutFunctions) {
  const std::vector<uint32_t> nothing{pack::spirv::kMagic, 0x10300, 0, 1, 0};
  EXPECT_EQ(DivisionsAsInstructions(nothing), nothing);
  EXPECT_EQ(DivisionsAsCalls(nothing), nothing);
  EXPECT_EQ(RestoreEarlyReturns(nothing), nothing);
}

}  // namespace
}  // namespace spirloom::compiler
