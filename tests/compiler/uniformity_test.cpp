#include "compiler/checks/uniformity.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "compiler/glsl/glsl_to_spirv.h"
#include "compiler/spirv/optimize.h"
#include "tests/compiler/fixture.h"

namespace spirloom::compiler {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// The number of divergent barriers in a shader with this text in main().
size_t CountDivergent(const std::string& body) {
  const std::string glsl =
      "#version 450\n"
      "#extension GL_KHR_shader_subgroup_vote : enable\n"
      "layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;\n"
      "layout(constant_id = 3) const int COUNT = 5;\n"
      "layout(push_constant) uniform Push { int n; int sizes[4]; };\n"
      "layout(set = 0, binding = 0) buffer Data { int data[]; };\n"
      "layout(set = 0, binding = 1) readonly buffer Given { int given[]; };\n"
      "shared int partial[64];\n"
      "int lane() { return int(gl_LocalInvocationID.x); }\n"
      "int group() { return int(gl_WorkGroupID.x); }\n"
      "int total() { partial[lane()] = 1; barrier(); return partial[0]; }\n"
      "void main() {\n" +
      body + "\n  data[lane()] = partial[0];\n}\n";
  const GlslResult parsed = GlslToSpirv(glsl, "test.comp", Target::kVulkan11);
  for (const GlslError& error : parsed.errors) ADD_FAILURE() << error.where << error.message;
  const auto optimized = Optimize(parsed.words, Target::kVulkan11);
  EXPECT_TRUE(optimized.ok());
  return optimized.ok() ? FindDivergentBarriers(*optimized).size() : 0;
}

TEST(Uniformity, AcceptsStraightLineCodeAndUniformConditions) {
  EXPECT_EQ(CountDivergent(""), 0u);
  EXPECT_EQ(CountDivergent("barrier();"), 0u);
  EXPECT_EQ(CountDivergent("if (n > 3) barrier();"), 0u);
  EXPECT_EQ(CountDivergent("if (COUNT > 3) barrier();"), 0u);
  EXPECT_EQ(CountDivergent("if (sizes[group() % 4] > n) barrier();"), 0u);
  EXPECT_EQ(CountDivergent("if (group() * 64 >= n) return; barrier();"), 0u);
  EXPECT_EQ(CountDivergent("if (gl_NumWorkGroups.y > 1u) barrier();"), 0u);
  EXPECT_EQ(CountDivergent("switch (n) { case 1: barrier(); break; default: total(); }"), 0u);
}

TEST(Uniformity, AcceptsReadOnlyBuffersAtUniformIndices) {
  EXPECT_EQ(CountDivergent("for (int i = 0; i < given[group()]; i++) barrier();"), 0u);
  EXPECT_EQ(CountDivergent("for (int i = 0; i < given[lane()]; i++) barrier();"), 1u);
  EXPECT_EQ(CountDivergent("for (int i = 0; i < data[group()]; i++) barrier();"), 1u);
}

TEST(Uniformity, AcceptsSharedMemoryBetweenBarriersWithoutWrites) {
  const std::string first =
      "barrier(); if (lane() == 0) partial[0] = data[1]; barrier(); int first = partial[0]; ";
  EXPECT_EQ(CountDivergent(first + "barrier(); if (first > 0) total();"), 0u);
  EXPECT_EQ(CountDivergent("int k = 9; do { " + first + "barrier(); k = first; } while (k > 0);"),
            0u);
  // Another invocation may write before or after this one reads.
  EXPECT_EQ(CountDivergent(first + "if (first > 0) total();"), 1u);
  EXPECT_EQ(CountDivergent(first + "partial[lane()] = 3; barrier(); if (first > 0) total();"), 1u);
  EXPECT_EQ(CountDivergent(first + "atomicAdd(partial[0], 1); barrier(); if (first > 0) total();"),
            1u);
  EXPECT_EQ(
      CountDivergent("partial[0] = lane(); int v = partial[0]; barrier(); if (v > 0) total();"),
      1u);
  EXPECT_EQ(CountDivergent("barrier(); int v = partial[lane()]; barrier(); if (v > 0) total();"),
            1u);
}

TEST(Uniformity, AcceptsLoopsWithUniformTripCount) {
  EXPECT_EQ(CountDivergent("for (int i = 0; i < n; i++) barrier();"), 0u);
  EXPECT_EQ(CountDivergent("for (int apart = COUNT; apart > 0; apart /= 2) {\n"
                           "  if (lane() < apart) partial[lane()] += partial[lane() + apart];\n"
                           "  barrier();\n"
                           "}"),
            0u);
  EXPECT_EQ(CountDivergent("for (int i = 0; i < n; i++) { if (i == COUNT) break; total(); }"), 0u);
}

TEST(Uniformity, AcceptsBarriersAfterReconvergence) {
  EXPECT_EQ(CountDivergent("if (lane() < n) data[lane()] = 1;\nbarrier();"), 0u);
  EXPECT_EQ(CountDivergent("for (int i = 0; i < lane(); i++) data[i] = 1;\nbarrier();"), 0u);
}

TEST(Uniformity, FindsDivergentConditions) {
  EXPECT_EQ(CountDivergent("if (lane() < n) barrier();"), 1u);
  EXPECT_EQ(CountDivergent("if (gl_GlobalInvocationID.x < 9) total();"), 1u);
  EXPECT_EQ(CountDivergent("if (data[0] > 0) barrier();"), 1u);
  EXPECT_EQ(CountDivergent("if (partial[0] > 0) barrier();"), 1u);
  EXPECT_EQ(CountDivergent("if (sizes[lane()] > 0) barrier();"), 1u);
  EXPECT_EQ(CountDivergent("if (n > 0) { if (lane() > 2) { if (n > 1) barrier(); } }"), 1u);
  EXPECT_EQ(CountDivergent("if (lane() > 2) barrier(); else { total(); }"), 2u);
  EXPECT_EQ(CountDivergent("switch (lane()) { case 1: barrier(); break; default: break; }"), 1u);
  EXPECT_EQ(CountDivergent("if (atomicAdd(data[0], 1) == 0) barrier();"), 1u);
}

TEST(Uniformity, ComparesSubgroupBarriersWithinTheSubgroup) {
  EXPECT_EQ(CountDivergent("if (subgroupAny(lane() > 3)) subgroupBarrier();"), 0u);
  EXPECT_EQ(CountDivergent("if (gl_SubgroupID == 1u) subgroupBarrier();"), 0u);
  EXPECT_EQ(CountDivergent("if (subgroupAny(lane() > 3)) barrier();"), 1u);
  EXPECT_EQ(CountDivergent("if (gl_SubgroupID == 1u) barrier();"), 1u);
  EXPECT_EQ(CountDivergent("if (lane() > 3) subgroupBarrier();"), 1u);
  EXPECT_EQ(CountDivergent("if (gl_SubgroupInvocationID > 3u) subgroupBarrier();"), 1u);
}

TEST(Uniformity, FindsBarriersAfterADivergentReturn) {
  EXPECT_EQ(CountDivergent("if (lane() >= n) return;\nbarrier();"), 1u);
  EXPECT_EQ(CountDivergent("if (n > 1) { if (lane() >= n) return; }\ntotal();"), 1u);
}

TEST(Uniformity, FindsLoopsWithDivergentTripCount) {
  EXPECT_EQ(CountDivergent("for (int i = lane(); i < n; i += COUNT) barrier();"), 1u);
  EXPECT_EQ(CountDivergent("for (int i = 0; i < n; i++) { barrier(); if (i > lane()) break; }"),
            1u);
  EXPECT_EQ(CountDivergent("for (int i = 0; i < n; i++) { if (i > lane()) continue; barrier(); }"),
            1u);
  EXPECT_EQ(CountDivergent("int i = 0; do { barrier(); i += lane(); } while (i < n);"), 1u);
}

// Both values are uniform, but divergent control flow selects one.
TEST(Uniformity, TracksValuesSelectedByDivergentControlFlow) {
  EXPECT_EQ(CountDivergent("int k = 0;\nif (lane() > 3) { data[1] = n; k = n; }\n"
                           "if (k > 0) barrier();"),
            1u);
  EXPECT_EQ(CountDivergent("int i = 0;\nwhile (data[i] > 0) i++;\nif (i > 3) barrier();"), 1u);
}

TEST(Uniformity, TracksValuesThroughArrays) {
  const std::string array = "int a[4] = int[4](1, 2, 3, n);\n";
  EXPECT_EQ(CountDivergent(array + "a[sizes[0]] = n; if (a[sizes[1]] > 0) barrier();"), 0u);
  EXPECT_EQ(CountDivergent(array + "a[sizes[0]] = lane(); if (a[sizes[1]] > 0) barrier();"), 1u);
  EXPECT_EQ(CountDivergent(array + "a[lane() % 4] = n; if (a[sizes[1]] > 0) barrier();"), 1u);
  EXPECT_EQ(CountDivergent(array + "if (lane() > 3) a[sizes[0]] = n; if (a[0] > 0) barrier();"),
            1u);
  EXPECT_EQ(CountDivergent(array + "if (a[lane() % 4] > 0) barrier();"), 1u);
}

using UniformityErrorTest = CompilerTest;

TEST_F(UniformityErrorTest, ReportsPositionsOfBarrierAndCondition) {
  GlslParts parts;
  parts.functions = "shared float rows[64];\n";
  parts.body = "rows[i] = x_data[i];\n  barrier();\n  y_data[i] = rows[0] * SCALE;";
  AddVariant("scale_f32_buffer", parts.Text());
  EXPECT_THAT(CompileError(),
              StartsWith("templates/glsl/scale.glsl.j2:24: error: Some invocations of a workgroup "
                         "may not reach this barrier (the condition at "
                         "templates/glsl/scale.glsl.j2:22). Move it to uniform control flow, or "
                         "let the condition depend only on constants, push constants and "
                         "gl_WorkGroupID.   (scale_f32_buffer)"));
}

}  // namespace
}  // namespace spirloom::compiler
