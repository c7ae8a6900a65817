// Literals, names and nodes with their own evaluation order; formula_operations.cpp contains the
// operations.
#include "runtime/ops/formula_eval.h"

#include <optional>
#include <utility>

#include "runtime/pack/device_properties.h"

namespace spirloom::ops {
namespace {

// Maximum total iterations of comprehensions in a call; actual specs need hundreds.
constexpr uint32_t kMaxSteps = 1U << 20;

const Value kNoValue{};
const TensorDesc kNoTensorDesc{
    .dtype = DType::kF32, .shape = {}, .present = false, .storage = Storage::kAuto};

}  // namespace

FormulaEvaluator::FormulaEvaluator(Eval& eval, std::span<const LetInfo> lets, const Call& call,
                                   const DeviceProperties& device)
    : eval_(eval),
      let_infos_(lets),
      call_(call),
      device_(device),
      lets_(lets.size()),
      known_(lets.size()) {}

void FormulaEvaluator::SetDispatch(Storage storage, int64_t dispatch) {
  storage_ = storage;
  dispatch_ = dispatch;
}

void FormulaEvaluator::InvalidateTensors() {
  for (size_t let = 0; let < lets_.size(); ++let) {
    const ValueKind kind = let_infos_[let].kind;
    if (kind == ValueKind::kTensor || kind == ValueKind::kTensors) known_[let] = false;
  }
}

template <typename F>
auto FormulaEvaluator::ReadPart(Formula part, const F& node) {
  const pack::ByteReader after = std::exchange(in_, pack::ByteReader(part));
  auto value = node();
  in_ = after;
  return value;
}

template <typename F>
auto FormulaEvaluator::Evaluate(Formula formula, const F& node) {
  const size_t outer_loop = std::exchange(first_loop_, loops_.size());
  auto value = ReadPart(formula, node);
  first_loop_ = outer_loop;
  return value;
}

int64_t FormulaEvaluator::Int(Formula formula) {
  return Evaluate(formula, [&] { return IntNode(); });
}

double FormulaEvaluator::Float(Formula formula) {
  return Evaluate(formula, [&] { return FloatNode(); });
}

Ints FormulaEvaluator::List(Formula formula) {
  return Evaluate(formula, [&] { return ListNode(); });
}

Value FormulaEvaluator::Any(Formula formula, ValueKind kind) {
  return Evaluate(formula, [&] {
    Value value;
    switch (kind) {
      case ValueKind::kInt:
        value.i = IntNode();
        break;
      case ValueKind::kFloat:
        value.f = FloatNode();
        break;
      case ValueKind::kText:
        value.s = TextNode();
        break;
      case ValueKind::kInts:
        value.ints = ListNode();
        break;
      case ValueKind::kTensor:
        value.tensor = &TensorNode();
        break;
      case ValueKind::kTensors:
        value.tensors = TensorsNode();
        break;
    }
    return value;
  });
}

const Value& FormulaEvaluator::Let(size_t let) {
  if (let >= lets_.size()) return kNoValue;
  if (!known_[let]) {
    lets_[let] = Any(let_infos_[let].value, let_infos_[let].kind);
    known_[let] = true;
  }
  return lets_[let];
}

const Value& FormulaEvaluator::ArgOrLet(Opcode code) {
  const auto index = static_cast<size_t>(in_.Varint());
  if (code == Opcode::kLet) return Let(index);
  return index < call_.args.size() ? call_.args[index] : kNoValue;
}

template <typename F>
auto FormulaEvaluator::Branch(const F& node) {
  const bool condition = IntNode() != 0;
  const Formula then = in_.Counted();
  const Formula otherwise = in_.Counted();
  return ReadPart(condition ? then : otherwise, node);
}

int64_t FormulaEvaluator::Logic(bool is_and) {
  const bool left = IntNode() != 0;
  const Formula right = in_.Counted();
  const bool result = left == is_and ? ReadPart(right, [&] { return IntNode(); }) != 0 : left;
  return result ? 1 : 0;
}

Ints FormulaEvaluator::ListOf() {
  Ints list;
  const uint64_t size = in_.Varint();
  for (uint64_t i = 0; i < size && i < kMaxInts; ++i) list.Append(IntNode());
  return list;
}

Ints FormulaEvaluator::Each(bool has_condition) {
  const Ints values = ListNode();
  const Formula body = in_.Counted();
  Ints result;
  loops_.push_back(0);
  for (const int64_t value : values) {
    if (++steps_ > kMaxSteps) eval_.Fail("Comprehensions take too many steps.");
    if (!eval_.ok()) break;
    loops_.back() = value;
    ReadPart(body, [&] {
      if (!has_condition || IntNode() != 0) eval_.Append(result, IntNode());
      return 0;
    });
  }
  loops_.pop_back();
  return result;
}

int64_t FormulaEvaluator::IntNode() {
  const auto code = static_cast<Opcode>(in_.Byte());
  return code < Opcode::kAdd ? SpecialIntNode(code) : IntOperation(code);
}

int64_t FormulaEvaluator::SpecialIntNode(Opcode code) {
  switch (code) {
    case Opcode::kInt:
      return in_.Zigzag();
    case Opcode::kArg:
    case Opcode::kLet:
      return ArgOrLet(code).i;
    case Opcode::kLoop: {
      const size_t loop = first_loop_ + static_cast<size_t>(in_.Varint());
      return loop < loops_.size() ? loops_[loop] : 0;
    }
    case Opcode::kNodeStorage:
      return static_cast<int64_t>(storage_);
    case Opcode::kDispatch:
      return dispatch_;
    case Opcode::kDevice:
      return DeviceProperty(in_.Text());
    case Opcode::kAnd:
    case Opcode::kOr:
      return Logic(code == Opcode::kAnd);
    case Opcode::kIf:
      return Branch([&] { return IntNode(); });
    default:
      return 0;
  }
}

int64_t FormulaEvaluator::DeviceProperty(std::string_view name) const {
  const std::optional<size_t> index = pack::FindDeviceProperty(name);
  return index ? pack::DevicePropertyValues(device_)[*index] : 0;
}

double FormulaEvaluator::FloatNode() {
  const auto code = static_cast<Opcode>(in_.Byte());
  switch (code) {
    case Opcode::kFloat:
      return in_.Float();
    case Opcode::kArg:
    case Opcode::kLet:
      return ArgOrLet(code).f;
    case Opcode::kIf:
      return Branch([&] { return FloatNode(); });
    default:
      return FloatOperation(code);
  }
}

Ints FormulaEvaluator::ListNode() {
  const auto code = static_cast<Opcode>(in_.Byte());
  switch (code) {
    case Opcode::kArg:
    case Opcode::kLet:
      return ArgOrLet(code).ints;
    case Opcode::kList:
      return ListOf();
    case Opcode::kIf:
      return Branch([&] { return ListNode(); });
    case Opcode::kEach:
    case Opcode::kEachIf:
      return Each(code == Opcode::kEachIf);
    default:
      return ListOperation(code);
  }
}

std::string_view FormulaEvaluator::TextNode() {
  const auto code = static_cast<Opcode>(in_.Byte());
  switch (code) {
    case Opcode::kText:
      return in_.Text();
    case Opcode::kArg:
    case Opcode::kLet:
      return ArgOrLet(code).s;
    case Opcode::kIf:
      return Branch([&] { return TextNode(); });
    default:
      return {};
  }
}

const TensorDesc& FormulaEvaluator::TensorNode() {
  const auto code = static_cast<Opcode>(in_.Byte());
  const TensorDesc* tensor = nullptr;
  switch (code) {
    case Opcode::kArg:
    case Opcode::kLet:
      tensor = ArgOrLet(code).tensor;
      break;
    case Opcode::kOutput: {
      const auto index = static_cast<size_t>(in_.Varint());
      if (index < call_.outputs.size()) tensor = call_.outputs[index];
      break;
    }
    case Opcode::kIf:
      tensor = Branch([&] { return &TensorNode(); });
      break;
    case Opcode::kAt: {
      const TensorList list = TensorsNode();
      tensor = &eval_.At(list, IntNode());
      break;
    }
    default:
      break;
  }
  return tensor == nullptr ? kNoTensorDesc : *tensor;
}

FormulaEvaluator::TensorList FormulaEvaluator::TensorsNode() {
  const auto code = static_cast<Opcode>(in_.Byte());
  switch (code) {
    case Opcode::kArg:
    case Opcode::kLet:
      return ArgOrLet(code).tensors;
    case Opcode::kIf:
      return Branch([&] { return TensorsNode(); });
    default:
      return {};
  }
}

}  // namespace spirloom::ops
