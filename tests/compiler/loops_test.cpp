#include "compiler/checks/loops.h"

#include <gmock/gmock.h>

#include <string>

#include "compiler/glsl/glsl_to_spirv.h"
#include "compiler/spirv/optimize.h"
#include "tests/compiler/fixture.h"

namespace spirloom::compiler {
namespace {

using testing::StartsWith;

// The number of unbounded loops in a shader with this text in main().
size_t CountUnbounded(const std::string& body) {
  const std::string glsl =
      "#version 450\n"
      "layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;\n"
      "layout(constant_id = 3) const int COUNT = 5;\n"
      "layout(push_constant) uniform Push { int n; int sizes[4]; };\n"
      "layout(set = 0, binding = 0) buffer Data { int data[]; };\n"
      "int lane() { return int(gl_LocalInvocationID.x); }\n"
      "void main() {\n" +
      body + "\n}\n";
  const GlslResult parsed = GlslToSpirv(glsl, "test.comp", Target::kVulkan11);
  for (const GlslError& error : parsed.errors) ADD_FAILURE() << error.where << error.message;
  const auto optimized = Optimize(parsed.words, Target::kVulkan11);
  EXPECT_TRUE(optimized.ok());
  return optimized.ok() ? FindUnboundedLoops(*optimized).size() : 0;
}

TEST(Loops, ConstantsBoundTheTripCount) {
  EXPECT_EQ(CountUnbounded("for (int d = 7; d >= 0; d--) data[d] = n;"), 0u);
  EXPECT_EQ(CountUnbounded("for (int k = lane(); k < 64; k += 8) data[k] = n;"), 0u);
  EXPECT_EQ(
      CountUnbounded("for (int k = lane(); k < 64; k += int(gl_WorkGroupSize.x)) data[k] = n;"),
      0u);
  EXPECT_EQ(CountUnbounded("for (int d = int(gl_WorkGroupSize.x) / 2; d > 0; d /= 2) data[d] = n;"),
            0u);
  EXPECT_EQ(CountUnbounded("for (int k = 0; k < min(4, n); k++) data[k] = n;"), 0u);
  EXPECT_EQ(CountUnbounded("for (int e = n; e > 0; e >>= 1) data[e] = n;"), 0u);
  EXPECT_EQ(CountUnbounded("for (int e = n; e > 0; e /= 3) data[e] = n;"), 0u);
  EXPECT_EQ(CountUnbounded("int i = 0; do { data[i] = n; i += 2; } while (i < 8);"), 0u);
}

TEST(Loops, OtherValuesDoNot) {
  EXPECT_EQ(CountUnbounded("for (int k = 0; k < n; k++) data[k] = n;"), 1u);
  EXPECT_EQ(CountUnbounded("for (int k = 0; k < COUNT; k++) data[k] = n;"), 1u);
  EXPECT_EQ(CountUnbounded("for (int k = n; k >= 0; k--) data[k] = n;"), 1u);
  EXPECT_EQ(CountUnbounded("for (int k = 0; k < 64; k += n) data[k] = n;"), 1u);
  EXPECT_EQ(CountUnbounded("for (int k = n; k > 0; k--) data[k] = n;"), 1u);
  EXPECT_EQ(CountUnbounded("for (int e = n; e != 5; e /= 1) data[e] = n;"), 1u);
  EXPECT_EQ(CountUnbounded("for (int e = n; e != 5; e /= -1) data[e] = n;"), 1u);
  EXPECT_EQ(CountUnbounded("for (int e = n; e > 0; e /= COUNT) data[e] = n;"), 1u);
  EXPECT_EQ(CountUnbounded("int i = 0; while (data[i] > 0) i++; data[9] = i;"), 1u);
  EXPECT_EQ(CountUnbounded("for (int a = 0; a < sizes[0]; a++) {\n"
                           "  for (int b = 0; b < 4; b++) {\n"
                           "    for (int c = 0; c < sizes[1]; c++) data[a + b + c] = n;\n"
                           "  }\n"
                           "}"),
            2u);
}

using LoopsErrorTest = CompilerTest;

TEST_F(LoopsErrorTest, IterationsMustBeDeclared) {
  GlslParts parts;
  parts.body =
      "float sum = 0.0;\n  for (int k = 0; k < n; k++) sum += x_data[k];\n"
      "  y_data[i] = sum * SCALE;";
  nlohmann::json& variant = AddVariant("scale_f32_buffer", parts.Text());
  EXPECT_THAT(CompileError(),
              StartsWith("templates/glsl/scale.glsl.j2:24: error: The trip count of this loop is "
                         "not a constant. Declare the maximum iterations of an invocation, in all "
                         "loops together, as `loop_iterations` of the kernel or its template's "
                         "defaults: some drivers limit them.   (scale_f32_buffer)"));
  variant["loop_iterations"] = true;
  EXPECT_TRUE(Compile().ok());
}

}  // namespace
}  // namespace spirloom::compiler
