// Indices of several libraries: lookup of ops and variants, and conflicts.
#include "runtime/ops/op_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "tests/support/pack_builder.h"

namespace spirloom::ops {
namespace {

using ::spirloom::testing::MakePack;
using ::spirloom::testing::PackBytes;
using ::spirloom::testing::RegistryOf;
using ::spirloom::testing::RegistryOfOps;
using ::testing::HasSubstr;

class OpIndexTest : public ::testing::Test {
 protected:
  PackBytes first_pack_ =
      MakePack({0x10, 0x11}, RegistryOf("first", {"aten.add.Tensor", "aten.mul.Tensor"}));
  PackBytes second_pack_ = MakePack({0x10}, RegistryOf("second", {"aten.mm"}));
  ShaderLibrary first_{"first", first_pack_.bytes()};
  ShaderLibrary second_{"second", second_pack_.bytes()};
};

TEST_F(OpIndexTest, MergesLibraries) {
  const std::array<const ShaderLibrary*, 2> libraries = {&first_, &second_};
  const auto index = OpIndex::Create(libraries);
  ASSERT_TRUE(index.ok()) << index.status().message();
  ASSERT_EQ(index->ops().size(), 3U);
  EXPECT_STREQ(index->ops()[1].op->name, "aten.mm");
  const OpEntry* mm = index->FindOp("aten.mm");
  ASSERT_NE(mm, nullptr);
  EXPECT_EQ(mm->library, 1U);
  EXPECT_EQ(index->FindOp("aten.add.Tensor")->library, 0U);
  EXPECT_EQ(index->FindOp("aten.add"), nullptr);
  EXPECT_EQ(index->FindOp(""), nullptr);
  EXPECT_EQ(index->FindOp("zzz"), nullptr);
}

TEST_F(OpIndexTest, RequiresTheCapabilitiesOfAllVariants) {
  EXPECT_EQ(OpIndex().needs(), 0U);
  first_pack_.variant(1).needs = 0b101;
  second_pack_.variant(0).needs = 0b110;
  Reseal(first_pack_);
  Reseal(second_pack_);
  const std::array<const ShaderLibrary*, 2> libraries = {&first_, &second_};
  const auto index = OpIndex::Create(libraries);
  ASSERT_TRUE(index.ok()) << index.status().message();
  EXPECT_EQ(index->needs(), 0b111U);
}

TEST_F(OpIndexTest, FindsVariantsInTheLibraryOfTheOp) {
  const std::array<const ShaderLibrary*, 2> libraries = {&first_, &second_};
  const auto index = OpIndex::Create(libraries);
  ASSERT_TRUE(index.ok());
  const auto variant = index->FindVariant(*index->FindOp("aten.mul.Tensor"), 0x11);
  ASSERT_TRUE(variant.has_value());
  EXPECT_EQ(variant->name, "variant_1");
  EXPECT_EQ(variant->module.raw_size, 24U);
  EXPECT_EQ(variant->row->key, 0x11U);
  EXPECT_FALSE(index->FindVariant(*index->FindOp("aten.mm"), 0x11).has_value());
}

TEST_F(OpIndexTest, AnEmptyIndexHasNoOps) {
  const auto index = OpIndex::Create({});
  ASSERT_TRUE(index.ok());
  EXPECT_EQ(index->FindOp("aten.mm"), nullptr);
}

TEST_F(OpIndexTest, ReportsTheOpAndBothLibrariesOfAConflict) {
  second_pack_ = MakePack({0x10}, RegistryOf("second", {"aten.mm", "aten.mul.Tensor"}));
  second_.pack = second_pack_.bytes();
  const std::array<const ShaderLibrary*, 2> libraries = {&first_, &second_};
  const Status status = OpIndex::Create(libraries).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "The op 'aten.mul.Tensor' is in two shader libraries, 'first' and 'second'. Remove it "
            "from one of them, or let one override (OVERRIDE when it is built, or "
            "ShaderLibrary::overrides).");
}

TEST_F(OpIndexTest, AnOverridingLibraryTakesPrecedence) {
  PackBytes third_pack = MakePack({0x10}, RegistryOf("third", {"aten.mm", "aten.mul.Tensor"}));
  using Libraries = std::array<const ShaderLibrary*, 3>;
  const ShaderLibrary third{"third", third_pack.bytes(), /*overrides=*/true};
  for (const auto& libraries :
       {Libraries{&first_, &second_, &third}, Libraries{&third, &second_, &first_}}) {
    const auto index = OpIndex::Create(libraries);
    ASSERT_TRUE(index.ok()) << index.status().message();
    const auto library_of = [&](const char* op) -> const std::string& {
      return index->libraries()[index->FindOp(op)->library].library.name;
    };
    ASSERT_EQ(index->ops().size(), 3U);
    EXPECT_EQ(library_of("aten.add.Tensor"), "first");
    EXPECT_EQ(library_of("aten.mm"), "third");
    EXPECT_EQ(library_of("aten.mul.Tensor"), "third");
  }
}

TEST_F(OpIndexTest, APackCanOverride) {
  second_pack_ = MakePack({0x10}, RegistryOf("second", {"aten.mul.Tensor"}, /*overrides=*/true));
  second_.pack = second_pack_.bytes();
  const std::array<const ShaderLibrary*, 2> libraries = {&first_, &second_};
  const auto index = OpIndex::Create(libraries);
  ASSERT_TRUE(index.ok()) << index.status().message();
  EXPECT_EQ(index->FindOp("aten.mul.Tensor")->library, 1U);
  EXPECT_EQ(index->FindOp("aten.add.Tensor")->library, 0U);
}

TEST_F(OpIndexTest, TwoOverridesOfAnOpConflict) {
  second_pack_ = MakePack({0x10}, RegistryOf("second", {"aten.mul.Tensor"}));
  second_.pack = second_pack_.bytes();
  first_.overrides = second_.overrides = true;
  const std::array<const ShaderLibrary*, 2> libraries = {&first_, &second_};
  const Status status = OpIndex::Create(libraries).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "The shader libraries 'first' and 'second' both override the op 'aten.mul.Tensor'. "
            "Remove it from one of them.");
}

