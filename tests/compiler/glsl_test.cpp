// GLSL errors are reported as errors of the template.
#include <gmock/gmock.h>

#include "compiler/base/diagnostics.h"
#include "compiler/glsl/glsl_to_spirv.h"
#include "compiler/spirv/optimize.h"
#include "tests/compiler/fixture.h"

namespace spirloom::compiler {
namespace {

using testing::HasSubstr;

class GlslTest : public CompilerTest {};

TEST_F(GlslTest, ErrorHasTheTemplateLine) {
  GlslParts parts;
  parts.body = "y_data[i] = strde;";
  AddVariant("scale_f32_buffer", parts.Text());
  EXPECT_EQ(CompileError(),
            "templates/glsl/scale.glsl.j2:23: error: 'strde' : undeclared identifier   "
            "(scale_f32_buffer)\n");
  EXPECT_FALSE(std::filesystem::exists(options_.output));
}

TEST_F(GlslTest, SameLineOfManyVariantsIsReportedOnce) {
  GlslParts parts;
  parts.body = "y_data[i] = strde;";
  for (const char* id : {"a_f32_buffer", "b_f32_buffer", "c_f32_buffer", "d_f32_buffer", "e"})
    AddVariant(id, parts.Text());
  parts.body = "y_data[i] = 1.0 +;";
  AddVariant("f_f32_buffer", parts.Text());
  options_.jobs = 2;
  EXPECT_EQ(CompileError(),
            "templates/glsl/scale.glsl.j2:23: error: 'strde' : undeclared identifier   "
            "(a_f32_buffer, b_f32_buffer, c_f32_buffer and 2 more)\n"
            "templates/glsl/scale.glsl.j2:23: error: syntax error, unexpected SEMICOLON   "
            "(f_f32_buffer)\n");
}

TEST_F(GlslTest, ErrorKeepsThePreviousPack) {
  AddVariant("scale_f32_buffer", GlslParts{}.Text());
  ASSERT_TRUE(Compile().ok());
  const std::string before = PackBytes();
  AddVariant("broken", "#version 450\nvoid main() { nothing(); }\n");
  EXPECT_THAT(CompileError(), HasSubstr("glsl/broken.glsl:2: error: 'nothing'"));
  EXPECT_EQ(PackBytes(), before);
}

// In the fixture's template, the body is on line 23 and functions start on line 11.
TEST_F(GlslTest, CallWithOtherArgumentsReportsTheDeclaration) {
  GlslParts parts;
  parts.functions = "void y_store(int i, bool value) { y_data[i] = value ? 1.0 : 0.0; }\n";
  parts.body = "y_store(i, x_data[i] * SCALE);";
  AddVariant("scale_f32_buffer", parts.Text());
  EXPECT_THAT(
      CompileError(),
      HasSubstr("templates/glsl/scale.glsl.j2:23: error: 'y_store' : no matching overloaded "
                "function found; it is declared as: void y_store(int i, bool value)   ("));
}

TEST_F(GlslTest, MissingAccessorReportsTheOthers) {
  GlslParts parts;
  parts.functions = "vec4 x_texel(ivec3 at) { return vec4(0.0); }\n";
  parts.body = "y_data[i] = x_load(i);";
  AddVariant("scale_f32_buffer", parts.Text());
  EXPECT_THAT(CompileError(), HasSubstr("'x_load' : no matching overloaded function found; the "
                                        "accessors of 'x' in this variant are: x_texel   ("));
}

TEST_F(GlslTest, RecursionIsReportedAtTheFunction) {
  GlslParts parts;
  parts.functions =
      "float g(float v);\n"
      "float f(float v) { return v < 1.0 ? v : g(v); }\n"
      "float g(float v) { return f(v - 1.0); }\n";
  parts.body = "y_data[i] = f(x_data[i] * SCALE);";
  AddVariant("scale_f32_buffer", parts.Text());
  const std::string error = CompileError();
  const bool from_f = error.find("'f' : calls itself through 'g'") != std::string::npos;
  EXPECT_THAT(error, HasSubstr(from_f ? "scale.glsl.j2:12: error: 'f' : calls itself through 'g'; "
                                        "GLSL does not support recursion   (scale_f32_buffer)"
                                      : "scale.glsl.j2:13: error: 'g' : calls itself through 'f'; "
                                        "GLSL does not support recursion   (scale_f32_buffer)"));
}

TEST_F(GlslTest, EmptyFileIsAnError) {
  AddVariant("empty", "");
  EXPECT_THAT(CompileError(), HasSubstr("(empty)"));
}

TEST_F(GlslTest, NonPortableVariantIsSkipped) {
  GlslParts parts;
  parts.extensions = "#extension GL_EXT_not_an_extension : require\n";
  AddVariant("scale_f32_buffer_coop", parts.Text())["portable"] = false;
  AddVariant("scale_f32_buffer", GlslParts{}.Text());
  options_.cache_dir = directory_ / "cache";
  for (const size_t compiled : {2u, 0u}) {
    const Result<CompileReport> report = Compile();
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_EQ(report->variants, 1u);
    EXPECT_EQ(report->compiled, compiled);
    ASSERT_EQ(report->skipped.size(), 1u);
    EXPECT_EQ(report->skipped[0],
              "scale_f32_buffer_coop: glsl/scale_f32_buffer_coop.glsl:3: '#extension' : extension "
              "not supported: GL_EXT_not_an_extension");
  }
  manifest_["variants"][0]["portable"] = true;
  EXPECT_THAT(CompileError(),
              HasSubstr("glsl/scale_f32_buffer_coop.glsl:3: error: '#extension' : extension not "
                        "supported: GL_EXT_not_an_extension   (scale_f32_buffer_coop)"));
}

TEST_F(GlslTest, DoesNotCompileForAnOlderTarget) {
  GlslParts parts;
  parts.extensions = "#extension GL_KHR_shader_subgroup_arithmetic : require\n";
  parts.body = "y_data[i] = subgroupAdd(x_data[i] * SCALE);";
  for (const Target target : {Target::kVulkan11, Target::kVulkan12, Target::kVulkan13}) {
    const GlslResult result = GlslToSpirv(parts.Text(), "x.glsl", target);
    ASSERT_TRUE(result.errors.empty()) << result.errors[0].message;
    const Result<std::vector<uint32_t>> optimized = Optimize(result.words, target);
    ASSERT_TRUE(optimized.ok()) << optimized.status().message();
    EXPECT_TRUE(Validate(*optimized, target).ok());
    if (target != Target::kVulkan11) {
      EXPECT_FALSE(Validate(*optimized, Target::kVulkan11).ok());
    }
  }
}

TEST(ParseGlslLogTest, KeepsErrorsAndDropsCounts) {
  const std::vector<GlslError> errors = ParseGlslLog(
      "WARNING: a.j2:3: something\n"
      "ERROR: C:/b c.j2:12: 'x' : bad: 4: worse \n"
      "ERROR: linking failed\n"
      "ERROR: 2 compilation errors.  No code generated.\n\n",
      "file.glsl");
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0].where, "C:/b c.j2:12");
  EXPECT_EQ(errors[0].message, "'x' : bad: 4: worse");
  EXPECT_EQ(errors[1].where, "file.glsl:1");
  EXPECT_EQ(errors[1].message, "linking failed");
}

