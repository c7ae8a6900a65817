// Which buffers are converted to texel buffers, and that the result is valid.
#include "runtime/pack/texel_reads.h"

#include <gmock/gmock.h>

#include "compiler/checks/reflect.h"
#include "compiler/glsl/glsl_to_spirv.h"
#include "compiler/spirv/optimize.h"
#include "tests/compiler/fixture.h"
#include "tests/value_of.h"

namespace spirloom::compiler {
namespace {

using pack::BindingType;
using testing::ElementsAre;

constexpr BindingType kBufferType = BindingType::kStorageBuffer;

class TexelReads : public testing::Test {
 protected:
  // Converts the module of a shader with this block and these statements.
  std::vector<BindingType> Rewrite(const std::string& x, const std::string& body) {
    parts_.bindings = "layout(set = 0, binding = 0, std430) " + x +
                      ";\nlayout(set = 0, binding = 1, std430) writeonly buffer y_block "
                      "{ vec4 y_data[]; };\n";
    parts_.body = body;
    const GlslResult compiled = GlslToSpirv(parts_.Text(), "test.glsl", Target::kVulkan11);
    for (const GlslError& error : compiled.errors) ADD_FAILURE() << error.where << error.message;
    module_ = ValueOf(Optimize(compiled.words, Target::kVulkan11));
    const std::vector<uint32_t> before = module_;
    auto bindings = pack::ReadAsTexels(module_, std::vector<BindingType>(2, kBufferType));
    const Status valid = Validate(module_, Target::kVulkan11);
    EXPECT_TRUE(valid.ok()) << valid.message();
    EXPECT_EQ(module_ == before, bindings[0] == kBufferType);
    return bindings;
  }

  GlslParts parts_;
  std::vector<uint32_t> module_;
};

TEST_F(TexelReads, Scalars) {
  EXPECT_THAT(Rewrite("readonly buffer x_block { float x_data[]; }",
                      "y_data[i] = vec4(x_data[i] * SCALE + x_data[i + 1]);"),
              ElementsAre(BindingType::kTexelsF32, kBufferType));
  EXPECT_THAT(
      Rewrite("readonly buffer x_block { int x_data[]; }", "y_data[i] = vec4(x_data[i]) * SCALE;"),
      ElementsAre(BindingType::kTexelsI32, kBufferType));
}

TEST_F(TexelReads, Vectors) {
  EXPECT_THAT(Rewrite("readonly buffer x_block { vec4 x_data[]; }",
                      "y_data[i] = x_data[i] * SCALE + x_data[i + 1].y + x_data[i][sizes[0]];"),
              ElementsAre(BindingType::kTexelsF32Vec4, kBufferType));
  EXPECT_THAT(Rewrite("readonly buffer x_block { ivec4 x_data[]; }",
                      "y_data[i] = vec4(x_data[i]) * SCALE;"),
              ElementsAre(BindingType::kTexelsI32Vec4, kBufferType));
}

TEST_F(TexelReads, ShaderReadsAnImage) {
  Rewrite("readonly buffer x_block { float x_data[]; }", "y_data[i] = vec4(x_data[i] * SCALE);");
  const Reflection reflection = ValueOf(Reflect(module_));
  ASSERT_EQ(reflection.bindings.size(), 2u);
  EXPECT_EQ(reflection.bindings[0].type, "sampled_image");  // of dimension "Buffer"
  EXPECT_EQ(reflection.bindings[1].type, "storage_buffer");
}

TEST_F(TexelReads, WrittenBuffersAreKept) {
  EXPECT_THAT(Rewrite("buffer x_block { float x_data[]; }",
                      "y_data[i] = vec4(x_data[i] * SCALE); x_data[i] = 0.0;"),
              ElementsAre(kBufferType, kBufferType));
}

TEST_F(TexelReads, OtherTypesAndUsesAreKept) {
  EXPECT_THAT(
      Rewrite("readonly buffer x_block { uint x_data[]; }", "y_data[i] = vec4(x_data[i]) * SCALE;"),
      ElementsAre(kBufferType, kBufferType));
  EXPECT_THAT(
      Rewrite("readonly buffer x_block { vec2 x_data[]; }", "y_data[i] = x_data[i].xyxy * SCALE;"),
      ElementsAre(kBufferType, kBufferType));
  EXPECT_THAT(Rewrite("readonly buffer x_block { float x_data[]; }",
                      "y_data[i] = vec4(x_data[i] * SCALE + float(x_data.length()));"),
              ElementsAre(kBufferType, kBufferType));
  EXPECT_THAT(Rewrite("buffer x_block { int x_data[]; }",
                      "y_data[i] = vec4(atomicAdd(x_data[0], 1)) * SCALE;"),
              ElementsAre(kBufferType, kBufferType));
}

TEST_F(TexelReads, BindingsWithTwoViewsAreKept) {
  EXPECT_THAT(Rewrite("readonly buffer x_block { float x_data[]; };\n"
                      "layout(set = 0, binding = 0, std430) readonly buffer vec4_block "
                      "{ vec4 x_vec4[]; }",
                      "y_data[i] = x_vec4[i] * SCALE + x_data[i];"),
              ElementsAre(kBufferType, kBufferType));
}

TEST_F(TexelReads, InvalidModulesAreKept) {
  Rewrite("buffer x_block { float x_data[]; }",
          "y_data[i] = vec4(x_data[i] * SCALE); x_data[i] = 0.0;");
  for (size_t size = 0; size < module_.size(); ++size) {
    std::vector<uint32_t> cut(module_.begin(), module_.begin() + static_cast<ptrdiff_t>(size));
    const std::vector<uint32_t> before = cut;
    EXPECT_THAT(pack::ReadAsTexels(cut, std::vector<BindingType>(2, kBufferType)),
                ElementsAre(kBufferType, kBufferType));
    EXPECT_EQ(cut, before);
  }
}

}  // namespace
}  // namespace spirloom::compiler
