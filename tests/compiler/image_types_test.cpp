// Modules of texture3d and texture2d variants: stored once, and restored exactly.
#include "runtime/pack/image_types.h"

#include <gmock/gmock.h>

#include <cstring>

#include "compiler/base/file_io.h"
#include "compiler/pack/workgroup_size.h"
#include "compiler/spirv/optimize.h"
#include "runtime/pack/shader_pack.h"
#include "tests/compiler/fixture.h"
#include "tests/value_of.h"

namespace spirloom::compiler {
namespace {

class ImageTypesTest : public CompilerTest {
 protected:
  // Adds a variant whose x and y are images of these types ("3D" or "2DArray").
  void AddImages(const std::string& id, const std::string& x, const std::string& y) {
    GlslParts parts;
    parts.extensions = "#extension GL_EXT_samplerless_texture_functions : require\n";
    parts.bindings = "layout(set = 0, binding = 0) uniform texture" + x +
                     " x_image;\nlayout(set = 0, binding = 1, rgba32f) uniform writeonly image" +
                     y + " y_image;\n";
    parts.body = "imageStore(y_image, ivec3(i), texelFetch(x_image, ivec3(i), 0) * SCALE);";
    nlohmann::json& variant = AddVariant(id, parts.Text());
    variant["bindings"][0]["type"] = "sampled_image_" + Suffix(x);
    variant["bindings"][1]["type"] = "storage_image_" + Suffix(y);
  }

  // Adds a variant with a 3-D and a 2-D array image, whose SPIR-V types differ only in the
  // dimensions.
  void AddTwoKindsOfSampledImage() {
    GlslParts parts;
    parts.extensions = "#extension GL_EXT_samplerless_texture_functions : require\n";
    parts.bindings =
        "layout(set = 0, binding = 0) uniform texture3D x_image;\n"
        "layout(set = 0, binding = 1, std430) writeonly buffer y_block { vec4 y_data[]; };\n"
        "layout(set = 0, binding = 2) uniform texture2DArray z_image;\n";
    parts.body =
        "y_data[i] = SCALE * texelFetch(x_image, ivec3(i), 0) + texelFetch(z_image, ivec3(i), 0);";
    nlohmann::json& bindings = AddVariant("two_kinds", parts.Text())["bindings"];
    bindings[0]["type"] = "sampled_image_3d";
    bindings.push_back(bindings[0]);
    bindings[2]["name"] = "z";
    bindings[2]["type"] = "sampled_image_2d_array";
  }

  static std::string Suffix(const std::string& shape) { return shape == "3D" ? "3d" : "2d_array"; }

  // Compares each restored module with the compiled one, whose workgroup size is cleared. Returns
  // the number of stored modules.
  size_t CheckPack() {
    options_.extract_dir = directory_ / "spv";
    ValueOf(Compile());
    const std::string bytes = PackBytes();
    std::vector<uint64_t> aligned((bytes.size() + 7) / 8);
    std::memcpy(aligned.data(), bytes.data(), bytes.size());
    const pack::ShaderPack pack = ValueOf(pack::ShaderPack::Open(
        std::as_bytes(std::span(aligned)).first(bytes.size()), pack::PackCheck::kContent));
    for (const pack::VariantRow& row : pack.variants()) {
      const std::vector<uint32_t> words = ValueOf(pack.ReadSpirv(row));
      const std::string file = std::string(pack.Name(row)) + ".spv";
      const std::string bytes_of_file = ValueOf(ReadFile(options_.extract_dir / file));
      std::vector<uint32_t> compiled(bytes_of_file.size() / sizeof(uint32_t));
      std::memcpy(compiled.data(), bytes_of_file.data(), bytes_of_file.size());
      ClearWorkgroupSize(compiled);
      EXPECT_EQ(words, compiled) << file;
      EXPECT_TRUE(Validate(words, Target::kVulkan11).ok());
    }
    return pack.modules().size();
  }
};

TEST_F(ImageTypesTest, OneModuleForAllImageTypes) {
  for (const char* x : {"3D", "2DArray"}) {
    for (const char* y : {"3D", "2DArray"}) AddImages("from" + Suffix(x) + "to" + Suffix(y), x, y);
  }
  EXPECT_EQ(CheckPack(), 1u);
}

TEST_F(ImageTypesTest, ModulesThatCannotBeRestoredAreStoredUnchanged) {
  AddTwoKindsOfSampledImage();
  AddImages("simple", "2DArray", "2DArray");
  EXPECT_EQ(CheckPack(), 2u);
}

TEST_F(ImageTypesTest, DamagedModulesStayWithinBounds) {
  AddImages("scale", "3D", "3D");
  options_.extract_dir = directory_ / "spv";
  ASSERT_TRUE(Compile().ok());
  const std::string file = *ReadFile(options_.extract_dir / "scale.spv");
  const std::array types = {pack::BindingType::kSampledImage2DArray,
                            pack::BindingType::kStorageImage2DArray};
  for (size_t word = 0; word < file.size() / 4; ++word) {
    for (const uint32_t value : {0u, 0xffffffffu, 0x0001003bu, 0x00040020u}) {
      std::vector<uint32_t> words(file.size() / 4);
      std::memcpy(words.data(), file.data(), file.size());
      words[word] = value;
      words.resize(std::max(word + 1, words.size() - word));  // the end is missing too
      pack::SetImageTypes(words, types);
    }
  }
}

}  // namespace
}  // namespace spirloom::compiler
