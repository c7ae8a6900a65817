// Modules of spirloom-ops: the patterns of --op, and the files of --extract.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>

#include "runtime/pack/image_types.h"
#include "tests/support/pack_builder.h"
#include "tools/spirloom-ops/arguments.h"
#include "tools/spirloom-ops/inventory.h"

namespace spirloom::tools {
namespace {

using ::spirloom::testing::MakePack;
using ::spirloom::testing::RegistryOf;
using ::testing::HasSubstr;

TEST(MatchesGlob, MatchesTheWholeText) {
  EXPECT_TRUE(MatchesGlob("*", ""));
  EXPECT_TRUE(MatchesGlob("*", "aten.add.Tensor"));
  EXPECT_TRUE(MatchesGlob("aten.*.Tensor", "aten.add.Tensor"));
  EXPECT_TRUE(MatchesGlob("*pool2d", "max_pool2d"));
  EXPECT_TRUE(MatchesGlob("*ab*ab", "ababab"));
  EXPECT_TRUE(MatchesGlob("m?", "mm"));
  EXPECT_TRUE(MatchesGlob("add", "add"));
  EXPECT_FALSE(MatchesGlob("add", "add_"));
  EXPECT_FALSE(MatchesGlob("dd", "add"));
  EXPECT_FALSE(MatchesGlob("m?", "m"));
  EXPECT_FALSE(MatchesGlob("*pool", "max_pool2d"));
  EXPECT_FALSE(MatchesGlob("", "a"));
}

TEST(ExtractModules, StaysInItsDirectory) {
  testing::PackBytes bytes = MakePack({0x10}, RegistryOf("library", {}));
  const auto pack = pack::ShaderPack::Open(bytes.bytes(), pack::PackCheck::kContent);
  ASSERT_TRUE(pack.ok()) << pack.status().message();
  const auto directory = std::filesystem::path(::testing::TempDir()) / "extract_test";
  std::filesystem::remove_all(directory);
  const auto extract = [&](const std::string& id) {
    const pack::VariantRow& row = pack->variants()[0];
    const VariantEntry variant{id, {}, pack->Module(row), 0, pack::BindingTypesOf(row)};
    return ExtractModules({OpInventory{"op", "op", {}, {{"kernel", {variant}}}}},
                          (directory / "inside").string());
  };
  EXPECT_TRUE(extract("good").ok());
  EXPECT_TRUE(std::filesystem::exists(directory / "inside/good.spv"));
  for (const std::string& id : {std::string("../outside"), (directory / "outside").string()}) {
    const Status status = extract(id);
    EXPECT_EQ(status.code(), StatusCode::kInvalidFile);
    EXPECT_THAT(status.message(), HasSubstr("contains a directory."));
  }
  EXPECT_FALSE(std::filesystem::exists(directory / "outside.spv"));
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace spirloom::tools
