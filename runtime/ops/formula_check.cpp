#include "runtime/ops/formula_check.h"

#include <algorithm>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/base/text.h"
#include "runtime/ops/eval.h"
#include "runtime/pack/byte_reader.h"
#include "runtime/pack/device_properties.h"

namespace spirloom::ops {
namespace {

ValueKind ValueKindOf(ArgType type) {
  switch (type) {
    case ArgType::kTensor:
      return ValueKind::kTensor;
    case ArgType::kTensorList:
      return ValueKind::kTensors;
    case ArgType::kFloat:
      return ValueKind::kFloat;
    case ArgType::kInts:
      return ValueKind::kInts;
    case ArgType::kString:
      return ValueKind::kText;
    case ArgType::kInt:
    case ArgType::kBool:
      break;
  }
  return ValueKind::kInt;
}

class Checker {
 public:
  Checker(Formula formula, const FormulaNames& names) : in_(formula), names_(names) {}

  Result<FormulaType> Check() {
    const ValueKind kind = Node(/*depth=*/1);
    if (in_.remaining() > 0) Fail("more bytes follow the formula");
    if (!in_.ok()) Fail("it is truncated");
    if (!status_.ok()) return std::move(status_);
    return FormulaType{kind, depth_};
  }

 private:
  // Keeps the first error.
  template <typename... Values>
  SPIRLOOM_ALWAYS_INLINE void Fail(FormatString<sizeof...(Values)> format,
                                   const Values&... values) {
    FailWith(format.text(), TypesOf<Values...>(), ToArgument(values)...);
  }
  void FailWith(const char* format, uint64_t types, ...) {
    if (!status_.ok()) return;
    va_list values;
    va_start(values, types);
    status_ =
        InvalidFile("Byte {} of a formula: {}.", in_.position(), FormatList(format, types, values));
    va_end(values);
  }

  bool going() const { return status_.ok() && in_.ok(); }

  ValueKind Node(uint32_t depth) {
    depth_ = std::max(depth_, depth);
    if (depth > kMaxFormulaDepth) Fail("it nests deeper than {}", kMaxFormulaDepth);
    const uint8_t code = in_.Byte();
    if (!going()) return ValueKind::kInt;
    const OperationKinds* operation = FindOperation(code);
    if (operation == nullptr) return SpecialNode(static_cast<Opcode>(code), depth);
    for (const char* kind = operation->operands; *kind != '\0'; ++kind) {
      Expect(static_cast<ValueKind>(*kind), depth + 1);
    }
    return operation->result;
  }

  void Expect(ValueKind expected, uint32_t depth) {
    if (!going()) return;
    const ValueKind given = Node(depth);
    if (given == expected) return;
    Fail("an operand has kind {}; expected {}", KindName(given), KindName(expected));
  }

  // A literal, a name, or a node with its own evaluation order.
  ValueKind SpecialNode(Opcode code, uint32_t depth) {
    switch (code) {
      case Opcode::kInt:
        in_.Zigzag();
        return ValueKind::kInt;
      case Opcode::kFloat:
        in_.Float();
        return ValueKind::kFloat;
      case Opcode::kText:
        in_.Text();
        return ValueKind::kText;
      case Opcode::kArg: {
        const size_t arg = ReadIndex(names_.args.size(), "argument");
        return going() ? ValueKindOf(names_.args[arg].type) : ValueKind::kInt;
      }
      case Opcode::kOutput:
        ReadIndex(names_.outputs, "output");
        return ValueKind::kTensor;
      case Opcode::kLet:
        return Let(depth);
      case Opcode::kLoop:
        ReadIndex(loops_, "comprehension");
        return ValueKind::kInt;
      case Opcode::kDevice:
        return Device();
      case Opcode::kNodeStorage:
      case Opcode::kDispatch:
        return ValueKind::kInt;
      case Opcode::kList:
        return List(depth);
      case Opcode::kAnd:
      case Opcode::kOr:
        Expect(ValueKind::kInt, depth + 1);
        ExpectCounted(ValueKind::kInt, depth);
        return ValueKind::kInt;
      case Opcode::kIf: {
        Expect(ValueKind::kInt, depth + 1);
        const ValueKind kind = Counted(depth);
        ExpectCounted(kind, depth);
        return kind;
      }
      case Opcode::kEach:
      case Opcode::kEachIf:
        return Loop(code == Opcode::kEachIf, depth);
      default:
        Fail("unknown opcode");
        return ValueKind::kInt;
    }
  }

  size_t ReadIndex(size_t count, const char* kind) {
    const uint64_t index = in_.Varint();
    if (index < count) return static_cast<size_t>(index);
    Fail("{} {} does not exist; there are {}", kind, index, count);
    return 0;
  }

  ValueKind Device() {
    const std::string_view name = in_.Text();
    if (going() && !pack::FindDeviceProperty(name))
      Fail("device property {} is unknown", Quoted{name});
    return ValueKind::kInt;
  }

  ValueKind Let(uint32_t depth) {
    const size_t let = ReadIndex(names_.lets.size(), "let");
    if (!going()) return ValueKind::kInt;
    depth_ = std::max(depth_, depth + names_.lets[let].depth);
    if (depth_ > kMaxFormulaDepth)
      Fail("it nests deeper than {} including its lets", kMaxFormulaDepth);
    return names_.lets[let].kind;
  }

  ValueKind List(uint32_t depth) {
    const uint64_t size = in_.Varint();
    if (size > kMaxInts) Fail("a list is longer than {}", kMaxInts);
    for (uint64_t i = 0; i < size && going(); ++i) Expect(ValueKind::kInt, depth + 1);
    return ValueKind::kInts;
  }

  ValueKind Loop(bool has_condition, uint32_t depth) {
    Expect(ValueKind::kInts, depth + 1);
    if (loops_ == kMaxLoops) Fail("comprehensions nest deeper than {}", kMaxLoops);
    ++loops_;
    const uint64_t size = in_.Varint();
    const size_t start = in_.position();
    if (has_condition) Expect(ValueKind::kInt, depth + 1);
    Expect(ValueKind::kInt, depth + 1);
    --loops_;
    CheckSize(start, size);
    return ValueKind::kInts;
  }

  // A node preceded by its size, so that evaluation can skip it.
  ValueKind Counted(uint32_t depth) {
    const uint64_t size = in_.Varint();
    const size_t start = in_.position();
    const ValueKind kind = going() ? Node(depth + 1) : ValueKind::kInt;
    CheckSize(start, size);
    return kind;
  }

  void ExpectCounted(ValueKind expected, uint32_t depth) {
    if (Counted(depth) != expected) Fail("its branches have different kinds");
  }

  void CheckSize(size_t start, uint64_t size) {
    const size_t actual = in_.position() - start;
    if (actual == size) return;
    Fail("a part has {} bytes; its declared size is {}", actual, size);
  }

  pack::ByteReader in_;
  const FormulaNames& names_;
  size_t loops_ = 0;
  uint32_t depth_ = 0;
  Status status_;
};

}  // namespace

Result<FormulaType> CheckFormula(Formula formula, const FormulaNames& names) {
  return Checker(formula, names).Check();
}

}  // namespace spirloom::ops
