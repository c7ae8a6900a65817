// Validation of the ops of a registry, one invalid property per test.
#include "runtime/ops/op_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>

#include "runtime/ops/formula_check.h"
#include "runtime/ops/op_index.h"
#include "tests/support/pack_builder.h"

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

PackedOp ValidOp(const std::string& name = "test.op") {
  return {.name = name, .args = {"x"}, .kernels = {{"kernel", {kInput, kResult}}}};
}

PackedOp PackingWith(const std::string& name, const std::string& pack_op) {
  PackedOp op = ValidOp(name);
  op.kernels[0].operands[0].pack_op = pack_op;
  return op;
}

Status Open(std::initializer_list<std::vector<PackedOp>> libraries) {
  std::vector<PackBytes> packs;
  for (const std::vector<PackedOp>& ops : libraries) {
    packs.push_back(MakePack({0x10}, RegistryOfOps("library", ops)));
  }
  std::vector<ShaderLibrary> library_list;
  for (PackBytes& pack : packs) library_list.push_back({"library", pack.bytes()});
  std::vector<const ShaderLibrary*> all;
  for (const ShaderLibrary& library : library_list) all.push_back(&library);
  return OpIndex::Create(all).status();
}

std::string ErrorOf(const PackedOp& op) {
  const Status status = Open({{op}});
  EXPECT_EQ(status.code(), StatusCode::kInvalidFile);
  return status.message();
}

TEST(CheckOp, AcceptsValidOps) {
  const Status status = Open({{ValidOp()}});
  EXPECT_TRUE(status.ok()) << status.message();
  PackedOp view = ValidOp();
  view.view_of = 1;
  EXPECT_TRUE(Open({{view}}).ok());
}

TEST(CheckOp, AViewHasOneOutput) {
  PackedOp op = ValidOp();
  op.view_of = 1;
  op.outputs = 2;
  PackedOperand second = kResult;
  second.index = 1;
  op.kernels[0].operands.push_back(second);
  EXPECT_THAT(ErrorOf(op), StartsWith("A view must have one output; it has 2.\n"
                                      " - While reading the op 'test.op'."));
  op.view_of = 0;
  EXPECT_TRUE(Open({{op}}).ok());
}

TEST(CheckOp, AViewRequiresATensor) {
  PackedOp op = ValidOp();
  op.view_of = 2;
  EXPECT_THAT(ErrorOf(op), HasSubstr("It is a view of argument 1, which is not a tensor."));
}

TEST(CheckOp, AnUpdatedArgumentIsBoundAsTheOutput) {
  PackedOp op = ValidOp();
  op.args = {"x", "part"};
  op.updates = {1};
  EXPECT_THAT(ErrorOf(op),
              StartsWith("Operand 'x' is an updated argument. Bind the output instead."));
  op.kernels[0].operands[0].index = 1;
  EXPECT_TRUE(Open({{op}}).ok());
  op.updates = {3};
  EXPECT_THAT(ErrorOf(op), StartsWith("It updates argument 2, which is not a tensor."));
  op.updates = {1};
  op.kernels[0].operands[1].storage = Storage::kTexture3D;
  EXPECT_THAT(ErrorOf(op),
              StartsWith("Operand 'y' is an updated tensor; its storage must be buffer."));
  op = ValidOp();
  op.updates = {1};
  op.view_of = 1;
  EXPECT_THAT(ErrorOf(op), StartsWith("A view must not update an argument."));
}

TEST(CheckOp, AnIntermediateIsABufferThatAnOpComputes) {
  PackedOp op = ValidOp();
  PackedOperand moments{
      .name = "m", .storage = Storage::kBuffer, .pack_op = "test.pack", .intermediate = true};
  op.kernels[0].operands.push_back(moments);
  EXPECT_TRUE(Open({{op, ValidOp("test.pack")}}).ok());
  for (const auto& change : std::vector<std::function<void(PackedOperand&)>>{
           [](PackedOperand& m) { m.pack_op.clear(); },
           [](PackedOperand& m) { m.storage = Storage::kAuto; },
           [](PackedOperand& m) { m.access = Access::kWrite; }}) {
    PackedOperand changed = moments;
    change(changed);
    op.kernels[0].operands.back() = changed;
    EXPECT_THAT(ErrorOf(op), StartsWith("Operand 'm' is an intermediate; it must be a buffer"));
  }
  op.kernels[0].operands.back() = moments;
  op.kernels[0].operands.back().pack_op = op.name;
  EXPECT_THAT(ErrorOf(op), HasSubstr("requires itself to pack an operand"));
}

TEST(CheckOp, AllKernelsWriteAllOutputs) {
  PackedOp op = ValidOp();
  op.outputs = 2;
  EXPECT_THAT(ErrorOf(op), StartsWith("Output 1 of 2 is not written by any operand.\n"
                                      " - While checking the kernel 'kernel'."));
  op = ValidOp();
  op.kernels.push_back({"second", {kInput}});
  EXPECT_THAT(ErrorOf(op), StartsWith("Output 0 of 1 is not written by any operand.\n"
                                      " - While checking the kernel 'second'."));
  op = ValidOp();
  op.kernels.push_back({"unavailable", {}});
  EXPECT_TRUE(Open({{op}}).ok());
  op = ValidOp();
  op.kernels[0].operands[1].access = Access::kRead;
  EXPECT_THAT(ErrorOf(op), HasSubstr("Output 0 of 1 is not written by any operand."));
  op.kernels[0].operands[1].access = Access::kReadWrite;
  EXPECT_TRUE(Open({{op}}).ok());
}

