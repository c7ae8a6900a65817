// Which modules are rewritten for devices without 8-bit and 16-bit storage, and which are not. The
// operator cases run them (./dev test-drivers).
#include "runtime/pack/word_storage.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <spirv/unified1/spirv.hpp>

#include "compiler/glsl/glsl_to_spirv.h"
#include "compiler/spirv/optimize.h"
#include "compiler/spirv/spirv_index.h"
#include "runtime/pack/capability.h"
#include "tests/compiler/fixture.h"
#include "tests/value_of.h"

namespace spirloom::compiler {
namespace {

using pack::Capability;
using pack::CapabilityBit;
using testing::HasSubstr;

constexpr char kStorage[] =
    "#extension GL_EXT_shader_16bit_storage : require\n"
    "#extension GL_EXT_shader_8bit_storage : require\n";

class WordStorage : public testing::Test {
 protected:
  // Compiles a shader with buffers of these element types.
  void Compile(const std::string& x, const std::string& y, const std::string& body,
               const std::string& extensions = kStorage) {
    parts_.extensions = extensions;
    parts_.bindings =
        "layout(set = 0, binding = 0, std430) readonly buffer x_block { " + x +
        " x_data[]; };\nlayout(set = 0, binding = 1, std430) writeonly buffer y_block { " + y +
        " y_data[]; };\n";
    parts_.body = body;
    const GlslResult compiled = GlslToSpirv(parts_.Text(), "test.glsl", Target::kVulkan11);
    for (const GlslError& error : compiled.errors) ADD_FAILURE() << error.where << error.message;
    module_ = ValueOf(Optimize(compiled.words, Target::kVulkan11));
  }

  Status Rewrite(uint64_t lacking = pack::kStorageCapabilities) {
    Status status = pack::StoreInWords(module_, lacking);
    const Status valid = Validate(module_, Target::kVulkan11);
    EXPECT_TRUE(valid.ok()) << valid.message();
    return status;
  }

  bool Requires(uint32_t capability) const {
    const std::vector<uint32_t> all = SpirvIndex::Create(module_).value().capabilities();
    return std::ranges::find(all, capability) != all.end();
  }

  long Count(uint32_t opcode) const {
    const SpirvIndex index = SpirvIndex::Create(module_).value();
    return std::ranges::count(index.function_body(), opcode, &Instruction::opcode);
  }

  GlslParts parts_;
  std::vector<uint32_t> module_;
};

TEST_F(WordStorage, ScalarsAreStoredAtomically) {
  for (const auto& [type, wide] : std::map<std::string, std::string>{
           {"float16_t", "float"}, {"int8_t", "int"}, {"uint8_t", "uint"}}) {
    Compile(type, type, "y_data[i] = " + type + "(" + wide + "(x_data[i]) * " + wide + "(3));");
    ASSERT_TRUE(Rewrite().ok());
    EXPECT_EQ(Count(spv::OpAtomicCompareExchange), 1) << type;
  }
}

TEST_F(WordStorage, VectorsAreWholeWords) {
  Compile("f16vec4", "i8vec4", "y_data[i] = i8vec4(ivec4(vec4(x_data[i])));");
  ASSERT_TRUE(Rewrite().ok());
  EXPECT_EQ(Count(spv::OpAtomicCompareExchange), 0);
  EXPECT_EQ(Count(spv::OpStore), 1);
}

TEST_F(WordStorage, OnlyWhatTheDeviceLacks) {
  Compile("float16_t", "int8_t", "y_data[i] = int8_t(int(float(x_data[i])));");
  ASSERT_TRUE(Rewrite(CapabilityBit(Capability::kStorageBuffer8Bit)).ok());
  EXPECT_FALSE(Requires(spv::CapabilityStorageBuffer8BitAccess));
  EXPECT_TRUE(Requires(spv::CapabilityStorageBuffer16BitAccess));
  ASSERT_TRUE(Rewrite(CapabilityBit(Capability::kStorageBuffer16Bit)).ok());
  EXPECT_FALSE(Requires(spv::CapabilityStorageBuffer16BitAccess));
}

TEST_F(WordStorage, CapabilitiesWithoutUseAreDropped) {
  Compile("float16_t", "uint", "y_data[i] = 3u;");
  ASSERT_TRUE(Requires(spv::CapabilityStorageBuffer16BitAccess));
  ASSERT_TRUE(Rewrite().ok());
  EXPECT_FALSE(Requires(spv::CapabilityStorageBuffer16BitAccess));
}

TEST_F(WordStorage, OtherModulesAreUnchanged) {
  Compile("float", "uint", "y_data[i] = uint(x_data[i]);");
  const std::vector<uint32_t> before = module_;
  ASSERT_TRUE(Rewrite().ok());
  EXPECT_EQ(module_, before);
  Compile("float16_t", "int8_t", "y_data[i] = int8_t(int(float(x_data[i])));");
  const std::vector<uint32_t> device_has_both = module_;
  ASSERT_TRUE(Rewrite(0).ok());
  EXPECT_EQ(module_, device_has_both);
}

TEST_F(WordStorage, PacksAreRounded) {
  Compile("vec2", "uint", "y_data[i] = packHalf2x16(x_data[i]);");
  ASSERT_TRUE(Rewrite(CapabilityBit(Capability::kStorageBuffer8Bit)).ok());
  EXPECT_EQ(Count(spv::OpExtInst), 1);
  ASSERT_TRUE(Rewrite().ok());
  EXPECT_EQ(Count(spv::OpExtInst), 0);
}

TEST_F(WordStorage, ArithmeticIsNotSupported) {
  Compile("float16_t", "float16_t", "y_data[i] = x_data[i] * float16_t(2.0);",
          std::string(kStorage) +
              "#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require\n");
  const std::vector<uint32_t> before = module_;
  const Status status = Rewrite();
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_THAT(status.message(), HasSubstr("other than in loads, stores and conversions"));
  EXPECT_EQ(module_, before);
}

TEST(LackingCapabilities, StorageIsRewrittenWithoutArithmetic) {
  constexpr uint64_t k16 = CapabilityBit(Capability::kStorageBuffer16Bit);
  constexpr uint64_t kFloat16 = CapabilityBit(Capability::kShaderFloat16);
  EXPECT_EQ(pack::LackingCapabilities(pack::kStorageCapabilities, 0), 0u);
  EXPECT_EQ(pack::LackingCapabilities(k16 | kFloat16, 0), k16 | kFloat16);
  EXPECT_EQ(pack::LackingCapabilities(k16 | kFloat16, kFloat16), k16);
  EXPECT_EQ(pack::LackingCapabilities(k16 | kFloat16, k16 | kFloat16), 0u);
}

}  // namespace
}  // namespace spirloom::compiler
