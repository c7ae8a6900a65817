// Contradictions between a spec and its module are errors at a position of the spec.
#include <gmock/gmock.h>

#include "compiler/base/file_io.h"
#include "tests/compiler/fixture.h"

namespace spirloom::compiler {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class CheckTest : public CompilerTest {
 protected:
  // The error of the variant "scale_f32_buffer" with these parts.
  std::string ErrorOf(const GlslParts& parts) {
    manifest_["variants"].clear();
    AddVariant("scale_f32_buffer", parts.Text());
    return CompileError();
  }
  std::string ErrorOf(const nlohmann::json& patch, const GlslParts& parts = {}) {
    manifest_["variants"].clear();
    AddVariant("scale_f32_buffer", parts.Text()).merge_patch(patch);
    return CompileError();
  }
};

TEST_F(CheckTest, AcceptsMatchingVariant) {
  AddVariant("scale_f32_buffer", GlslParts{}.Text());
  const Result<CompileReport> report = Compile();
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->variants, 1u);
}

TEST_F(CheckTest, BindingMissingInShader) {
  GlslParts parts;
  parts.bindings =
      "layout(set = 0, binding = 1, std430) writeonly buffer y_block { float y_data[]; };\n";
  parts.body = "y_data[i] = SCALE;";
  EXPECT_EQ(ErrorOf(parts),
            "op_specs/scale_f32_buffer.yaml:4:3: error: Tensor 'x' (binding 0) is in the spec, but "
            "the shader declares no such binding. Declare it, or set its storage to none under "
            "`tensors`.   (scale_f32_buffer)\n");
}

TEST_F(CheckTest, BindingUnusedInShader) {
  GlslParts parts;
  parts.functions = "float x_load(int i) { return x_data[i]; }\n";
  parts.body = "y_data[i] = SCALE;";
  EXPECT_THAT(ErrorOf(parts),
              StartsWith("op_specs/scale_f32_buffer.yaml:4:3: error: Tensor 'x' (binding 0) is in "
                         "the spec, but the shader never uses it."));
}

TEST_F(CheckTest, BindingWithAnotherType) {
  GlslParts parts;
  parts.extensions = "#extension GL_EXT_samplerless_texture_functions : require\n";
  parts.bindings =
      "layout(set = 0, binding = 0) uniform texture3D x_image;\n"
      "layout(set = 0, binding = 1, std430) writeonly buffer y_block { float y_data[]; };\n";
  parts.body = "y_data[i] = texelFetch(x_image, ivec3(i), 0).x * SCALE;";
  EXPECT_THAT(ErrorOf(parts),
              StartsWith("op_specs/scale_f32_buffer.yaml:4:3: error: Tensor 'x' (binding 0) is a "
                         "storage_buffer in the spec and a sampled_image_3d ('x_image') in the "
                         "shader."));
}

TEST_F(CheckTest, ImagesAgree) {
  GlslParts parts;
  parts.extensions = "#extension GL_EXT_samplerless_texture_functions : require\n";
  parts.bindings =
      "layout(set = 0, binding = 0) uniform texture3D x_image;\n"
      "layout(set = 0, binding = 1, rgba32f) uniform writeonly image3D y_image;\n";
  parts.body = "imageStore(y_image, ivec3(i), texelFetch(x_image, ivec3(i), 0) * SCALE);";
  nlohmann::json& variant = AddVariant("scale_f32_texture3d", parts.Text());
  variant["bindings"][0]["type"] = "sampled_image_3d";
  variant["bindings"][1]["type"] = "storage_image_3d";
  const Result<CompileReport> report = Compile();
  EXPECT_TRUE(report.ok()) << report.status().message();
  variant["bindings"][1]["type"] = "sampled_image_3d";
  EXPECT_THAT(CompileError(),
              HasSubstr("is a sampled_image_3d in the spec and a storage_image_3d"));
  variant["bindings"][1]["type"] = "storage_image_2d_array";
  EXPECT_THAT(CompileError(),
              HasSubstr("is a storage_image_2d_array in the spec and a storage_image_3d"));
}

