// Modules of texture2d variants that are converted from texture3d twins.
#include "compiler/pack/image_twin.h"

#include <gmock/gmock.h>

#include "compiler/base/file_io.h"
#include "tests/compiler/fixture.h"
#include "tests/value_of.h"

namespace spirloom::compiler {
namespace {

using testing::HasSubstr;
using testing::Not;

class ImageTwinTest : public CompilerTest {
 protected:
  ImageTwinTest() {
    options_.extract_dir = directory_ / "spv";
    options_.time_trace = directory_ / "trace.json";
  }

  // Adds y[i] = x[i] * SCALE + z[i] with images of these types ("3D" or "2DArray").
  void AddSum(const std::string& id, const std::string& x, const std::string& z,
              const std::string& body_end = "") {
    GlslParts parts;
    parts.extensions = "#extension GL_EXT_samplerless_texture_functions : require\n";
    parts.bindings =
        "layout(set = 0, binding = 0) uniform texture" + x +
        " x_image;\nlayout(set = 0, binding = 1, std430) writeonly buffer y_block { vec4 y_data[]; "
        "};\nlayout(set = 0, binding = 2) uniform texture" +
        z + " z_image;\n";
    parts.body =
        "y_data[i] = SCALE * texelFetch(x_image, ivec3(i), 0) + texelFetch(z_image, ivec3(i), 0);" +
        body_end;
    nlohmann::json& bindings = AddVariant(id, parts.Text())["bindings"];
    bindings[0]["type"] = TypeOf(x);
    bindings.push_back(bindings[0]);
    bindings[2]["name"] = "z";
    bindings[2]["type"] = TypeOf(z);
  }

  static std::string TypeOf(const std::string& shape) {
    return shape == "3D" ? "sampled_image_3d" : "sampled_image_2d_array";
  }

  // Compiles all variants and returns the module of `id`.
  std::string ModuleOf(const std::string& id) {
    ValueOf(Compile());
    return ValueOf(ReadFile(options_.extract_dir / (id + ".spv")));
  }

  std::string Trace() { return ValueOf(ReadFile(options_.time_trace)); }
};

TEST_F(ImageTwinTest, EqualsTheCompiledModule) {
  AddSum("layered", "2DArray", "2DArray");
  const std::string compiled = ModuleOf("layered");
  EXPECT_THAT(Trace(), Not(HasSubstr("from twin")));
  AddSum("flat", "3D", "3D");
  EXPECT_EQ(ModuleOf("layered"), compiled);
  EXPECT_THAT(Trace(), HasSubstr("from twin"));
}

TEST_F(ImageTwinTest, CachedModulesServeAsTwins) {
  options_.cache_dir = directory_ / "cache";
  AddSum("flat", "3D", "3D");
  ModuleOf("flat");
  AddSum("layered", "2DArray", "2DArray");
  const std::string module = ModuleOf("layered");
  EXPECT_THAT(Trace(), HasSubstr("from twin"));
  options_.cache_dir.clear();
  manifest_["variants"].erase(0);
  EXPECT_EQ(ModuleOf("layered"), module);
}

TEST_F(ImageTwinTest, ImagesOfBothKindsAreCompiled) {
  AddSum("both", "3D", "2DArray");
  const std::string compiled = ModuleOf("both");
  AddSum("flat", "3D", "3D");
  EXPECT_EQ(ModuleOf("both"), compiled);
}

TEST_F(ImageTwinTest, DifferentGlslIsCompiled) {
  AddSum("flat", "3D", "3D");
  AddSum("layered", "2DArray", "2DArray", " y_data[i + 1] = vec4(1.0);");
  ModuleOf("layered");
  EXPECT_THAT(Trace(), Not(HasSubstr("from twin")));
}

}  // namespace
}  // namespace spirloom::compiler