TEST(CheckOp, ArgumentsAreReadOnly) {
  for (const Access access : {Access::kWrite, Access::kReadWrite}) {
    PackedOp op = ValidOp();
    op.kernels[0].operands[0].access = access;
    EXPECT_THAT(ErrorOf(op), HasSubstr("Operand 'x' is an argument and must not be written"));
  }
}

TEST(CheckOp, OperandsAreExistingTensors) {
  PackedOp op = ValidOp();
  op.kernels[0].operands[0].index = 1;
  EXPECT_THAT(ErrorOf(op), HasSubstr("Operand 'x' has index 1; the op has 1 arguments."));
  op = ValidOp();
  op.kernels[0].operands[1].index = 1;
  EXPECT_THAT(ErrorOf(op), HasSubstr("Operand 'y' has index 1; the op has 1 outputs."));
  op = ValidOp();
  op.kernels[0].operands[1].pack_op = "test.pack";
  EXPECT_THAT(ErrorOf(op), HasSubstr("Operand 'y' is packed; it must be a tensor argument."));
}

TEST(CheckOp, NamesArePrintable) {
  for (const std::string name : {"", "two words", "tab\t", "\x1b[2J", "caf\xc3\xa9", "\xff"}) {
    PackedOp op = ValidOp(name);
    EXPECT_THAT(ErrorOf(op), StartsWith("The name of the op must be non-empty")) << name;
    op = ValidOp();
    op.short_name = name;
    EXPECT_THAT(ErrorOf(op), StartsWith("The name of the op in ids must be non-empty")) << name;
    op = ValidOp();
    op.args[0] = name;
    EXPECT_THAT(ErrorOf(op), StartsWith("The name of an argument must be non-empty")) << name;
    op = ValidOp();
    op.kernels[0].name = name;
    EXPECT_THAT(ErrorOf(op), StartsWith("The name of a kernel must be non-empty")) << name;
    op = ValidOp();
    op.kernels[0].operands[0].name = name;
    EXPECT_THAT(ErrorOf(op), StartsWith("The name of an operand must be non-empty")) << name;
    if (name.empty()) continue;
    EXPECT_THAT(ErrorOf(PackingWith("test.op", name)),
                StartsWith("The name of a packing op must be non-empty"))
        << name;
  }
  EXPECT_THAT(ErrorOf(ValidOp("\x1b[2J")), HasSubstr("While reading the op '?[2J'."));
}

TEST(CheckPacking, IsLimitedTo4Steps) {
  EXPECT_TRUE(Open({{PackingWith("test.a", "test.b")}}).ok());  // test.b may be in another library
  EXPECT_TRUE(
      Open({{PackingWith("test.a", "test.b"), PackingWith("test.b", "test.c"),
             PackingWith("test.c", "test.d"), PackingWith("test.d", "test.e"), ValidOp("test.e")}})
          .ok());
  const Status status = Open({{PackingWith("test.a", "test.b"), PackingWith("test.b", "test.c"),
                               PackingWith("test.c", "test.d"), PackingWith("test.d", "test.e"),
                               PackingWith("test.e", "test.f"), ValidOp("test.f")}});
  EXPECT_EQ(status.code(), StatusCode::kInvalidFile);
  EXPECT_EQ(status.message(),
            "The op 'test.a' requires itself to pack an operand, or packs in more than 4 steps.");
}

TEST(CheckPacking, FindsCyclesAcrossLibraries) {
  const auto error_of = [](const Status& status) {
    EXPECT_EQ(status.code(), StatusCode::kInvalidFile);
    return status.message();
  };
  EXPECT_THAT(error_of(Open({{PackingWith("test.a", "test.a")}})),
              StartsWith("The op 'test.a' requires itself to pack an operand"));
  EXPECT_THAT(
      error_of(Open({{PackingWith("test.a", "test.b")}, {PackingWith("test.b", "test.a")}})),
      StartsWith("The op 'test.a' requires itself to pack an operand"));
}

TEST(CheckPacking, ACopyBindsItsInputUnchanged) {
  PackedOp copy = ValidOp("spirloom.copy");
  EXPECT_TRUE(Open({{copy}}).ok());
  copy.kernels[0].operands[0].storage = Storage::kBuffer;
  EXPECT_THAT(
      ErrorOf(copy),
      StartsWith("The kernel 'kernel' of spirloom.copy requires 'x' to be packed or in a fixed "
                 "storage; a copy must bind its input unchanged."));
  EXPECT_THAT(ErrorOf(PackingWith("spirloom.copy", "test.pack")),
              HasSubstr("requires 'x' to be packed"));
}

// Each level uses about 2 KiB of stack; threads may have 512 KiB.
TEST(CheckFormula, NestsAtMost128Deep) {
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