TEST_F(CheckTest, AccessMismatch) {
  GlslParts writes;
  writes.bindings =
      "layout(set = 0, binding = 0, std430) buffer x_block { float x_data[]; };\n"
      "layout(set = 0, binding = 1, std430) buffer y_block { float y_data[]; };\n";
  writes.body = "y_data[i] = x_data[i]; x_data[i] = SCALE;";
  EXPECT_THAT(ErrorOf(writes), HasSubstr("yaml:4:3: error: Tensor 'x' (binding 0) is 'read' in the "
                                         "spec, but the shader writes it."));
  GlslParts reads = writes;
  reads.body = "y_data[i] += x_data[i] * SCALE;";
  EXPECT_THAT(ErrorOf(reads), HasSubstr("yaml:5:3: error: Tensor 'y' (binding 1) is 'write' in the "
                                        "spec, but the shader reads it."));
  GlslParts atomic = writes;
  atomic.bindings =
      "layout(set = 0, binding = 0, std430) buffer x_block { float x_data[]; };\n"
      "layout(set = 0, binding = 1, std430) buffer y_block { int y_data[]; };\n";
  atomic.body = "atomicAdd(y_data[i], int(x_data[i] * SCALE));";
  EXPECT_THAT(ErrorOf(atomic), HasSubstr("'y' (binding 1) is 'write' in the spec, but the shader "
                                         "reads it."));
}

TEST_F(CheckTest, BindingMissingInSpec) {
  GlslParts parts;
  parts.bindings += "layout(set = 0, binding = 2, std430) buffer z_block { float z_data[]; };\n";
  parts.body += " z_data[i] = 1.0;";
  EXPECT_THAT(
      ErrorOf(parts),
      StartsWith("op_specs/scale_f32_buffer.yaml:1:3: error: The shader uses set 0, binding "
                 "2 ('z_block'); the spec has 2 tensors, in set 0."));
}

TEST_F(CheckTest, PushConstantMismatch) {
  GlslParts parts;
  parts.push = "layout(push_constant, std430) uniform Push { int n; float sizes[4]; };\n";
  EXPECT_THAT(ErrorOf(parts), StartsWith("op_specs/scale_f32_buffer.yaml:7:3: error: Push constant "
                                         "'sizes' is int[4] in the spec and float[4] in the "
                                         "shader."));
  parts.push = "layout(push_constant, std430) uniform Push { int n; int sizes[3]; };\n";
  EXPECT_THAT(ErrorOf(parts), HasSubstr("'sizes' is int[4] in the spec and int[3] in the shader."));
  parts.push = "layout(push_constant, std430) uniform Push { int sizes[4]; int n; };\n";
  EXPECT_THAT(ErrorOf(parts), HasSubstr("yaml:6:3: error: Push constant 'n' of the spec is 'sizes' "
                                        "in the shader, at the same index."));
  parts.push = "layout(push_constant, std430) uniform Push { int n; ivec4 sizes; };\n";
  EXPECT_THAT(ErrorOf(parts),
              HasSubstr("'sizes' is at byte 4 in the spec and at byte 16 in the shader."));
  parts.push = "layout(push_constant, std140) uniform Push { int n; int sizes[4]; };\n";
  EXPECT_THAT(ErrorOf(parts), HasSubstr("has an array stride of 16 bytes in the shader"));
}

