// Eval: the results and errors of all operations.
#include "runtime/ops/eval.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <ostream>
#include <string_view>
#include <vector>

#include "runtime/ops/formula_check.h"
#include "runtime/ops/formula_eval.h"

namespace spirloom::ops {

// The format of a list in GoogleTest messages.
static void PrintTo(const Ints& v, std::ostream* out) {
  *out << ToString(Shape(v.begin(), v.end()));
}

namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

// Expects that `expression` (of `eval`) has this value and no error.
#define EXPECT_VALUE(expression, ...)       \
  do {                                      \
    Eval eval;                              \
    const auto spirloom_value = expression; \
    EXPECT_EQ(spirloom_value, __VA_ARGS__); \
    EXPECT_TRUE(eval.ok()) << eval.error(); \
  } while (false)

// Expects that `expression` (of `eval`) fails with this message.
#define EXPECT_FAILS(expression, message) \
  do {                                    \
    Eval eval;                            \
    (void)(expression);                   \
    EXPECT_EQ(eval.error(), message);     \
  } while (false)

TEST(Ints, ContainsAtMost64Values) {
  Ints v;
  for (int64_t i = 0; i < 64; ++i) EXPECT_TRUE(v.Append(i));
  EXPECT_FALSE(v.Append(64));
  EXPECT_EQ(v.size(), 64U);
  EXPECT_EQ(v[63], 63);
  EXPECT_EQ(Ints(std::span<const int64_t>(std::array<int64_t, 70>{})).size(), 64U);
}

TEST(Ints, Compares) {
  EXPECT_EQ((Ints{1, 2}), (Ints{1, 2}));
  EXPECT_FALSE((Ints{1, 2}) == (Ints{1, 3}));
  EXPECT_FALSE((Ints{1, 2}) == (Ints{1, 2, 3}));
}

TEST(Eval, ReportsTheFirstError) {
  Eval eval;
  EXPECT_TRUE(eval.ok());
  eval.Fail("First.");
  eval.Fail("Second.");
  EXPECT_FALSE(eval.ok());
  EXPECT_EQ(eval.error(), "First.");
}

TEST(Eval, AnEmptyMessageIsAnError) {
  Eval eval;
  eval.Fail("");
  EXPECT_FALSE(eval.ok());
}

TEST(Eval, Check) {
  EXPECT_FAILS(eval.Check(true, "x > 0"), "");
  EXPECT_FAILS(eval.Check(false, "x > 0"), "x > 0 does not hold.");
  EXPECT_FAILS(eval.Check(true, "x == y", 3, 4), "");
  EXPECT_FAILS(eval.Check(false, "x == y", 3, 4), "x == y does not hold (3 vs 4).");
}

TEST(Eval, Arithmetic) {
  EXPECT_VALUE(eval.Add(kMax, kMin), -1);
  EXPECT_VALUE(eval.Sub(3, 5), -2);
  EXPECT_VALUE(eval.Mul(-3, 5), -15);
  EXPECT_VALUE(eval.Neg(kMax), -kMax);
  EXPECT_VALUE(eval.Abs(-3), 3);
  EXPECT_FAILS(eval.Add(kMax, 1), "9223372036854775807 + 1 overflows int64.");
  EXPECT_FAILS(eval.Sub(kMin, 1), "-9223372036854775808 - 1 overflows int64.");
  EXPECT_FAILS(eval.Mul(kMax, 2), "9223372036854775807 * 2 overflows int64.");
  EXPECT_FAILS(eval.Neg(kMin), "0 - -9223372036854775808 overflows int64.");
  EXPECT_FAILS(eval.Abs(kMin), "0 - -9223372036854775808 overflows int64.");
}

TEST(Eval, DivisionFloors) {
  EXPECT_VALUE(eval.FloorDiv(7, 2), 3);
  EXPECT_VALUE(eval.FloorDiv(-7, 2), -4);
  EXPECT_VALUE(eval.FloorDiv(7, -2), -4);
  EXPECT_VALUE(eval.FloorDiv(-7, -2), 3);
  EXPECT_VALUE(eval.FloorDiv(-6, 2), -3);
  EXPECT_VALUE(eval.Mod(7, 3), 1);
  EXPECT_VALUE(eval.Mod(-7, 3), 2);
  EXPECT_VALUE(eval.Mod(7, -3), -2);
  EXPECT_VALUE(eval.Mod(-7, -3), -1);
  EXPECT_VALUE(eval.Mod(kMin, -1), 0);
  EXPECT_FAILS(eval.FloorDiv(1, 0), "1 // 0 divides by zero.");
  EXPECT_FAILS(eval.Mod(1, 0), "1 % 0 divides by zero.");
  EXPECT_FAILS(eval.FloorDiv(kMin, -1), "-9223372036854775808 // -1 overflows int64.");
}

TEST(Eval, CeilDivAndRoundUp) {
  EXPECT_VALUE(eval.CeilDiv(7, 4), 2);
  EXPECT_VALUE(eval.CeilDiv(8, 4), 2);
  EXPECT_VALUE(eval.CeilDiv(-7, 4), -1);
  EXPECT_VALUE(eval.CeilDiv(kMax, 1), kMax);
  EXPECT_VALUE(eval.RoundUp(5, 4), 8);
  EXPECT_VALUE(eval.RoundUp(0, 4), 0);
  EXPECT_FAILS(eval.CeilDiv(1, 0), "1 // 0 divides by zero.");
  EXPECT_FAILS(eval.RoundUp(kMax, 4), "2305843009213693952 * 4 overflows int64.");
}

TEST(Eval, ToIntTruncates) {
  EXPECT_VALUE(eval.ToInt(2.9), 2);
  EXPECT_VALUE(eval.ToInt(-2.9), -2);
  EXPECT_VALUE(eval.ToInt(-0x1p63), kMin);
  for (double outside : {0x1p63, -0x1.1p63, double{INFINITY}, double{NAN}}) {
    Eval eval;
    EXPECT_EQ(eval.ToInt(outside), 0);
    EXPECT_FALSE(eval.ok()) << outside;
  }
}

TEST(Eval, IndexCountsFromTheEnd) {
  EXPECT_VALUE(eval.Index({5, 6, 7}, 0), 5);
  EXPECT_VALUE(eval.Index({5, 6, 7}, -1), 7);
  EXPECT_VALUE(eval.Index({5, 6, 7}, -3), 5);
  EXPECT_FAILS(eval.Index({5, 6, 7}, 4), "Index (4) is out of range of a list of 3.");
  EXPECT_FAILS(eval.Index({5, 6, 7}, -4), "Index (-4) is out of range of a list of 3.");
  EXPECT_FAILS(eval.Index({}, 0), "Index (0) is out of range of a list of 0.");
  EXPECT_FAILS(eval.Index({1}, kMin),
               "Index (-9223372036854775808) is out of range of a list of 1.");
}

TEST(Eval, SliceClamps) {
  const Ints v = {1, 2, 3, 4};
  EXPECT_VALUE(eval.Slice(v, 1, 3), (Ints{2, 3}));
  EXPECT_VALUE(eval.Slice(v, -2, kMax), (Ints{3, 4}));
  EXPECT_VALUE(eval.Slice(v, kMin, -1), (Ints{1, 2, 3}));
  EXPECT_VALUE(eval.Slice(v, 3, 1), Ints());
  EXPECT_VALUE(eval.Slice({}, 0, 5), Ints());
}

TEST(Eval, ListsGrowToTheLimit) {
  EXPECT_VALUE(eval.Concat({1}, {2, 3}), (Ints{1, 2, 3}));
  EXPECT_VALUE(eval.Range(3), (Ints{0, 1, 2}));
  EXPECT_VALUE(eval.Range(-3), Ints());
  EXPECT_VALUE(eval.Fill(2, 9), (Ints{9, 9}));
  EXPECT_VALUE(eval.Fill(64, 1).size(), 64U);
  EXPECT_FAILS(eval.Fill(65, 1), "A list grows beyond 64 elements.");
  EXPECT_FAILS(eval.Range(kMax), "A list grows beyond 64 elements.");
  EXPECT_FAILS(eval.Concat(eval.Range(40), eval.Range(25)), "A list grows beyond 64 elements.");
}

TEST(Eval, Reductions) {
  EXPECT_VALUE(eval.Prod({2, 3, 4}), 24);
  EXPECT_VALUE(eval.Prod({}), 1);
  EXPECT_VALUE(eval.Sum({2, 3, 4}), 9);
  EXPECT_VALUE(eval.Sum({}), 0);
  EXPECT_VALUE(eval.Min({3, -1, 2}), -1);
  EXPECT_VALUE(eval.Max({3, -1, 2}), 3);
  EXPECT_FAILS(eval.Prod({kMax, 2}), "9223372036854775807 * 2 overflows int64.");
  EXPECT_FAILS(eval.Sum({kMax, 1}), "9223372036854775807 + 1 overflows int64.");
  EXPECT_FAILS(eval.Min({}), "min() of an empty list.");
  EXPECT_FAILS(eval.Max({}), "max() of an empty list.");
}

TEST(Eval, Padding) {
  EXPECT_VALUE(eval.PadLeft({2, 3}, 4, 1), (Ints{1, 1, 2, 3}));
  EXPECT_VALUE(eval.PadRight({2, 3}, 4, 0), (Ints{2, 3, 0, 0}));
  EXPECT_VALUE(eval.PadLeft({2, 3}, 2, 1), (Ints{2, 3}));
  EXPECT_FAILS(eval.PadLeft({1, 2, 3, 4, 5}, 4, 1), "A list of 5 does not fit 4.");
  EXPECT_FAILS(eval.PadRight({1}, -1, 1), "A list of 1 does not fit -1.");
  EXPECT_FAILS(eval.PadLeft({}, kMax, 1), "A list grows beyond 64 elements.");
}

TEST(Eval, Edits) {
  EXPECT_VALUE(eval.Replace({1, 2, 3}, -1, 9), (Ints{1, 2, 9}));
  EXPECT_VALUE(eval.Insert({1, 2}, 0, 9), (Ints{9, 1, 2}));
  EXPECT_VALUE(eval.Insert({1, 2}, 2, 9), (Ints{1, 2, 9}));
  EXPECT_VALUE(eval.Insert({1, 2}, -1, 9), (Ints{1, 9, 2}));
  EXPECT_VALUE(eval.Remove({1, 2, 3, 4}, {0, -1, 0}), (Ints{2, 3}));
  EXPECT_FAILS(eval.Replace({1}, 1, 9), "Index (1) is out of range of a list of 1.");
  EXPECT_FAILS(eval.Insert({1}, 2, 9), "Index (2) is out of range of a list of 1.");
  EXPECT_FAILS(eval.Insert({1}, -2, 9), "Index (-2) is out of range of a list of 1.");
  EXPECT_FAILS(eval.Remove({1}, {1}), "Index (1) is out of range of a list of 1.");
  EXPECT_FAILS(eval.Insert(eval.Range(64), 3, 9), "A list grows beyond 64 elements.");
}

TEST(Eval, Contains) {
  EXPECT_VALUE(eval.Contains(2, {1, 2}), true);
  EXPECT_VALUE(eval.Contains(3, {1, 2}), false);
}

TEST(Eval, Wrap) {
  EXPECT_VALUE(eval.Wrap(-1, 3), 2);
  EXPECT_VALUE(eval.Wrap(2, 3), 2);
  EXPECT_VALUE(eval.WrapAll({-1, 0}, 3), (Ints{2, 0}));
  EXPECT_FAILS(eval.Wrap(3, 3), "Dim (3) is out of range of rank 3.");
  EXPECT_FAILS(eval.Wrap(-4, 3), "Dim (-4) is out of range of rank 3.");
  EXPECT_FAILS(eval.Wrap(0, 0), "Dim (0) is out of range of rank 0.");
  EXPECT_FAILS(eval.Wrap(0, kMin), "Dim (0) is out of range of rank -9223372036854775808.");
  EXPECT_FAILS(eval.WrapAll({1, -2}, 3), "Dim (1) is repeated.");
}

TEST(Eval, Broadcast) {
  EXPECT_VALUE(eval.Broadcast({2, 3, 5}, {3, 1}), (Ints{2, 3, 5}));
  EXPECT_VALUE(eval.Broadcast({3, 1}, {2, 1, 5}), (Ints{2, 3, 5}));
  EXPECT_VALUE(eval.Broadcast({}, {2}), (Ints{2}));
  EXPECT_VALUE(eval.Broadcast({0}, {1}), (Ints{0}));
  EXPECT_FAILS(eval.Broadcast({2, 3}, {4, 3}), "Shapes [2, 3] and [4, 3] do not broadcast.");
  EXPECT_FAILS(eval.Broadcast({0}, {2}), "Shapes [0] and [2] do not broadcast.");
}

TEST(Eval, Strides) {
  EXPECT_VALUE(eval.Strides({2, 3, 5}), (Ints{15, 5, 1}));
  EXPECT_VALUE(eval.Strides({}), Ints());
  EXPECT_VALUE(eval.Strides({kMax, 1}), (Ints{1, 1}));
  EXPECT_VALUE(eval.BroadcastStrides({3, 1}, {2, 3, 5}), (Ints{0, 1, 0}));
  EXPECT_VALUE(eval.BroadcastStrides({3, 1}, {3, 1}), (Ints{1, 1}));
  EXPECT_FAILS(eval.Strides({1, kMax, 2}), "2 * 9223372036854775807 overflows int64.");
  EXPECT_FAILS(eval.BroadcastStrides({3}, {2}), "Shape [3] does not broadcast to [2].");
  EXPECT_FAILS(eval.BroadcastStrides({1, 1}, {1}), "Shape [1, 1] does not broadcast to [1].");
}

TEST(Eval, TensorLists) {
  const TensorDesc a{.shape = {2, 3}};
  const TensorDesc b{.shape = {4, 3}};
  const std::array<const TensorDesc*, 2> list = {&a, &b};
  EXPECT_VALUE(&eval.At(list, -1), &b);
  EXPECT_VALUE(eval.Alike(list, 0), true);
  EXPECT_VALUE(eval.Alike(list, 1), false);
  EXPECT_VALUE(eval.Alike({}, 0), true);
  EXPECT_VALUE(eval.SumDims(list, 0, 2), 6);
  EXPECT_VALUE(eval.SumDims(list, -1, 1), 3);
  EXPECT_VALUE(eval.SumDims(list, 5, 0), 0);
  EXPECT_VALUE(eval.SumDims(list, 0, -1), 0);
  EXPECT_FAILS(eval.At(list, 2), "Index (2) is out of range of a list of 2.");
  EXPECT_FAILS(eval.SumDims(list, 2, 2), "Index (2) is out of range of a list of 2.");
  EXPECT_FAILS(eval.SumDims(list, 0, kMax), "Index (2) is out of range of a list of 2.");
  const std::array<const TensorDesc*, 1> null = {nullptr};
  EXPECT_FAILS(eval.At(null, 0).shape, "Index (0) is out of range of a list of 1.");
}

TEST(Eval, ToDType) {
  EXPECT_VALUE(eval.ToDType("b8"), DType::kB8);
  EXPECT_FAILS(eval.ToDType("f64"), "'f64' is not a dtype.");
}

TEST(Eval, WritesLittleEndian) {
  Eval eval;
  std::array<std::byte, 16> block{};
  eval.WriteInt(block, 0, -2);
  eval.WriteFloat(block, 4, 1.0);
  eval.WriteInts(block, 8, {1, 258}, 2);
  EXPECT_TRUE(eval.ok()) << eval.error();
  const std::array<uint8_t, 16> expected = {0xfe, 0xff, 0xff, 0xff, 0, 0, 0x80, 0x3f,
                                            1,    0,    0,    0,    2, 1, 0,    0};
  for (size_t i = 0; i < block.size(); ++i) EXPECT_EQ(block[i], std::byte{expected[i]}) << i;
}

TEST(Eval, RejectsWritesOutsideTheBlock) {
  std::array<std::byte, 8> block{};
  const char* outside = "Offset (5) is outside a push-constant block of 8 bytes.";
  EXPECT_FAILS(eval.WriteInt(block, 5, 1), outside);
  EXPECT_FAILS(eval.WriteFloat(block, 5, 1), outside);
  EXPECT_FAILS(eval.WriteInts(block, 4, {1, 2}, 2),
               "Offset (8) is outside a push-constant block of 8 bytes.");
  EXPECT_FAILS(eval.WriteInts(block, 0, {1}, 2), "A list of 1 is not a list of 2.");
}

TEST(Eval, Bits) {
  EXPECT_VALUE(eval.IntBits(-1), 0xffffffffU);
  EXPECT_FAILS(eval.IntBits(int64_t{1} << 31), "The value 2147483648 does not fit int32.");
  EXPECT_FAILS(eval.IntBits(-(int64_t{1} << 31) - 1), "The value -2147483649 does not fit int32.");
  EXPECT_EQ(Eval::FloatBits(0.5), 0x3f000000U);
  EXPECT_EQ(Eval::FloatBits(1e300), 0x7f800000U);  // infinite
}

// The formula of a device property.
std::vector<std::byte> PropertyFormula(std::string_view name) {
  std::vector<std::byte> bytes = {static_cast<std::byte>(Opcode::kDevice),
                                  static_cast<std::byte>(name.size())};
  for (const char c : name) bytes.push_back(static_cast<std::byte>(c));
  bytes.push_back(std::byte{0});
  return bytes;
}

TEST(DeviceProperties, HaveTheirNamesInFormulas) {
  DeviceProperties device;
  device.cores = 7;
  device.is_cpu = true;
  Eval eval;
  const Call call;
  FormulaEvaluator evaluator(eval, {}, call, device);
  for (const auto& [name, value] : {std::pair{"cores", 7}, {"is_cpu", 1}, {"integrated", 0}}) {
    const std::vector<std::byte> formula = PropertyFormula(name);
    EXPECT_TRUE(CheckFormula(formula, {}).ok()) << name;
    EXPECT_EQ(evaluator.Int(formula), value) << name;
  }
  const std::vector<std::byte> unknown = PropertyFormula("speed");
  EXPECT_EQ(CheckFormula(unknown, {}).status().message(),
            "Byte 8 of a formula: device property 'speed' is unknown.");
}

}  // namespace
}  // namespace spirloom::ops
