// The operations of formulas, by opcode.
#include <algorithm>
#include <cmath>
#include <functional>
#include <tuple>
#include <type_traits>

#include "runtime/ops/formula_eval.h"

namespace spirloom::ops {
namespace {

int64_t Size(size_t size) { return static_cast<int64_t>(size); }

}  // namespace

template <typename T>
T FormulaEvaluator::Node() {
  if constexpr (std::is_same_v<T, int64_t>) {
    return IntNode();
  } else if constexpr (std::is_same_v<T, double>) {
    return FloatNode();
  } else if constexpr (std::is_same_v<T, Ints>) {
    return ListNode();
  } else if constexpr (std::is_same_v<T, std::string_view>) {
    return TextNode();
  } else {
    return TensorsNode();
  }
}

// Not inlined: operands such as lists would enlarge the stack frames of the recursive functions.
template <typename R, typename... A>
[[gnu::noinline]] R FormulaEvaluator::Apply(R (Eval::*function)(A...)) {
  // Braced initializers are evaluated in order.
  const std::tuple<std::remove_cvref_t<A>...> operands{Node<std::remove_cvref_t<A>>()...};
  return std::apply([&](const auto&... x) -> R { return (eval_.*function)(x...); }, operands);
}

template <typename T, typename F>
[[gnu::noinline]] auto FormulaEvaluator::Pair(const F& function) {
  const T left = Node<T>();
  const T right = Node<T>();
  return function(left, right);
}

int64_t FormulaEvaluator::IntOperation(Opcode code) {
  switch (code) {
    case Opcode::kAdd:
      return Apply(&Eval::Add);
    case Opcode::kSub:
      return Apply(&Eval::Sub);
    case Opcode::kMul:
      return Apply(&Eval::Mul);
    case Opcode::kNeg:
      return Apply(&Eval::Neg);
    case Opcode::kFloorDiv:
      return Apply(&Eval::FloorDiv);
    case Opcode::kMod:
      return Apply(&Eval::Mod);
    case Opcode::kCeilDiv:
      return Apply(&Eval::CeilDiv);
    case Opcode::kRoundUp:
      return Apply(&Eval::RoundUp);
    case Opcode::kAbs:
      return Apply(&Eval::Abs);
    case Opcode::kMin:
      return Pair<int64_t>([](int64_t a, int64_t b) { return std::min(a, b); });
    case Opcode::kMax:
      return Pair<int64_t>([](int64_t a, int64_t b) { return std::max(a, b); });
    case Opcode::kNot:
      return IntNode() == 0 ? 1 : 0;
    case Opcode::kToInt:
      return Apply(&Eval::ToInt);
    case Opcode::kToDtype:
      return static_cast<int64_t>(Apply(&Eval::ToDType));
    case Opcode::kContains:
      return Apply(&Eval::Contains) ? 1 : 0;
    case Opcode::kIndex:
      return Apply(&Eval::Index);
    case Opcode::kLen:
      return Size(ListNode().size());
    case Opcode::kProd:
      return Apply(&Eval::Prod);
    case Opcode::kSum:
      return Apply(&Eval::Sum);
    case Opcode::kMinOf:
      return Apply(&Eval::Min);
    case Opcode::kMaxOf:
      return Apply(&Eval::Max);
    case Opcode::kWrap:
      return Apply(&Eval::Wrap);
    case Opcode::kRank:
      return Size(TensorNode().shape.size());
    case Opcode::kNumel:
      return eval_.Prod(TensorNode().shape);
    case Opcode::kDtype:
      return static_cast<int64_t>(TensorNode().dtype);
    case Opcode::kStorage:
      return static_cast<int64_t>(TensorNode().storage);
    case Opcode::kPresent:
      return TensorNode().present ? 1 : 0;
    case Opcode::kCount:
      return Size(TensorsNode().size());
    case Opcode::kAlike:
      return Apply(&Eval::Alike) ? 1 : 0;
    case Opcode::kSumDims:
      return Apply(&Eval::SumDims);
    case Opcode::kFloatBits:
      return static_cast<int32_t>(Eval::FloatBits(FloatNode()));
    default:
      return Comparison(code);
  }
}

int64_t FormulaEvaluator::Comparison(Opcode code) {
  const bool holds = [&] {
    switch (code) {
      case Opcode::kEqI:
        return Pair<int64_t>(std::equal_to<>());
      case Opcode::kNeI:
        return Pair<int64_t>(std::not_equal_to<>());
      case Opcode::kLtI:
        return Pair<int64_t>(std::less<>());
      case Opcode::kLeI:
        return Pair<int64_t>(std::less_equal<>());
      case Opcode::kGtI:
        return Pair<int64_t>(std::greater<>());
      case Opcode::kGeI:
        return Pair<int64_t>(std::greater_equal<>());
      case Opcode::kEqF:
        return Pair<double>(std::equal_to<>());
      case Opcode::kNeF:
        return Pair<double>(std::not_equal_to<>());
      case Opcode::kLtF:
        return Pair<double>(std::less<>());
      case Opcode::kLeF:
        return Pair<double>(std::less_equal<>());
      case Opcode::kGtF:
        return Pair<double>(std::greater<>());
      case Opcode::kGeF:
        return Pair<double>(std::greater_equal<>());
      case Opcode::kEqS:
        return Pair<std::string_view>(std::equal_to<>());
      case Opcode::kNeS:
        return Pair<std::string_view>(std::not_equal_to<>());
      case Opcode::kEqV:
        return Pair<Ints>(std::equal_to<>());
      case Opcode::kNeV:
        return Pair<Ints>(std::not_equal_to<>());
      default:
        return false;
    }
  }();
  return holds ? 1 : 0;
}

double FormulaEvaluator::FloatOperation(Opcode code) {
  switch (code) {
    case Opcode::kAddF:
      return Pair<double>(std::plus<>());
    case Opcode::kSubF:
      return Pair<double>(std::minus<>());
    case Opcode::kMulF:
      return Pair<double>(std::multiplies<>());
    case Opcode::kDivF:
      return Pair<double>(std::divides<>());
    case Opcode::kNegF:
      return -FloatNode();
    case Opcode::kAbsF:
      return std::fabs(FloatNode());
    case Opcode::kMinF:
      return Pair<double>([](double a, double b) { return std::min(a, b); });
    case Opcode::kMaxF:
      return Pair<double>([](double a, double b) { return std::max(a, b); });
    case Opcode::kToFloat:
      return static_cast<double>(IntNode());
    default:
      return 0;
  }
}

Ints FormulaEvaluator::ListOperation(Opcode code) {
  switch (code) {
    case Opcode::kConcat:
      return Apply(&Eval::Concat);
    case Opcode::kSlice:
      return Apply(&Eval::Slice);
    case Opcode::kRange:
      return Apply(&Eval::Range);
    case Opcode::kFill:
      return Apply(&Eval::Fill);
    case Opcode::kPadLeft:
      return Apply(&Eval::PadLeft);
    case Opcode::kPadRight:
      return Apply(&Eval::PadRight);
    case Opcode::kReplace:
      return Apply(&Eval::Replace);
    case Opcode::kInsert:
      return Apply(&Eval::Insert);
    case Opcode::kRemove:
      return Apply(&Eval::Remove);
    case Opcode::kWrapAll:
      return Apply(&Eval::WrapAll);
    case Opcode::kBroadcast:
      return Apply(&Eval::Broadcast);
    case Opcode::kStrides:
      return Apply(&Eval::Strides);
    case Opcode::kBroadcastStrides:
      return Apply(&Eval::BroadcastStrides);
    case Opcode::kShape:
      return TensorNode().shape;
    default:
      return {};
  }
}

}  // namespace spirloom::ops
