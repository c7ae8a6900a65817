// What a registry says of its ops as a whole: what readers refuse, one flaw at a time.
#include "runtime/ops/op_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "runtime/ops/formula_check.h"
#include "runtime/ops/op_index.h"
#include "tests/unit/runtime/pack_builder.h"

namespace spirloom::ops {
namespace {

using ::spirloom::testing::MakePack;
using ::spirloom::testing::PackBytes;
using ::spirloom::testing::PackedKernel;
using ::spirloom::testing::PackedOp;
using ::spirloom::testing::PackedOperand;
using ::spirloom::testing::RegistryOfOps;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const PackedOperand kInput{.name = "x"};
const PackedOperand kResult{.name = "y", .output = true, .access = Access::kWrite};

PackedOp GoodOp(const std::string& name = "test.op") {
  return {.name = name, .args = {"x"}, .kernels = {{"kernel", {kInput, kResult}}}};
}

PackedOp PackingWith(const std::string& name, const std::string& pack_op) {
  PackedOp op = GoodOp(name);
  op.kernels[0].operands[0].pack_op = pack_op;
  return op;
}

Status Open(std::initializer_list<std::vector<PackedOp>> libraries) {
  std::vector<PackBytes> packs;
  for (const std::vector<PackedOp>& ops : libraries) {
    packs.push_back(MakePack({0x10}, RegistryOfOps("library", ops)));
  }
  std::vector<ShaderLibrary> named;
  for (PackBytes& pack : packs) named.push_back({"library", pack.bytes()});
  std::vector<const ShaderLibrary*> all;
  for (const ShaderLibrary& library : named) all.push_back(&library);
  return OpIndex::Create(all).status();
}

std::string Refusal(const PackedOp& op) {
  const Status status = Open({{op}});
  EXPECT_EQ(status.code(), StatusCode::kInvalidFile);
  return status.message();
}

TEST(CheckOp, TakesAGoodOne) {
  const Status status = Open({{GoodOp()}});
  EXPECT_TRUE(status.ok()) << status.message();
  PackedOp view = GoodOp();
  view.view_of = 1;
  EXPECT_TRUE(Open({{view}}).ok());
}

TEST(CheckOp, AViewHasOneOutput) {
  PackedOp op = GoodOp();
  op.view_of = 1;
  op.outputs = 2;
  PackedOperand second = kResult;
  second.index = 1;
  op.kernels[0].operands.push_back(second);
  EXPECT_THAT(Refusal(op), StartsWith("It is a view with 2 outputs; a view has one.\n"
                                      " - While reading the op 'test.op'."));
  op.view_of = 0;
  EXPECT_TRUE(Open({{op}}).ok());
}

TEST(CheckOp, AViewIsOfATensor) {
  PackedOp op = GoodOp();
  op.view_of = 2;
  EXPECT_THAT(Refusal(op), HasSubstr("It is a view of argument 1, which is no tensor."));
}

TEST(CheckOp, AnUpdatedTensorIsTheOutputAlone) {
  PackedOp op = GoodOp();
  op.args = {"x", "part"};
  op.updates = {1};
  EXPECT_THAT(Refusal(op), StartsWith("Operand 'x' is bound, but updated: it is the output."));
  op.kernels[0].operands[0].index = 1;
  EXPECT_TRUE(Open({{op}}).ok());
  op.updates = {3};
  EXPECT_THAT(Refusal(op), StartsWith("It updates argument 2, which is no tensor."));
  op.updates = {1};
  op.kernels[0].operands[1].storage = Storage::kTexture3D;
  EXPECT_THAT(Refusal(op), StartsWith("Operand 'y' is an updated tensor, but no buffer."));
  op = GoodOp();
  op.updates = {1};
  op.view_of = 1;
  EXPECT_THAT(Refusal(op), StartsWith("It updates an argument, but is a view."));
}

TEST(CheckOp, EveryKernelWritesEveryOutput) {
  PackedOp op = GoodOp();
  op.outputs = 2;
  EXPECT_THAT(Refusal(op), StartsWith("Output 1 of 2 is written by no operand.\n"
                                      " - While checking the kernel 'kernel'."));
  op = GoodOp();
  op.kernels.push_back({"second", {kInput}});
  EXPECT_THAT(Refusal(op), StartsWith("Output 0 of 1 is written by no operand.\n"
                                      " - While checking the kernel 'second'."));
  op = GoodOp();
  op.kernels.push_back({"left_out", {}});
  EXPECT_TRUE(Open({{op}}).ok());
  op = GoodOp();
  op.kernels[0].operands[1].access = Access::kRead;
  EXPECT_THAT(Refusal(op), HasSubstr("Output 0 of 1 is written by no operand."));
  op.kernels[0].operands[1].access = Access::kReadWrite;
  EXPECT_TRUE(Open({{op}}).ok());
}

TEST(CheckOp, ArgumentsAreReadOnly) {
  for (const Access access : {Access::kWrite, Access::kReadWrite}) {
    PackedOp op = GoodOp();
    op.kernels[0].operands[0].access = access;
    EXPECT_THAT(Refusal(op), HasSubstr("Operand 'x' is written, but an argument"));
  }
}

TEST(CheckOp, OperandsAreTensorsThatThereAre) {
  PackedOp op = GoodOp();
  op.kernels[0].operands[0].index = 1;
  EXPECT_THAT(Refusal(op), HasSubstr("Operand 'x' is number 1 of 1 arguments."));
  op = GoodOp();
  op.kernels[0].operands[1].index = 1;
  EXPECT_THAT(Refusal(op), HasSubstr("Operand 'y' is number 1 of 1 outputs."));
  op = GoodOp();
  op.kernels[0].operands[1].pack_op = "test.pack";
  EXPECT_THAT(Refusal(op), HasSubstr("Operand 'y' is packed, but no tensor argument."));
}

TEST(CheckOp, NamesArePrintable) {
  for (const std::string name : {"", "two words", "tab\t", "\x1b[2J", "caf\xc3\xa9", "\xff"}) {
    PackedOp op = GoodOp(name);
    EXPECT_THAT(Refusal(op), StartsWith("The name of the op is empty, or")) << name;
    op = GoodOp();
    op.short_name = name;
    EXPECT_THAT(Refusal(op), StartsWith("The name of the op in ids is empty, or")) << name;
    op = GoodOp();
    op.args[0] = name;
    EXPECT_THAT(Refusal(op), StartsWith("The name of an argument is empty, or")) << name;
    op = GoodOp();
    op.kernels[0].name = name;
    EXPECT_THAT(Refusal(op), StartsWith("The name of a kernel is empty, or")) << name;
    op = GoodOp();
    op.kernels[0].operands[0].name = name;
    EXPECT_THAT(Refusal(op), StartsWith("The name of an operand is empty, or")) << name;
    if (name.empty()) continue;
    EXPECT_THAT(Refusal(PackingWith("test.op", name)),
                StartsWith("The name of a packing op is empty, or"))
        << name;
  }
  EXPECT_THAT(Refusal(GoodOp("\x1b[2J")), HasSubstr("While reading the op '?[2J'."));
}

TEST(CheckPacking, EndsAfterAFewSteps) {
  EXPECT_TRUE(Open({{PackingWith("test.a", "test.b")}}).ok());  // b may be in a library to come
  EXPECT_TRUE(
      Open({{PackingWith("test.a", "test.b"), PackingWith("test.b", "test.c"),
             PackingWith("test.c", "test.d"), PackingWith("test.d", "test.e"), GoodOp("test.e")}})
          .ok());
  const Status status = Open({{PackingWith("test.a", "test.b"), PackingWith("test.b", "test.c"),
                               PackingWith("test.c", "test.d"), PackingWith("test.d", "test.e"),
                               PackingWith("test.e", "test.f"), GoodOp("test.f")}});
  EXPECT_EQ(status.code(), StatusCode::kInvalidFile);
  EXPECT_EQ(status.message(),
            "The op 'test.a' packs an operand by way of itself, or in more than 4 steps.");
}

TEST(CheckPacking, FindsCyclesAcrossLibraries) {
  const auto refusal = [](const Status& status) {
    EXPECT_EQ(status.code(), StatusCode::kInvalidFile);
    return status.message();
  };
  EXPECT_THAT(refusal(Open({{PackingWith("test.a", "test.a")}})),
              StartsWith("The op 'test.a' packs an operand by way of itself"));
  EXPECT_THAT(refusal(Open({{PackingWith("test.a", "test.b")}, {PackingWith("test.b", "test.a")}})),
              StartsWith("The op 'test.a' packs an operand by way of itself"));
}

TEST(CheckPacking, ACopyBindsItsTensorWhereItLies) {
  PackedOp copy = GoodOp("spirloom.copy");
  EXPECT_TRUE(Open({{copy}}).ok());
  copy.kernels[0].operands[0].storage = Storage::kBuffer;
  EXPECT_THAT(Refusal(copy),
              StartsWith("The kernel 'kernel' of spirloom.copy wants 'x' packed or in a storage of "
                         "its own; a copy binds its tensor where it lies."));
  EXPECT_THAT(Refusal(PackingWith("spirloom.copy", "test.pack")), HasSubstr("wants 'x' packed"));
}

// The evaluator takes some 2 KiB of stack for each, of threads that may have 512 KiB.
TEST(CheckFormula, OneNestsAtMost128Deep) {
  const auto nested = [](size_t depth) {
    std::vector<std::byte> bytes(depth - 1, static_cast<std::byte>(Opcode::kNeg));
    bytes.push_back(static_cast<std::byte>(Opcode::kInt));
    bytes.push_back(std::byte{2});
    return CheckFormula(bytes, {});
  };
  ASSERT_TRUE(nested(128).ok()) << nested(128).status().message();
  EXPECT_EQ(nested(128)->depth, 128U);
  EXPECT_THAT(nested(129).status().message(), HasSubstr("it nests deeper than 128"));
}

}  // namespace
}  // namespace spirloom::ops