TEST_F(CheckTest, PushConstantMissing) {
  GlslParts parts;
  parts.push = "layout(push_constant, std430) uniform Push { int n; int sizes[4]; int m; };\n";
  EXPECT_THAT(ErrorOf(parts), StartsWith("op_specs/scale_f32_buffer.yaml:1:3: error: Push constant "
                                         "2 is 'm' in the shader, but the spec has 2 push "
                                         "constants."));
  parts.push = "layout(push_constant, std430) uniform Push { int n; };\n";
  parts.body = "y_data[i] = x_data[i] * SCALE;";
  EXPECT_THAT(ErrorOf(parts), StartsWith("op_specs/scale_f32_buffer.yaml:7:3: error: Push constant "
                                         "1 is 'sizes' in the spec, but the shader's block has 1 "
                                         "members."));
  parts.push = "const int n = 4;\n";
  EXPECT_THAT(ErrorOf(parts), HasSubstr("the shader declares no push-constant block."));
}

TEST_F(CheckTest, SpecializationConstantMismatch) {
  GlslParts parts;
  parts.constants = "layout(constant_id = 3) const int SCALE = 1;\n";
  EXPECT_THAT(ErrorOf(parts),
              StartsWith("op_specs/scale_f32_buffer.yaml:8:3: error: Specialization "
                         "constant 3 ('SCALE') is float in the spec and int in the "
                         "shader."));
  parts.constants = "layout(constant_id = 3) const float GAIN = 1;\nfloat SCALE = GAIN;\n";
  EXPECT_THAT(ErrorOf(parts), HasSubstr("is 'SCALE' in the spec and 'GAIN' in the shader."));
  parts.constants = "layout(constant_id = 4) const float SCALE = 1;\n";
  const std::string error = ErrorOf(parts);
  EXPECT_THAT(error, HasSubstr("yaml:1:3: error: Specialization constant 4 is 'SCALE' in the "
                               "shader, but the spec has none with this id."));
  EXPECT_THAT(error, HasSubstr("yaml:8:3: error: Specialization constant 3 ('SCALE') is in the "
                               "spec, but the shader declares none with this id."));
}

TEST_F(CheckTest, UnusedConstantIsAllowed) {
  GlslParts parts;
  parts.body = "y_data[i] = x_data[i];";
  AddVariant("scale_f32_buffer", parts.Text());
  const Result<CompileReport> report = Compile();
  EXPECT_TRUE(report.ok()) << report.status().message();
}

TEST_F(CheckTest, WorkgroupSizeMismatch) {
  EXPECT_THAT(ErrorOf({{"workgroup", {8, 8, 1}}}),
              StartsWith("op_specs/scale_f32_buffer.yaml:1:3: error: The workgroup size is [8, 8, "
                         "1] in the spec and [64, 1, 1] in the shader."));
  GlslParts parts;
  parts.local_size = "layout(local_size_x = 64) in;\n";
  EXPECT_THAT(ErrorOf(parts),
              HasSubstr("The shader's workgroup size [64, 1, 1] cannot be specialized"));
}

// A shader with `count` shared floats.
GlslParts SharedFloats(int count) {
  GlslParts parts;
  parts.functions = "shared float cells[" + std::to_string(count) + "];\n";
  parts.body = "cells[i] = x_data[i]; y_data[i] = cells[i + 1] * SCALE;";
  return parts;
}

TEST_F(CheckTest, SharedMemoryAboveTheVulkanLimit) {
  GlslParts parts;
  parts.functions = "struct Part { vec3 v; int n; };\nshared Part parts[1025];\n";
  parts.body = "parts[i].n = i; y_data[i] = x_data[parts[i + 1].n] * SCALE;";
  EXPECT_EQ(
      ErrorOf(parts),
      "op_specs/scale_f32_buffer.yaml:1:3: error: The shared variables (16400 bytes) exceed the "
      "16384 bytes that Vulkan guarantees. Reduce the tile size or add to `needs`: "
      "shared_memory_32k.   (scale_f32_buffer)\n");
}

