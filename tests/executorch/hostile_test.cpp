// Programs with extreme ints and sizes are refused or lowered, without overflow and within a budget
// of memory. Undefined behavior is detected in builds with sanitizers, SIGFPE in all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>

#include "integrations/executorch/lower/lowering.h"
#include "tests/executorch/program_builder.h"

namespace spirloom::delegate {
namespace {

using testing::HasSubstr;

constexpr std::array kExtremes = {INT64_MIN, INT64_MIN + 1, int64_t{-1}, int64_t{0}, INT64_MAX};

Result<Lowered> LowerOnce(ProgramBuilder& builder) {
  SPIRLOOM_TRY_ASSIGN(const Program program, builder.Read());
  static const NameTable names = AllNames();
  return Lower(program, names);
}

std::string LoweringErrorOf(ProgramBuilder& builder) {
  return LowerOnce(builder).status().message();
}

TEST(HostileProgram, ArithmeticWithExtremeInts) {
  for (const char* name : {"add", "sub", "mul", "floordiv"}) {
    for (const int64_t other : kExtremes) {
      for (const int64_t result : kExtremes) {
        ProgramBuilder builder;
        const int32_t n = builder.AddSymInt(), int_arg = builder.AddInt(other);
        builder.AddCall(name, {n, int_arg, builder.AddInt(result)});
        builder.AddCall(name, {int_arg, n, builder.AddSymInt()});
        builder.graph.inputs = {static_cast<uint32_t>(n)};
        EXPECT_FALSE(LowerOnce(builder).ok());  // the result of the first call is no symbolic int
      }
    }
  }
}

TEST(HostileProgram, SplitsBeyondTheRangeOfInts) {
  ProgramBuilder builder;
  const int32_t x = builder.AddTensor({4});
  const int32_t parts = builder.AddList({builder.AddTensor({2}), builder.AddTensor({2})});
  builder.AddCall("aten.split_with_sizes_copy", {x, builder.AddInts({INT64_MAX, 1}), parts});
  builder.graph.inputs = {static_cast<uint32_t>(x)};
  EXPECT_THAT(LoweringErrorOf(builder), HasSubstr("its size (1) is not a size"));
}

TEST(HostileProgram, ArangeWithAnExtremeStep) {
  ProgramBuilder builder;
  const int32_t n = builder.AddSymInt(), y = builder.AddTensor({4});
  builder.AddCall("aten.arange.start_step", {n, builder.AddInt(4), builder.AddDouble(1e300), y});
  builder.graph.inputs = {static_cast<uint32_t>(n)};
  EXPECT_THAT(LoweringErrorOf(builder), HasSubstr("expected a positive integer step"));
}

TEST(HostileProgram, EmptyTensorsOfHugeSizes) {
  ProgramBuilder builder;
  builder.AddTensor({0, UINT32_MAX, UINT32_MAX});
  EXPECT_THAT(LoweringErrorOf(builder), HasSubstr("has more than 2147483647 elements"));
}

// Constants that a program does not contain have one budget.
TEST(HostileProgram, GridsBeyondTheBudget) {
  const auto grids = [](int count, uint32_t side) {
    ProgramBuilder builder;
    const int32_t x = builder.AddTensor({side, side});
    builder.graph.inputs = {static_cast<uint32_t>(x)};
    for (int i = 0; i < count; ++i) {
      const int32_t y = builder.AddTensor({side * side, 2});
      builder.AddCall("et_vk.grid_priors", {x, builder.AddInt(8), builder.AddDouble(0.5), y});
      builder.graph.outputs.push_back(static_cast<uint32_t>(y));
    }
    return LoweringErrorOf(builder);
  };
  EXPECT_EQ(grids(8, 512), "");
  EXPECT_THAT(grids(9, 512), HasSubstr("have 16777216 + 2097152 bytes"));
  EXPECT_THAT(grids(1, 4096), HasSubstr("have 0 + 134217728 bytes"));
}

// Equal tables are one constant, so that many calls need no more memory than one.
TEST(HostileProgram, TablesOfManyCallsAreShared) {
  ProgramBuilder builder;
  const int32_t x = builder.AddTensor({1 << 20}), n = builder.AddSymInt();
  builder.graph.inputs = {static_cast<uint32_t>(x)};
  builder.AddCall("sym_size.int", {x, builder.AddInt(0), n});
  for (int i = 0; i < 20; ++i) {
    const int32_t y = builder.AddTensor({1 << 20});
    builder.AddCall("aten.arange.start_step", {builder.AddInt(0), n, builder.AddInt(1), y});
  }
  Result<Lowered> lowered = LowerOnce(builder);
  ASSERT_TRUE(lowered.ok()) << lowered.status().message();
  size_t bytes = 0;
  for (const auto& buffer : lowered->graph.buffers) bytes += buffer.size();
  EXPECT_LT(bytes, size_t{6} << 20);
}

}  // namespace
}  // namespace spirloom::delegate
