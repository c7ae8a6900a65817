// Packs with compressed modules, valid and damaged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "compiler/pack/pack_writer.h"
#include "runtime/pack/shader_pack.h"
#include "runtime/pack/spirv_words.h"
#include "tests/support/pack_builder.h"
#include "tests/value_of.h"

namespace spirloom::pack {
namespace {

using ::spirloom::testing::PackBytes;
using ::testing::HasSubstr;

// A SPIR-V 1.3 module that compresses well.
std::vector<uint32_t> SomeWords() {
  std::vector<uint32_t> words = {spirv::kMagic, 0x00010300, 0, 1, 0};
  words.resize(500, 0x00020011);
  return words;
}

PackBytes PackOf(const std::vector<uint32_t>& words) {
  compiler::Variant variant;
  variant.id = "some_f32_buffer";
  variant.key = 5;
  const auto written = ValueOf(compiler::WritePack("ops", {{&variant, words}}, {.compress = true}));
  PackBytes bytes(written.bytes.size());
  std::ranges::copy(std::as_bytes(std::span(written.bytes)), bytes.bytes().begin());
  return bytes;
}

// The words of the pack's module, or the error of reading them.
Result<std::vector<uint32_t>> Read(PackBytes& bytes) {
  SPIRLOOM_TRY_ASSIGN(const ShaderPack pack,
                      ShaderPack::Open(bytes.bytes(), PackCheck::kStructure));
  if (pack.variants().empty()) return Status(StatusCode::kInvalidFile, "It has no variants.");
  return pack.ReadSpirv(pack.variants()[0]);
}

void ExpectUnreadable(PackBytes& bytes, const std::string& text) {
  const Status status = Read(bytes).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidFile) << status.message();
  EXPECT_THAT(status.message(), HasSubstr(text));
}

TEST(CompressedPack, ContainsTheSameWordsInFewerBytes) {
  PackBytes pack = PackOf(SomeWords());
  EXPECT_EQ(pack.module(0).codec, static_cast<uint32_t>(Codec::kZstd));
  EXPECT_EQ(pack.module(0).raw_size, 2000U);
  EXPECT_LT(pack.module(0).size, 200U);
  const auto words = Read(pack);
  ASSERT_TRUE(words.ok()) << words.status().message();
  EXPECT_EQ(*words, SomeWords());
}

TEST(CompressedPack, StoresIncompressibleModulesUncompressed) {
  std::vector<uint32_t> words = SomeWords();
  std::mt19937 random(1);
  for (size_t i = 5; i < words.size(); ++i) words[i] = static_cast<uint32_t>(random());
  PackBytes pack = PackOf(words);
  EXPECT_EQ(pack.module(0).codec, static_cast<uint32_t>(Codec::kRaw));
  EXPECT_EQ(ValueOf(Read(pack)), words);
}

TEST(CompressedPack, LimitsTheDecompressedSize) {
  PackBytes pack = PackOf(SomeWords());
  pack.module(0).raw_size = 0xfffffffc;
  const Status status = Read(pack).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidFile);
  EXPECT_EQ(status.message(),
            "Module 0 of the shader pack decompresses to 4294967292 bytes; the maximum is "
            "16777216.");
}

TEST(CompressedPack, RejectsAWrongSize) {
  PackBytes pack = PackOf(SomeWords());
  pack.module(0).raw_size = 1996;
  ExpectUnreadable(pack, "shader pack failed: Destination buffer is too small");
  pack.module(0).raw_size = 2004;
  ExpectUnreadable(pack, "decompresses to 2000 bytes; expected 2004.");
  pack.module(0).raw_size = 16;
  ExpectUnreadable(pack, "at least 20");
  pack.module(0).raw_size = 2000;
  pack.module(0).size -= 1;
  ExpectUnreadable(pack, "Decompressing a module of a shader pack failed");
}

TEST(CompressedPack, RejectsADamagedFrame) {
  PackBytes pack = PackOf(SomeWords());
  pack.bytes()[pack.module(0).offset] = std::byte{0};
  ExpectUnreadable(pack, "shader pack failed: Unknown frame descriptor.");
  ExpectUnreadable(pack, "While reading the module of some_f32_buffer.");
}

TEST(CompressedPack, RejectsInvalidSpirvAndNewerVersions) {
  std::vector<uint32_t> words = SomeWords();
  words[1] = 0x00010500;  // SPIR-V 1.5 of Vulkan 1.2; the variant targets 1.1
  PackBytes newer = PackOf(words);
  ExpectUnreadable(newer, "is SPIR-V 1.5; the Vulkan version of its variant supports up to 1.3.");
  words[0] = 0;
  PackBytes other = PackOf(words);
  ExpectUnreadable(other, "is not SPIR-V");
}

// For arbitrary bytes, reading fails or stays within the pack (checked by asan builds).
TEST(CompressedPack, SurvivesRandomDamage) {
  std::mt19937 random(1);
  const PackBytes good = PackOf(SomeWords());
  for (int round = 0; round < 5000; ++round) {
    PackBytes pack = good;
    for (int k = 0; k < 1 + round % 3; ++k) {
      const size_t offset = random() % pack.bytes().size();
      pack.bytes()[offset] = static_cast<std::byte>(random());
    }
    const auto words = Read(pack);
    EXPECT_TRUE(!words.ok() || (*words)[0] == spirv::kMagic);
  }
}

}  // namespace
}  // namespace spirloom::pack
