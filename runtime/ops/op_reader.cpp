#include "runtime/ops/op_reader.h"

#include <algorithm>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/ops/eval.h"
#include "runtime/ops/formula_check.h"
#include "runtime/ops/op_check.h"
#include "runtime/pack/pack_format.h"

namespace spirloom::ops {
namespace {

// Lists of a registry are short; a longer list is treated as damage.
constexpr size_t kMaxItems = 64;
constexpr size_t kMaxAxisValues = 15;
constexpr uint64_t kStorageCount = 1 + static_cast<uint64_t>(Storage::kTexture2D);
constexpr uint64_t kArgTypeCount = 1 + static_cast<uint64_t>(ArgType::kString);
constexpr uint64_t kAccessCount = 1 + static_cast<uint64_t>(Access::kReadWrite);

}  // namespace

void OpReader::FailWith(const char* format, uint64_t types, ...) {
  va_list values;
  va_start(values, types);
  if (status_.ok()) status_ = ErrorOfList(StatusCode::kInvalidFile, format, types, values);
  va_end(values);
}

template <typename T>
void OpReader::ReadMany(std::vector<T>& items, size_t max, const char* what,
                        T (OpReader::*read)()) {
  const uint64_t count = in_.Varint();
  if (count > max) {
    Fail("It has {} {}; the maximum is {}.", count, what, max);
  }
  for (uint64_t i = 0; i < count && going(); ++i) items.push_back((this->*read)());
}

OpReader::TypedFormula OpReader::ReadFormula(const char* what,
                                             std::initializer_list<ValueKind> kinds) {
  const Formula formula = in_.Counted();
  if (!going() || formula.empty()) return {{}, *kinds.begin(), 0};
  const auto type = CheckFormula(formula, {op_.args, op_.lets, named_outputs_});
  if (!type.ok()) {
    if (status_.ok()) status_ = While(type.status(), "checking {}", what);
    return {};
  }
  if (std::ranges::find(kinds, type->kind) == kinds.end()) {
    Fail("The formula of {} has kind {}; expected {}.", what, KindName(type->kind),
         KindName(*kinds.begin()));
  }
  return {formula, type->kind, type->depth};
}

Formula OpReader::ReadOptional(const char* what, ValueKind kind) {
  return ReadFormula(what, {kind}).value;
}

Formula OpReader::ReadRequired(const char* what, ValueKind kind) {
  const Formula formula = ReadOptional(what, kind);
  if (formula.empty()) Fail("The formula of {} is missing.", what);
  return formula;
}

Result<OpInfo> OpReader::Read() {
  op_.name = in_.Text().data();
  op_.short_name = in_.Text().data();
  op_.view_of = static_cast<int32_t>(in_.Below(kMaxItems)) - 1;
  // The dtype of a tensor may refer to a later argument, so dtypes are read after all names.
  ReadMany(op_.args, kMaxItems, "arguments", &OpReader::ReadArg);
  for (ArgInfo& arg : op_.args) arg.dtype = ReadOptional("an argument's dtype", ValueKind::kInt);
  ReadMany(op_.lets, kMaxItems, "lets", &OpReader::ReadLet);
  ReadMany(op_.steps, 2 * kMaxItems, "steps", &OpReader::ReadStep);
  ReadMany(op_.outputs, pack::kMaxBindings, "outputs", &OpReader::ReadOutput);
  named_outputs_ = op_.outputs.size();
  op_.view_offset = ReadOptional("view_offset", ValueKind::kInt);
  ReadMany(op_.kernels, kMaxItems, "kernels", &OpReader::ReadKernel);
  if (!in_.ok()) Fail("It is truncated, or a value is out of range.");
  if (status_.ok()) status_ = CheckOp(op_);
  if (!status_.ok()) return While(std::move(status_), "reading the op {}", Quoted{op_.name});
  return std::move(op_);
}

ArgInfo OpReader::ReadArg() {
  ArgInfo arg;
  arg.name = in_.Text().data();
  arg.type = static_cast<ArgType>(in_.Below(kArgTypeCount));
  arg.optional = in_.Below(2) != 0;
  arg.length = static_cast<int32_t>(in_.Below(kMaxInts + 2)) - 1;
  if (arg.optional && arg.type != ArgType::kTensor)
    Fail("Argument '{}' is optional; it must be a tensor.", arg.name);
  ReadDefault(arg);
  return arg;
}

void OpReader::ReadDefault(ArgInfo& arg) {
  ArgDefault& value = arg.default_value;
  value.kind = static_cast<ArgDefault::Kind>(in_.Below(kArgDefaultKindCount));
  if (value.kind == ArgDefault::Kind::kNone) return;
  if (value.kind == ArgDefault::Kind::kArgument) {
    value.argument = static_cast<uint32_t>(in_.Below(kMaxItems));
    if (value.argument < op_.args.size() && op_.args[value.argument].type == arg.type) return;
    return Fail("The default of argument '{}' is not an earlier argument of its type.", arg.name);
  }
  switch (arg.type) {
    case ArgType::kTensor:
    case ArgType::kTensorList:
      return Fail("The tensor '{}' has a default.", arg.name);
    case ArgType::kInt:
    case ArgType::kBool:
      value.i = in_.Zigzag();
      break;
    case ArgType::kFloat:
      value.f = in_.Float();
      break;
    case ArgType::kInts:
      ReadMany(value.ints, kMaxInts, "default values", &OpReader::ReadInt);
      break;
    case ArgType::kString:
      value.s = in_.Text().data();
      break;
  }
}

LetInfo OpReader::ReadLet() {
  using enum ValueKind;
  const TypedFormula let = ReadFormula("a let", {kInt, kFloat, kText, kInts, kTensor, kTensors});
  if (let.value.empty()) Fail("A let has no formula.");
  return {let.value, let.kind, let.depth};
}

StepInfo OpReader::ReadStep() {
  StepInfo step;
  step.is_check = in_.Below(2) != 0;
  if (!step.is_check) return step;
  step.text = in_.Text().data();
  step.condition = ReadRequired("a check", ValueKind::kInt);
  step.left = ReadOptional("a check's left side", ValueKind::kInt);
  step.right = ReadOptional("a check's right side", ValueKind::kInt);
  if (step.left.empty() != step.right.empty())
    Fail("The check '{}' has only one of left and right.", step.text);
  return step;
}

OutputInfo OpReader::ReadOutput() {
  OutputInfo output;
  output.shape = ReadRequired("an output's shape", ValueKind::kInts);
  output.dtype = ReadRequired("an output's dtype", ValueKind::kInt);
  output.updates = static_cast<int32_t>(in_.Below(kMaxItems)) - 1;
  return output;
}

KernelInfo OpReader::ReadKernel() {
  KernelInfo kernel;
  kernel.name = in_.Text().data();
  kernel.index = static_cast<uint32_t>(in_.Below(uint64_t{1} << 32));
  kernel.storages = static_cast<uint32_t>(in_.Below(uint64_t{1} << kStorageCount));
  kernel.push_bytes = static_cast<uint32_t>(in_.Below(pack::kMaxPushBytes + 1));
  kernel.when = ReadOptional("when", ValueKind::kInt);
  kernel.prefer = ReadOptional("prefer", ValueKind::kInt);
  kernel.loop_iterations = ReadOptional("loop_iterations", ValueKind::kInt);
  kernel.repeat = ReadOptional("repeat", ValueKind::kInt);
  kernel.concat_offset = ReadOptional("concat_offset", ValueKind::kInt);
  ReadMany(kernel.axes, kMaxAxes, "axes", &OpReader::ReadAxis);
  ReadMany(kernel.operands, pack::kMaxBindings, "operands", &OpReader::ReadOperand);
  ReadMany(kernel.push, pack::kMaxPushBytes / 4, "push constants", &OpReader::ReadPush);
  ReadMany(kernel.constants, pack::kMaxConstants, "constants", &OpReader::ReadConstant);
  for (Formula& size : kernel.grid) size = ReadRequired("grid", ValueKind::kInt);
  return kernel;
}

AxisInfo OpReader::ReadAxis() {
  AxisInfo axis;
  axis.of = ReadOptional("an axis", ValueKind::kInt);
  const uint64_t count = in_.Below(kMaxAxisValues + 1);
  for (uint64_t i = 0; i < count; ++i) axis.values.push_back(in_.Varint());
  return axis;
}

OperandInfo OpReader::ReadOperand() {
  OperandInfo operand;
  operand.name = in_.Text().data();
  operand.source = static_cast<OperandSource>(in_.Below(kOperandSourceCount));
  operand.index = static_cast<uint8_t>(in_.Below(kMaxItems));
  operand.access = static_cast<Access>(in_.Below(kAccessCount));
  operand.storage = static_cast<Storage>(in_.Below(kStorageCount));
  operand.own_storage = in_.Below(2) != 0;
  operand.list = operand.source == OperandSource::kArg && operand.index < op_.args.size() &&
                 op_.args[operand.index].type == ArgType::kTensorList;
  ReadPack(operand);
  return operand;
}

void OpReader::ReadPack(OperandInfo& operand) {
  using enum ValueKind;
  const std::string_view op = in_.Text();
  if (op.empty()) return;
  operand.pack_op = op.data();
  const uint64_t count = in_.Below(kMaxItems);
  for (uint64_t i = 0; i < count && going(); ++i) {
    const TypedFormula arg =
        ReadFormula("a packing argument", {kTensor, kInt, kFloat, kText, kInts});
    operand.pack_args.push_back({arg.value, arg.kind});
  }
}

PushInfo OpReader::ReadPush() {
  using enum ValueKind;
  PushInfo push;
  push.offset = static_cast<uint32_t>(in_.Below(pack::kMaxPushBytes));
  push.count = static_cast<uint32_t>(in_.Below(pack::kMaxPushBytes));
  const TypedFormula value = ReadFormula("a push constant", {kInt, kFloat, kInts});
  if (value.value.empty()) Fail("A push constant has no formula.");
  push.value = value.value;
  push.kind = value.kind;
  return push;
}

ConstantInfo OpReader::ReadConstant() {
  const TypedFormula value = ReadFormula("a constant", {ValueKind::kInt, ValueKind::kFloat});
  if (value.value.empty()) Fail("A constant has no formula.");
  return {value.value, value.kind};
}

}  // namespace spirloom::ops
