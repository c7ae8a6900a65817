// spirloom-ops --extract writes into its folder and nowhere else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>

#include "runtime/pack/image_types.h"
#include "tests/unit/runtime/pack_builder.h"
#include "tools/spirloom-ops/inventory.h"

namespace spirloom::tools {
namespace {

using ::spirloom::testing::MakePack;
using ::spirloom::testing::RegistryOf;
using ::testing::HasSubstr;

TEST(ExtractModules, StaysInItsFolder) {
  testing::PackBytes bytes = MakePack({0x10}, RegistryOf("library", {}));
  const auto pack = pack::ShaderPack::Open(bytes.bytes(), pack::PackCheck::kContent);
  ASSERT_TRUE(pack.ok()) << pack.status().message();
  const auto folder = std::filesystem::path(::testing::TempDir()) / "extract_test";
  std::filesystem::remove_all(folder);
  const auto extract = [&](const std::string& id) {
    const pack::VariantRow& row = pack->variants()[0];
    const VariantEntry variant{id, {}, pack->Module(row), 0, pack::BindingTypesOf(row)};
    return ExtractModules({OpInventory{"op", "op", {}, {{"kernel", {variant}}}}},
                          (folder / "inside").string());
  };
  EXPECT_TRUE(extract("good").ok());
  EXPECT_TRUE(std::filesystem::exists(folder / "inside/good.spv"));
  for (const std::string& id : {std::string("../outside"), (folder / "outside").string()}) {
    const Status status = extract(id);
    EXPECT_EQ(status.code(), StatusCode::kInvalidFile);
    EXPECT_THAT(status.message(), HasSubstr("names a folder."));
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "outside.spv"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace spirloom::tools