TEST_F(OpIndexTest, RejectsNull) {
  const std::array<const ShaderLibrary*, 1> libraries = {nullptr};
  EXPECT_EQ(OpIndex::Create(libraries).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(OpIndexTest, ReportsTheLibraryOfADamagedPack) {
  second_pack_.header().magic = 0;
  const std::array<const ShaderLibrary*, 2> libraries = {&first_, &second_};
  const Status status = OpIndex::Create(libraries).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidFile);
  EXPECT_THAT(status.message(), HasSubstr("While opening the shader library 'second'."));
}

// Numbers of ArgDefault::Kind, then an index of an argument or a value.
TEST(ArgDefaults, AreEarlierArgumentsOrValuesOfTheirType) {
  const auto open = [](const std::vector<std::string>& defaults) {
    PackBytes pack = MakePack(
        {}, RegistryOfOps("own", {{.name = "own.op", .args = {"a", "b"}, .defaults = defaults}}));
    ShaderLibrary library{"own", pack.bytes()};
    const std::array<const ShaderLibrary*, 1> libraries = {&library};
    return OpIndex::Create(libraries).status().message();
  };
  EXPECT_EQ(open({std::string(1, '\0'), "\2" + std::string(1, '\0')}), "");  // b: a
  EXPECT_THAT(open({"\2" + std::string(1, '\0')}),
              HasSubstr("The default of argument 'a' is not an earlier argument of its type."));
  EXPECT_THAT(open({std::string(1, '\0'), "\2\1"}), HasSubstr("The default of argument 'b'"));
  EXPECT_THAT(open({"\1"}), HasSubstr("The tensor 'a' has a default."));
  EXPECT_THAT(open({"\3"}), HasSubstr("out of range"));
}

TEST(DescribeKey, DescribesDTypeStorageAndAxes) {
  KernelInfo kernel{};
  kernel.name = "softmax";
  EXPECT_EQ(DescribeKey(kernel, 0x21), "softmax for dtype f16, storage texture3d");
  EXPECT_EQ(DescribeKey(kernel, 0x0'0000'0010), "softmax for dtype f32, storage buffer");
  EXPECT_EQ(DescribeKey(kernel, 0x7'0000'0310),
            "softmax for dtype f32, storage buffer, further axes 3");
  EXPECT_EQ(DescribeKey(kernel, 0x7'0000'2010),
            "softmax for dtype f32, storage buffer, further axes 0, 2");
}

}  // namespace
}  // namespace spirloom::ops
