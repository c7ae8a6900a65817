// Shader libraries in files: valid and damaged ones, and their lifetime.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "runtime/ops/op_index.h"
#include "spirloom/library.h"
#include "tests/support/pack_builder.h"

namespace spirloom {
namespace {

using ::spirloom::testing::MakePack;
using ::spirloom::testing::PackBytes;
using ::spirloom::testing::RegistryOf;
using ::spirloom::testing::Reseal;
using ::testing::HasSubstr;

PackBytes ValidPack() { return MakePack({0x10, 0x11}, RegistryOf("some", {"aten.mm"})); }

class LibraryFileTest : public ::testing::Test {
 protected:
  // Each call writes another file: mapped files must not be modified.
  std::string Write(std::span<const std::byte> bytes) {
    const std::string test = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    const std::string path = ::testing::TempDir() + test + std::to_string(paths_++) + ".slpack";
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    return path;
  }

  void ExpectRejected(std::span<const std::byte> bytes, StatusCode code, const std::string& text) {
    const std::string path = Write(bytes);
    const Status status = ShaderLibrary::Open(path).status();
    EXPECT_EQ(status.code(), code) << status.message();
    EXPECT_THAT(status.message(), HasSubstr(text));
    EXPECT_THAT(status.message(), HasSubstr("While opening the shader library '" + path + "'."));
  }

 private:
  int paths_ = 0;
};

TEST_F(LibraryFileTest, IsNamedByItsPath) {
  PackBytes pack = ValidPack();
  const std::string path = Write(pack.bytes());
  const auto library = ShaderLibrary::Open(path);
  ASSERT_TRUE(library.ok()) << library.status().message();
  EXPECT_EQ(library->name, path);
  EXPECT_FALSE(library->overrides);
  EXPECT_TRUE(std::ranges::equal(library->pack, pack.bytes()));
}

TEST_F(LibraryFileTest, IsKeptAliveByAnIndex) {
  PackBytes pack = ValidPack();
  const std::string path = Write(pack.bytes());
  std::optional<Result<ShaderLibrary>> library = ShaderLibrary::Open(path);
  ASSERT_TRUE(library->ok()) << library->status().message();
  const std::array<const ShaderLibrary*, 1> libraries = {&**library};
  const auto index = ops::OpIndex::Create(libraries);
  ASSERT_TRUE(index.ok()) << index.status().message();
  library.reset();
  std::filesystem::remove(path);
  const auto variant = index->FindVariant(*index->FindOp("aten.mm"), 0x11);
  ASSERT_TRUE(variant.has_value());
  EXPECT_EQ(variant->name, "variant_1");
}

TEST_F(LibraryFileTest, ReportsAMissingFile) {
  const Status status = ShaderLibrary::Open("/nowhere/at/all.slpack").status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("'/nowhere/at/all.slpack'"));
}

TEST_F(LibraryFileTest, RejectsOtherFiles) {
  const std::string text(200, 'x');
  ExpectRejected({}, StatusCode::kInvalidFile, "has 0 bytes, fewer than its header");
  ExpectRejected(std::as_bytes(std::span(text)), StatusCode::kInvalidFile,
                 "do not begin with the magic number of a shader pack");
}

TEST_F(LibraryFileTest, RejectsATruncatedFile) {
  PackBytes pack = ValidPack();
  ExpectRejected(pack.bytes().first(pack.bytes().size() - 4), StatusCode::kInvalidFile,
                 "header contains the size");
}

TEST_F(LibraryFileTest, RejectsAModifiedFile) {
  PackBytes pack = ValidPack();
  pack.bytes().back() ^= std::byte{1};
  ExpectRejected(pack.bytes(), StatusCode::kInvalidFile, "it is damaged");
}

TEST_F(LibraryFileTest, RejectsAnotherVersion) {
  PackBytes pack = ValidPack();
  pack.header().version = 3;
  ExpectRejected(pack.bytes(), StatusCode::kUnsupported, "has version 3; this build reads");
}

TEST_F(LibraryFileTest, RejectsADamagedRegistryWithAValidDigest) {
  PackBytes pack = ValidPack();
  pack.header().registry_size -= 1;
  Reseal(pack);
  ExpectRejected(pack.bytes(), StatusCode::kInvalidFile, "It is truncated");
}

}  // namespace
}  // namespace spirloom
