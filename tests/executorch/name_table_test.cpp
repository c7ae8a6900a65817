#include "integrations/executorch/names/name_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <random>

#include "tests/executorch/program_builder.h"

namespace spirloom::delegate {
namespace {

std::vector<char> Bytes() {
  std::ifstream file(SPIRLOOM_EXECUTORCH_NAMES, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(NameTable, FindsMappingsOfSpecs) {
  const NameTable names = AllNames();
  const auto found = names.Find("et_vk.rms_norm");
  ASSERT_EQ(found.size(), 1U);
  const OpInfo& op = names.op(found[0]);
  EXPECT_EQ(op.name, "aten.rms_norm");
  EXPECT_EQ(op.args[1].name, "normalized_shape");
  ASSERT_EQ(found[0].bindings.size(), 1U);
  EXPECT_EQ(found[0].bindings[0].kind, ArgBindingKind::kShapeOf);
  EXPECT_EQ(found[0].bindings[0].arg, 1U);
  EXPECT_EQ(op.args[3].default_value, Constant(1.1920928955078125e-7));
}

TEST(NameTable, ContainsTheFixedDTypesOfOutputs) {
  const NameTable names = AllNames();
  EXPECT_THAT(names.FindOp("spirloom.choose_qparams")->outputs,
              testing::ElementsAre(DType::kF32, std::nullopt));
}

TEST(NameTable, DistinguishesMappingsByRank) {
  const NameTable names = AllNames();
  const auto found = names.Find("aten.convolution");
  ASSERT_GE(found.size(), 4U);
  for (const OpMapping& mapping : found) EXPECT_TRUE(mapping.rank.has_value());
}

TEST(NameTable, SeveralOpsMayComputeACall) {
  const NameTable names = AllNames();
  const auto found = names.Find("sdpa_with_kv_cache");
  ASSERT_EQ(found.size(), 3U);
  for (uint32_t part = 0; part < 3; ++part) {
    EXPECT_EQ(found[part].part, part);
    EXPECT_EQ(found[part].parts, 3U);
  }
  EXPECT_EQ(names.op(found[0]).name, "spirloom.cache_update");
  EXPECT_EQ(MutatedArg(found[0]), 3U);
  EXPECT_EQ(MutatedArg(found[1]), 4U);
  EXPECT_EQ(names.op(found[2]).name, "spirloom.cached_attention");
  EXPECT_EQ(MutatedArg(found[2]), std::nullopt);
  EXPECT_EQ(names.op(found[2]).args[3].dtype, DType::kI32);  // positions
}

TEST(NameTable, ReturnsNothingForUnknownNames) {
  EXPECT_TRUE(AllNames().Find("aten.no_such").empty());
  EXPECT_EQ(AllNames().FindOp("aten.no_such"), nullptr);
}

TEST(NameTable, RejectsTruncatedAndLongerTables) {
  const std::vector<char> bytes = Bytes();
  for (size_t size = 0; size < bytes.size(); size += size < 200 ? 1 : 97) {
    EXPECT_FALSE(NameTable::Read(std::as_bytes(std::span(bytes).first(size))).ok()) << size;
  }
  std::vector<char> longer = bytes;
  longer.push_back(0);
  EXPECT_FALSE(NameTable::Read(std::as_bytes(std::span(longer))).ok());
}

TEST(NameTable, SurvivesDamage) {
  std::mt19937 random(1);
  const std::vector<char> bytes = Bytes();
  for (int i = 0; i < 2000; ++i) {
    std::vector<char> damaged = bytes;
    damaged[random() % damaged.size()] = static_cast<char>(random());
    const auto names = NameTable::Read(std::as_bytes(std::span(damaged)));
    if (!names.ok()) continue;
    for (const OpMapping& mapping : names->Find("aten.convolution")) {
      EXPECT_FALSE(names->op(mapping).args.empty());
    }
  }
}

}  // namespace
}  // namespace spirloom::delegate
