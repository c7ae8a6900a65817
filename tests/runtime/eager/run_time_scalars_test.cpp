// Which floats of operators only reach push constants.
#include "runtime/eager/run_time_scalars.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>

namespace spirloom::eager {
namespace {

using ::testing::ElementsAre;

constexpr std::byte kArg{static_cast<uint8_t>(ops::Opcode::kArg)};
constexpr std::array<std::byte, 2> kFirst{kArg, std::byte{0}};
constexpr std::array<std::byte, 2> kSecond{kArg, std::byte{1}};
constexpr std::array<std::byte, 3> kNegatedSecond{
    std::byte{static_cast<uint8_t>(ops::Opcode::kNegF)}, kArg, std::byte{1}};

// An operator with two floats, whose kernel has them as push constants.
ops::OpInfo Operator() {
  ops::OpInfo op;
  op.args.resize(2);
  for (ops::ArgInfo& arg : op.args) arg.type = ops::ArgType::kFloat;
  ops::KernelInfo kernel;
  kernel.push = {{.offset = 8, .count = 0, .value = kFirst, .kind = ops::ValueKind::kFloat},
                 {.offset = 16, .count = 0, .value = kSecond, .kind = ops::ValueKind::kFloat}};
  op.kernels = {kernel};
  return op;
}

TEST(RunTimeScalars, FindsPushConstants) {
  const ops::OpInfo op = Operator();
  const std::vector<bool> scalars = FindRunTimeScalars(op);
  EXPECT_THAT(scalars, ElementsAre(true, true));
  const auto pushed = PushedScalarsOf(op.kernels[0], DType::kI32, scalars);
  ASSERT_TRUE(pushed.has_value());
  ASSERT_EQ(pushed->size(), 2u);
  EXPECT_EQ((*pushed)[1].argument, 1u);
  EXPECT_EQ((*pushed)[1].offset, 16u);
}

// float_bits(number) if <condition> else <int>
TEST(RunTimeScalars, FindsNumbersOfFloatVariants) {
  const std::byte opcode{static_cast<uint8_t>(ops::Opcode::kIf)};
  const std::byte bits{static_cast<uint8_t>(ops::Opcode::kFloatBits)};
  const std::byte no{0};
  const std::array number{opcode, no,           no,           std::byte{3}, bits,
                          kArg,   std::byte{1}, std::byte{2}, no,           no};
  const std::array conditional{opcode, kArg,         std::byte{1}, std::byte{3}, bits,
                               kArg,   std::byte{1}, std::byte{2}, no,           no};
  ops::OpInfo op = Operator();
  op.kernels[0].push[1] = {.offset = 16, .count = 0, .value = number, .kind = ops::ValueKind::kInt};
  const std::vector<bool> scalars = FindRunTimeScalars(op);
  EXPECT_THAT(scalars, ElementsAre(true, true));
  const auto pushed = PushedScalarsOf(op.kernels[0], DType::kF16, scalars);
  ASSERT_TRUE(pushed.has_value());
  EXPECT_EQ(pushed->size(), 2u);
  EXPECT_FALSE(PushedScalarsOf(op.kernels[0], DType::kI32, scalars).has_value());
  op.kernels[0].push[1].value = conditional;
  EXPECT_THAT(FindRunTimeScalars(op), ElementsAre(true, false));
}

TEST(RunTimeScalars, LeavesOutArgumentsOfOtherFormulas) {
  for (int place = 0; place < 8; ++place) {
    ops::OpInfo op = Operator();
    ops::KernelInfo& kernel = op.kernels[0];
    if (place == 0) kernel.when = kNegatedSecond;
    if (place == 1) kernel.prefer = kNegatedSecond;
    if (place == 2) kernel.grid[1] = kNegatedSecond;
    if (place == 3) kernel.constants.emplace_back().value = kSecond;
    if (place == 4) kernel.push[1].value = kNegatedSecond;
    if (place == 5) op.steps.emplace_back().condition = kNegatedSecond;
    if (place == 6) op.outputs.emplace_back().shape = kSecond;
    if (place == 7) op.lets.emplace_back().value = kSecond;
    EXPECT_THAT(FindRunTimeScalars(op), ElementsAre(true, false)) << place;
  }
}

TEST(RunTimeScalars, LeavesOutOtherTypes) {
  ops::OpInfo op = Operator();
  op.args[0].type = ops::ArgType::kInt;
  op.kernels[0].push[1].kind = ops::ValueKind::kInt;
  EXPECT_THAT(FindRunTimeScalars(op), ElementsAre(false, false));
}

}  // namespace
}  // namespace spirloom::eager