// An element of 12 bytes occupies 16: 1025 elements exceed 16 KiB.
TEST_F(CheckTest, SharedMemoryIncludesPadding) {
  GlslParts parts;
  parts.functions = "shared vec3 cells[1025];\n";
  parts.body = "cells[i].x = x_data[i]; y_data[i] = cells[i + 1].y * SCALE;";
  EXPECT_THAT(ErrorOf(parts), HasSubstr("The shared variables (16400 bytes) exceed the"));
}

TEST_F(CheckTest, SharedMemoryAboveTheLimitOfNeeds) {
  const nlohmann::json needs = {{"needs", {"shared_memory_32k"}}};
  AddVariant("scale_f32_buffer", SharedFloats(8192).Text()).merge_patch(needs);
  const Result<CompileReport> report = Compile();
  EXPECT_TRUE(report.ok()) << report.status().message();
  EXPECT_THAT(
      ErrorOf(needs, SharedFloats(8193)),
      HasSubstr("(32772 bytes) exceed the 32768 bytes that `needs` guarantees. Reduce the tile "
                "size or add to `needs`: shared_memory_48k."));
  EXPECT_THAT(ErrorOf({{"needs", {"shared_memory_48k"}}}, SharedFloats(12289)),
              HasSubstr("exceed the 49152 bytes that `needs` guarantees. Reduce the tile size."));
  EXPECT_THAT(ErrorOf(needs, SharedFloats(4096)),
              HasSubstr("The spec needs shared_memory_32k; the shader needs nothing. Remove from "
                        "`needs`: shared_memory_32k."));
}

TEST_F(CheckTest, CapabilityMismatch) {
  const GlslParts parts = ScaledF16();
  EXPECT_EQ(ErrorOf(parts),
            "op_specs/scale_f32_buffer.yaml:1:3: error: The spec needs nothing; the shader needs "
            "storage_buffer_16bit. Add to `needs`: storage_buffer_16bit.   (scale_f32_buffer)\n");
  EXPECT_THAT(ErrorOf({{"needs", {"storage_buffer_16bit", "shader_int8"}}}, parts),
              HasSubstr("The spec needs storage_buffer_16bit, shader_int8; the shader needs "
                        "storage_buffer_16bit. Remove from `needs`: shader_int8."));
}

TEST_F(CheckTest, NeedsImpliedByDtypesAreOptional) {
  const nlohmann::json may_need = {{"may_need", {"storage_buffer_16bit"}}};
  AddVariant("scale_f32_buffer", GlslParts{}.Text()).merge_patch(may_need);
  const Result<CompileReport> report = Compile();
  EXPECT_TRUE(report.ok()) << report.status().message();
  nlohmann::json written = may_need;
  written["needs"] = {"shader_int8"};
  EXPECT_THAT(ErrorOf(written), HasSubstr("The spec needs shader_int8; the shader needs nothing. "
                                          "Remove from `needs`: shader_int8."));
  EXPECT_THAT(ErrorOf({{"may_need", {"storage_buffer_8bit"}}}, ScaledF16()),
              HasSubstr("The spec needs nothing; the shader needs storage_buffer_16bit. Add to "
                        "`needs`: storage_buffer_16bit."));
}

TEST_F(CheckTest, SubgroupOperationsImplySubgroupBasic) {
  GlslParts parts;
  parts.extensions = "#extension GL_KHR_shader_subgroup_arithmetic : require\n";
  parts.body = "y_data[i] = subgroupAdd(x_data[i] * SCALE);";
  AddVariant("scale_f32_buffer", parts.Text())["needs"] = {"subgroup_arithmetic"};
  const Result<CompileReport> report = Compile();
  EXPECT_TRUE(report.ok()) << report.status().message();
}

TEST_F(CheckTest, CapabilityWithoutNeed) {
  GlslParts parts;
  parts.body = "y_data[i] = float(double(x_data[i]) * double(SCALE));";
  EXPECT_THAT(
      ErrorOf(parts),
      HasSubstr("The shader requires the SPIR-V capability Float64 (10), which `needs` does "
                "not support."));
}