TEST(DiagnosticsTest, SortsByFileThenLineNumber) {
  EXPECT_EQ(FormatDiagnostics({{"b.yaml:2:1", "m", "v"},
                               {"a.yaml:10:1", "m", "v"},
                               {"a.yaml:9:12", "m", "v"},
                               {"a.yaml:9:2", "m", "v"},
                               {"a.yaml:9:2", "m", "v"},
                               {"c.yaml", "m", "v"}}),
            "a.yaml:9:2: error: m   (v)\na.yaml:9:12: error: m   (v)\na.yaml:10:1: error: m   (v)\n"
            "b.yaml:2:1: error: m   (v)\nc.yaml: error: m   (v)\n");
}

TEST(OptimizeTest, RejectsInvalidSpirv) {
  const std::vector<uint32_t> words = {1, 2, 3};
  EXPECT_FALSE(Optimize(words, Target::kVulkan11).ok());
  EXPECT_FALSE(Validate(words, Target::kVulkan11).ok());
}

TEST(OptimizeTest, CooperativeMatrixModuleSurvives) {
  const GlslResult result = GlslToSpirv(R"(#version 450
#extension GL_KHR_memory_scope_semantics : require
#extension GL_NV_cooperative_matrix : require
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer A { float a[]; };
void main() {
  fcoopmatNV<32, gl_ScopeSubgroup, 8, 8> m = fcoopmatNV<32, gl_ScopeSubgroup, 8, 8>(0.0);
  fcoopmatNV<32, gl_ScopeSubgroup, 8, 8> x;
  for (int k = 0; k < 4; ++k) {
    coopMatLoadNV(x, a, k * 64, 8, false);
    m = coopMatMulAddNV(x, x, m);
  }
  coopMatStoreNV(m, a, 0, 8, false);
}
)",
                                        "coop.glsl", Target::kVulkan11);
  ASSERT_TRUE(result.errors.empty()) << result.errors[0].message;
  const Result<std::vector<uint32_t>> optimized = Optimize(result.words, Target::kVulkan11);
  EXPECT_TRUE(optimized.ok()) << optimized.status().message();
}

}  // namespace
}  // namespace spirloom::compiler
