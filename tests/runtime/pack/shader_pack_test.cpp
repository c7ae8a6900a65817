// The pack reader, with valid, truncated and modified packs.
#include "runtime/pack/shader_pack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>

#include "compiler/pack/pack_writer.h"
#include "runtime/pack/spirv_words.h"
#include "tests/support/pack_builder.h"
#include "tests/value_of.h"

namespace spirloom::pack {
namespace {

using ::spirloom::testing::MakePack;
using ::spirloom::testing::PackBytes;
using ::spirloom::testing::RegistryOf;
using ::testing::HasSubstr;

PackBytes GoodPack() { return MakePack({3, 7, uint64_t{1} << 32}, RegistryOf("test", {})); }

Status OpenStatus(PackBytes& pack, PackCheck check = PackCheck::kStructure) {
  return ShaderPack::Open(pack.bytes(), check).status();
}

// Expects that the pack, modified by `alter`, is rejected with a message that contains `text`.
template <typename Alter>
void ExpectRejected(const Alter& alter, const std::string& text,
                    StatusCode code = StatusCode::kInvalidFile) {
  PackBytes pack = GoodPack();
  alter(pack);
  const Status status = OpenStatus(pack);
  EXPECT_EQ(status.code(), code) << status.message();
  EXPECT_THAT(status.message(), HasSubstr(text));
}

TEST(ShaderPack, ReadsVariantsAndModules) {
  PackBytes bytes = GoodPack();
  const auto pack = ShaderPack::Open(bytes.bytes(), PackCheck::kContent);
  ASSERT_TRUE(pack.ok()) << pack.status().message();
  EXPECT_EQ(pack->registry().size(), pack->header().registry_size);
  ASSERT_EQ(pack->variants().size(), 3U);
  const VariantRow* row = pack->Find(7);
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(pack->Name(*row), "variant_1");
  const std::vector<uint32_t> words = ValueOf(pack->ReadSpirv(*row));
  EXPECT_EQ(words.size(), 6U);
  EXPECT_EQ(words[0], 0x07230203U);
  EXPECT_EQ(pack->Find(8), nullptr);
  EXPECT_EQ(pack->Find(~uint64_t{0}), nullptr);
}

TEST(ShaderPack, ReadsAnEmptyPack) {
  PackBytes bytes = MakePack({}, RegistryOf("test", {}));
  const auto pack = ShaderPack::Open(bytes.bytes(), PackCheck::kContent);
  ASSERT_TRUE(pack.ok()) << pack.status().message();
  EXPECT_TRUE(pack->variants().empty());
  EXPECT_EQ(pack->Find(0), nullptr);
}

TEST(ShaderPack, ReadsPacksOfTheCompiler) {
  compiler::Variant a;
  a.id = "a_f32_buffer";
  a.key = 5;
  compiler::Variant b = a;
  b.id = "b_f32_buffer";
  b.key = 6;
  b.needs = 3;
  const std::vector<uint32_t> words = {0x07230203, 0x00010300, 0, 1, 0, 42};
  const auto written = compiler::WritePack("ops", {{&a, words}, {&b, words}});
  ASSERT_TRUE(written.ok()) << written.status().message();
  PackBytes bytes(written->bytes.size());
  std::ranges::copy(std::as_bytes(std::span(written->bytes)), bytes.bytes().begin());
  const auto pack = ShaderPack::Open(bytes.bytes(), PackCheck::kContent);
  ASSERT_TRUE(pack.ok()) << pack.status().message();
  EXPECT_EQ(pack->modules().size(), 1U);
  ASSERT_NE(pack->Find(6), nullptr);
  EXPECT_EQ(pack->Find(6)->needs, 3U);
  EXPECT_EQ(pack->Name(*pack->Find(6)), "b_f32_buffer");
  EXPECT_EQ(ValueOf(pack->ReadSpirv(*pack->Find(5))).back(), 42U);
}

TEST(ShaderPack, RejectsInvalidHeaders) {
  ExpectRejected([](PackBytes& p) { p.header().magic = 1; },
                 "do not begin with the magic number of a shader pack");
  const std::string later = std::to_string(kPackVersion + 1);
  ExpectRejected([](PackBytes& p) { p.header().version = kPackVersion + 1; },
                 "version " + later + "; this build reads " + std::to_string(kPackVersion),
                 StatusCode::kUnsupported);
  ExpectRejected([](PackBytes& p) { p.header().size -= 4; }, "header contains the size");
  ExpectRejected([](PackBytes& p) { p.header().variants_offset += 8; },
                 "variant table starts at byte 72, which is not a multiple of 64");
  ExpectRejected([](PackBytes& p) { p.header().modules_offset = 0; }, "module table starts");
  ExpectRejected([](PackBytes& p) { p.header().variant_count = 0xffffffff; },
                 "variant table (274877906880 bytes at 64) exceeds the pack");
  ExpectRejected([](PackBytes& p) { p.header().strings_offset = 0xffffffc0; }, "string table");
}

TEST(ShaderPack, RejectsInvalidModules) {
  ExpectRejected([](PackBytes& p) { p.module(0).codec = 7; }, "codec 7", StatusCode::kUnsupported);
  ExpectRejected([](PackBytes& p) { p.module(0).offset += 2; }, "not a multiple of 4");
  ExpectRejected([](PackBytes& p) { p.module(0).offset = ~uint64_t{3}; }, "exceeds the pack");
  ExpectRejected([](PackBytes& p) { p.module(0).size = p.module(0).raw_size = 28; },
                 "exceeds the pack");
  ExpectRejected([](PackBytes& p) { p.module(0).raw_size = 20; }, "24 bytes stored and 20 raw");
  ExpectRejected([](PackBytes& p) { p.module(0).size = p.module(0).raw_size = 16; }, "at least 20");
  ExpectRejected([](PackBytes& p) { p.module(0).offset -= 64; }, "is not SPIR-V");
}

TEST(ShaderPack, RejectsInvalidVariants) {
  ExpectRejected([](PackBytes& p) { p.variant(1).key = 3; },
                 "Variant 1 of the shader pack is out of order: its key (3) follows 3.");
  ExpectRejected([](PackBytes& p) { p.variant(0).name = 33; }, "name at byte 33");
  ExpectRejected([](PackBytes& p) { p.variant(0).name += 9; }, "is named ''");
  for (const char byte : {'/', '.', 'A', ' ', '\x1b', '\xff'}) {
    const auto alter = [byte](PackBytes& p) {
      p.bytes()[p.header().strings_offset + 3] = static_cast<std::byte>(byte);
    };
    ExpectRejected(alter, "Variant 0 of the shader pack is named 'var");
  }
  ExpectRejected([](PackBytes& p) { p.variant(0).module = 1; }, "uses module 1; the pack has 1.");
  ExpectRejected([](PackBytes& p) { p.variant(0).binding_count = 17; }, "17 bindings");
  ExpectRejected([](PackBytes& p) { p.variant(0).constant_count = 13; }, "13 constants");
  ExpectRejected([](PackBytes& p) { p.variant(0).push_bytes = 132; }, "132 push-constant bytes");
  ExpectRejected([](PackBytes& p) { p.variant(0).push_bytes = 6; }, "6 push-constant bytes");
  ExpectRejected([](PackBytes& p) { p.variant(0).workgroup[2] = 0; }, "workgroup of size 0");
  ExpectRejected([](PackBytes& p) { p.variant(0).bindings[1] = 5; }, "binding 1 of unknown type 5");
}

TEST(ShaderPack, RejectsInvalidTargets) {
  for (uint8_t minor : {uint8_t{0}, uint8_t{4}, uint8_t{255}}) {
    ExpectRejected([=](PackBytes& p) { p.variant(1).vulkan_minor = minor; },
                   "Variant 1 of the shader pack requires Vulkan 1." + std::to_string(minor) +
                       "; expected 1.1 to 1.3.");
  }
  // The module's second word is its SPIR-V version.
  const auto set_version = [](PackBytes& p, uint32_t version) {
    std::memcpy(p.bytes().data() + p.module(0).offset + 4, &version, sizeof(version));
  };
  ExpectRejected([&](PackBytes& p) { set_version(p, 0x00010500); },
                 "requires Vulkan 1.1, which supports SPIR-V up to 1.3; its module is SPIR-V 1.5.");
  PackBytes newer = GoodPack();
  for (size_t i = 0; i < newer.header().variant_count; ++i) newer.variant(i).vulkan_minor = 2;
  set_version(newer, 0x00010500);
  EXPECT_TRUE(OpenStatus(newer).ok()) << OpenStatus(newer).message();
}

TEST(ShaderPack, RejectsAnUnterminatedName) {
  ExpectRejected([](PackBytes& p) { p.header().strings_size -= 1; }, "where no string ends");
}

TEST(ShaderPack, RejectsAMisalignedAddress) {
  PackBytes pack = GoodPack();
  const Status status = ShaderPack::Open(pack.bytes().subspan(4), PackCheck::kStructure).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
}

TEST(ShaderPack, RejectsEveryTruncation) {
  PackBytes pack = GoodPack();
  for (size_t size = 0; size < pack.bytes().size(); ++size) {
    EXPECT_FALSE(ShaderPack::Open(pack.bytes().first(size), PackCheck::kStructure).ok()) << size;
    if (size < sizeof(PackHeader)) continue;
    PackBytes shorter(size);
    std::ranges::copy(pack.bytes().first(size), shorter.bytes().begin());
    shorter.header().size = size;  // a consistent, wrong size
    EXPECT_FALSE(OpenStatus(shorter).ok()) << size;
  }
}

TEST(ShaderPack, ContentDigestDetectsEveryModifiedByte) {
  for (size_t i = sizeof(PackHeader); i < GoodPack().bytes().size(); ++i) {
    PackBytes pack = GoodPack();
    pack.bytes()[i] ^= std::byte{1};
    EXPECT_FALSE(OpenStatus(pack, PackCheck::kContent).ok()) << i;
  }
}

// For arbitrary bytes, Open() fails or all accessors stay within the pack (checked by asan builds).
TEST(ShaderPack, SurvivesRandomDamage) {
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    PackBytes pack = GoodPack();
    for (int k = 0; k < 1 + round % 3; ++k) {
      const size_t offset = random() % pack.bytes().size();
      pack.bytes()[offset] = static_cast<std::byte>(random() % 3 == 0 ? 0xff : random());
    }
    const auto opened = ShaderPack::Open(pack.bytes(), PackCheck::kStructure);
    if (!opened.ok()) continue;
    for (const VariantRow& row : opened->variants()) {
      EXPECT_LT(opened->Name(row).size(), pack.bytes().size());
      const auto words = opened->ReadSpirv(row);
      EXPECT_TRUE(!words.ok() || (*words)[0] == spirv::kMagic);
      EXPECT_EQ(opened->Find(row.key), &row);
    }
  }
}

}  // namespace
}  // namespace spirloom::pack