// KHR matrices have a use, which follows from multiply-adds.
TEST_F(CheckTest, MatricesWithoutMultiplyAddAreRejected) {
  GlslParts parts;
  parts.extensions =
      "#extension GL_KHR_memory_scope_semantics : require\n"
      "#extension GL_NV_cooperative_matrix : require\n";
  parts.body = R"(
    fcoopmatNV<32, gl_ScopeSubgroup, 8, 8> m = fcoopmatNV<32, gl_ScopeSubgroup, 8, 8>(SCALE);
    m += fcoopmatNV<32, gl_ScopeSubgroup, 8, 8>(x_data[i]);
    coopMatStoreNV(m, y_data, 0, 8, false);)";
  AddVariant("scale_f32_buffer", parts.Text())["needs"] = {"cooperative_matrix"};
  EXPECT_THAT(
      Compile().status().message(),
      HasSubstr("No multiply-add uses the cooperative matrices f32 8 x 8, so their use (matrix A, "
                "matrix B or accumulator) is unknown."));
}

// A multiply-add with operands from 32-bit words in shared memory.
GlslParts MatrixProduct() {
  GlslParts parts;
  parts.extensions =
      "#extension GL_KHR_memory_scope_semantics : require\n"
      "#extension GL_NV_cooperative_matrix : require\n"
      "#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require\n";
  parts.functions =
      "layout(constant_id = 1000) const uint M = 16;\n"
      "layout(constant_id = 1001) const uint N = 16;\n"
      "layout(constant_id = 1002) const uint K = 16;\n"
      "shared uvec4 words[32];\n";
  parts.body = R"(
    words[i] = uvec4(x_data[i]);
    fcoopmatNV<16, gl_ScopeSubgroup, M, K> left;
    fcoopmatNV<16, gl_ScopeSubgroup, K, N> right;
    coopMatLoadNV(left, words, 0, 2, false);
    coopMatLoadNV(right, words, 0, 2, false);
    fcoopmatNV<32, gl_ScopeSubgroup, M, N> sum = fcoopmatNV<32, gl_ScopeSubgroup, M, N>(SCALE);
    coopMatStoreNV(coopMatMulAddNV(left, right, sum), y_data, 0, 16, false);)";
  return parts;
}

TEST_F(CheckTest, BFloat16MatricesNeedNoFloat16) {
  nlohmann::json& variant = AddVariant("scale_f32_buffer", MatrixProduct().Text());
  variant["needs"] = {"cooperative_matrix", "bfloat16_matrix"};
  const Result<CompileReport> report = Compile();
  EXPECT_TRUE(report.ok()) << report.status().message();
}

TEST_F(CheckTest, BFloat16MatricesNeedCooperativeMatrices) {
  EXPECT_THAT(ErrorOf({{"needs", {"bfloat16_matrix"}}}, MatrixProduct()),
              HasSubstr("The spec needs bfloat16_matrix; the shader needs cooperative_matrix, "
                        "bfloat16_matrix. Add to `needs`: cooperative_matrix."));
  EXPECT_THAT(ErrorOf({{"needs", {"bfloat16_matrix"}}}, {}),
              HasSubstr("Remove from `needs`: bfloat16_matrix."));
  EXPECT_THAT(ErrorOf({{"needs", {"cooperative_matrix"}}}, MatrixProduct()),
              HasSubstr("Add to `needs`: shader_float16."));
}

TEST_F(CheckTest, OtherFloat16UsesWithBFloat16MatricesAreRejected) {
  GlslParts parts = MatrixProduct();
  parts.body += "y_data[i] = float(float16_t(x_data[i]));";
  EXPECT_THAT(ErrorOf({{"needs", {"cooperative_matrix", "bfloat16_matrix"}}}, parts),
              HasSubstr("only operands of cooperative matrices may have this type"));
}

}  // namespace
}  // namespace spirloom::compiler
