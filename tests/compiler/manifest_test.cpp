// Errors of an invalid manifest name the element.
#include "compiler/manifest/manifest.h"

#include <gmock/gmock.h>

#include <functional>

#include "tests/compiler/fixture.h"

namespace spirloom::compiler {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class ManifestTest : public CompilerTest {
 protected:
  ManifestTest() {
    AddVariant("a", "");
    AddVariant("b", "");
  }
  // The error of the manifest after `change`.
  std::string ErrorAfter(const std::function<void(json&)>& change) {
    json changed = manifest_;
    change(changed);
    const Result<Manifest> result = ParseManifest(changed.dump());
    EXPECT_FALSE(result.ok());
    EXPECT_EQ(result.status().code(), StatusCode::kInvalidFile);
    return result.status().message();
  }
  std::string VariantError(const std::function<void(json&)>& change) {
    return ErrorAfter([&change](json& m) { change(m["variants"][1]); });
  }
};

TEST_F(ManifestTest, ReadsEverything) {
  const Result<Manifest> manifest = ParseManifest(manifest_.dump());
  ASSERT_TRUE(manifest.ok()) << manifest.status().message();
  EXPECT_EQ(manifest->registry, "registry.bin");
  ASSERT_EQ(manifest->variants.size(), 2u);
  const Variant& variant = manifest->variants[1];
  EXPECT_EQ(variant.id, "b");
  EXPECT_EQ(variant.bindings[1].access, BindingAccess::kWrite);
  EXPECT_EQ(variant.push[1].count, 4u);
  EXPECT_EQ(variant.constants[0].type, ScalarType::kFloat);
  EXPECT_EQ(variant.workgroup[0], 64);
}

TEST_F(ManifestTest, NotJson) {
  for (const char* text : {"", "{", "[1, 2", "\xff\xfe", "nul"}) {
    const Result<Manifest> manifest = ParseManifest(text);
    ASSERT_FALSE(manifest.ok());
    EXPECT_EQ(manifest.status().message(), "The manifest is not valid JSON.");
  }
  EXPECT_FALSE(ParseManifest("[]").ok());
  EXPECT_FALSE(ParseManifest(std::string(100000, '[')).ok());
}

TEST_F(ManifestTest, DeepNestingIsRejected) {
  constexpr size_t kDepth = 1000000;
  const std::string deep = std::string(kDepth, '[') + std::string(kDepth, ']');
  const Result<Manifest> manifest = ParseManifest("{\"version\": " + deep + "}");
  ASSERT_FALSE(manifest.ok());
  EXPECT_EQ(manifest.status().message(), "version is array, not an integer from 3 to 3.");
}

TEST_F(ManifestTest, ErrorsNameTheElement) {
  EXPECT_EQ(ErrorAfter([](json& m) { m["version"] = 1; }),
            "version is 1, not an integer from 3 to 3.");
  EXPECT_EQ(ErrorAfter([](json& m) { m.erase("variants"); }), "variants is missing.");
  EXPECT_EQ(ErrorAfter([](json& m) { m["registry"] = "../ops"; }),
            "registry is '../ops', not a path below the directory of the manifest.");
  EXPECT_EQ(ErrorAfter([](json& m) { m["variants"][1] = 7; }), "variants[1] is not an object.");
  EXPECT_EQ(VariantError([](json& v) { v.erase("push"); }), "variants[1].push is missing.");
  EXPECT_EQ(VariantError([](json& v) { v["push"] = 3; }), "variants[1].push is not a list.");
  EXPECT_EQ(VariantError([](json& v) { v["push"][0]["type"] = "double"; }),
            "variants[1].push[0].type is 'double', not one of: int, float.");
  EXPECT_EQ(VariantError([](json& v) { v["push"][1]["offset"] = 8; }),
            "variants[1].push[1] ends at byte 24, beyond push_bytes (20).");
  EXPECT_EQ(VariantError([](json& v) { v["constants"][0]["id"] = 4; }),
            "variants[1].constants[0].id is 4, not 3; the ids run from 3 in order.");
  EXPECT_EQ(VariantError([](json& v) {
              v["workgroup"] = {64, 1};
            }),
            "variants[1].workgroup does not have 3 elements.");
  EXPECT_EQ(VariantError([](json& v) { v["workgroup"][2] = 0; }),
            "variants[1].workgroup[2] is 0, not an integer from 1 to 65535.");
  EXPECT_EQ(VariantError([](json& v) { v["workgroup"][2] = -1; }),
            "variants[1].workgroup[2] is -1, not an integer from 1 to 65535.");
  EXPECT_EQ(VariantError([](json& v) { v["target"] = "vulkan1.0"; }),
            "variants[1].target: Target 'vulkan1.0' is not one of: vulkan1.1, vulkan1.2, "
            "vulkan1.3.");
  EXPECT_THAT(VariantError([](json& v) { v["needs"] = {"fp16"}; }),
              HasSubstr("variants[1].needs[0] is \"fp16\", not one of: storage_buffer_16bit, "));
  EXPECT_THAT(VariantError([](json& v) { v["may_need"] = {"fp16"}; }),
              HasSubstr("variants[1].may_need[0] is \"fp16\", not one of: "));
  EXPECT_EQ(VariantError([](json& v) { v["portable"] = 1; }),
            "variants[1].portable is not true or false.");
  EXPECT_EQ(VariantError([](json& v) { v["loop_iterations"] = 1; }),
            "variants[1].loop_iterations is not true or false.");
  EXPECT_THAT(
      VariantError([](json& v) { v["bindings"] = std::vector<json>(17, v["bindings"][0]); }),
      HasSubstr("has 17 elements; the maximum is 16."));
  EXPECT_EQ(VariantError([](json& v) { v["bindings"][0]["access"] = "execute"; }),
            "variants[1].bindings[0].access is 'execute', not one of: read, write, readwrite.");
}

TEST_F(ManifestTest, PathsAndIdsStayInside) {
  for (const char* source : {"../x.glsl", "/etc/passwd", "a/../../x", ""}) {
    EXPECT_THAT(VariantError([source](json& v) { v["source"] = source; }),
                HasSubstr("not a path below the directory of the manifest."));
  }
  for (const char* id : {"../x", "", "a b", "A"}) {
    EXPECT_THAT(VariantError([id](json& v) { v["id"] = id; }), HasSubstr("variants[1].id is '"));
  }
}

TEST_F(ManifestTest, KeysAndIdsAreDistinct) {
  EXPECT_EQ(VariantError([](json& v) { v["id"] = "a"; }), "variants[1].id 'a' occurs twice.");
  EXPECT_EQ(VariantError([](json& v) { v["key"] = 1; }),
            "variants[1].key is 1; it must be above the previous key, 1.");
}

TEST_F(ManifestTest, MissingFilesAreNamed) {
  options_.manifest = directory_ / "nothing.json";
  EXPECT_THAT(CompileManifest(options_).status().message(), HasSubstr("nothing.json"));
  options_.manifest = directory_;
  EXPECT_FALSE(CompileManifest(options_).ok());
  options_.manifest = directory_ / "manifest.json";
  std::filesystem::remove(directory_ / "glsl" / "b.glsl");
  EXPECT_THAT(CompileError(), HasSubstr("b.glsl"));
}

}  // namespace
}  // namespace spirloom::compiler
