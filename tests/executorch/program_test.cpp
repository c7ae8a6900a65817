#include "integrations/executorch/blob/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/executorch/program_builder.h"

namespace spirloom::delegate {
namespace {

using testing::HasSubstr;

std::string ReadingErrorOf(ProgramBuilder& builder, const std::vector<std::byte>& constants = {}) {
  return builder.Read(constants).status().message();
}

TEST(Program, Reads) {
  ProgramBuilder builder;
  const int32_t x = builder.AddTensor({2, 3}), y = builder.AddTensor({2, 3});
  builder.AddCall("aten.relu.default", {x, y});
  builder.graph.inputs = {0};
  builder.graph.outputs = {1};
  const Result<Program> program = builder.Read();
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_EQ(program->calls[0].name, "aten.relu");
  EXPECT_EQ(program->calls[0].args, (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(std::get<TensorValue>(program->values[0]).shape, (Shape{2, 3}));
}

TEST(Program, RejectsAnotherVersion) {
  ProgramBuilder builder;
  builder.graph.version = "1";
  EXPECT_THAT(ReadingErrorOf(builder), HasSubstr("Version '1' of the delegate's graph differs"));
}

TEST(Program, RejectsMalformedGraphs) {
  ProgramBuilder builder;
  builder.AddTensor({2});
  std::vector<std::byte> graph = builder.Graph();
  graph[0] = std::byte{0xf0};
  const auto none = [](std::string_view) -> std::optional<std::span<const std::byte>> {
    return std::nullopt;
  };
  EXPECT_THAT(ReadProgram({graph, {}}, none).status().message(),
              HasSubstr("verification as 'VK00'"));
}

TEST(Program, RejectsValueIndicesOutOfRange) {
  ProgramBuilder builder;
  builder.AddCall("aten.relu", {0, 1});
  EXPECT_THAT(ReadingErrorOf(builder), HasSubstr("Value index (0) is out of range of 0 values."));
  ProgramBuilder negative;
  negative.AddTensor({});
  negative.AddCall("aten.relu", {-1, 0});
  EXPECT_THAT(ReadingErrorOf(negative), HasSubstr("Value index (-1) is out of range of 1 values."));
}

TEST(Program, RejectsCallsWithoutAResult) {
  ProgramBuilder builder;
  builder.AddCall("aten.relu", {});
  EXPECT_THAT(ReadingErrorOf(builder), HasSubstr("The call of 'aten.relu' has no result."));
}

TEST(Program, RejectsNestedLists) {
  ProgramBuilder builder;
  builder.AddList({0});
  EXPECT_THAT(ReadingErrorOf(builder), HasSubstr("A list of values contains value 0, a list."));
}

TEST(Program, RejectsConstantsOutOfRange) {
  ProgramBuilder builder;
  builder.AddConstant(4, 8);
  builder.AddTensor({2}, vk::ElementType::F32, 0);
  const std::vector<std::byte> bytes(12);
  EXPECT_TRUE(builder.Read(bytes).ok());
  EXPECT_THAT(ReadingErrorOf(builder, std::vector<std::byte>(11)),
              HasSubstr("exceeds the constant data"));
}

TEST(Program, RejectsConstantsThatAreTooShort) {
  ProgramBuilder builder;
  builder.AddConstant(0, 8);
  builder.AddTensor({3}, vk::ElementType::F32, 0);
  EXPECT_THAT(ReadingErrorOf(builder, std::vector<std::byte>(8)),
              HasSubstr("Constant 0 has 8 bytes; its tensor of float32[3] requires 12."));
}

TEST(Program, ReadsNamedConstants) {
  ProgramBuilder builder;
  builder.AddConstant(UINT64_MAX, 4, "weights");
  EXPECT_THAT(ReadingErrorOf(builder), HasSubstr("The program has no data named 'weights'."));
  builder.named.resize(4);
  EXPECT_TRUE(builder.Read().ok());
}

TEST(Program, RejectsTensorsBeyondTheLimits) {
  ProgramBuilder large;
  large.AddTensor({65536, 65536, 65536});
  EXPECT_THAT(ReadingErrorOf(large), HasSubstr("has more than 2147483647 elements"));
  ProgramBuilder deep;
  deep.AddTensor({1, 1, 1, 1, 1, 1, 1, 1, 1});
  EXPECT_THAT(ReadingErrorOf(deep), HasSubstr("A tensor has 9 dims; the maximum is 8."));
  ProgramBuilder odd;
  odd.AddTensor({1}, static_cast<vk::ElementType>(9));
  EXPECT_THAT(ReadingErrorOf(odd), HasSubstr("Element type (9) is not one of 0 to 7."));
}

TEST(Program, RejectsConstantIntInputs) {
  ProgramBuilder builder;
  builder.AddInt(3);
  builder.graph.inputs = {0};
  EXPECT_THAT(ReadingErrorOf(builder), HasSubstr("is neither a tensor nor a symbolic int"));
}

}  // namespace
}  // namespace spirloom::delegate
