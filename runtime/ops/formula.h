// Formulas: the expressions of specs (docs/reference/spec-language.md) as bytes, written by
// codegen/expr/encode.py. A node is an opcode and what belongs to it; operands follow in order.
#ifndef SPIRLOOM_RUNTIME_OPS_FORMULA_H_
#define SPIRLOOM_RUNTIME_OPS_FORMULA_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace spirloom::ops {

// Refers to a library's bytes. Empty: there is none.
using Formula = std::span<const std::byte>;

// What a formula gives. Bools, dtypes and storages are ints here, by their numbers.
enum class ValueKind : char {
  kInt = 'i',
  kFloat = 'f',
  kText = 's',
  kInts = 'v',
  kTensor = 't',
  kTensors = 'l',
};

// For messages: "int", "tensor list" …
const char* KindName(ValueKind kind);

// The numbers are part of the pack format (codegen/expr/opcodes.py).
enum class Opcode : uint8_t {
  kInt,          // zigzag
  kFloat,        // 8 bytes
  kText,         // text
  kArg,          // varint: which
  kOutput,       // varint
  kLet,          // varint
  kLoop,         // varint: of the comprehensions around it, the outermost being 0
  kNodeStorage,  // the storage of the node
  kDispatch,     // the number of the dispatch
  kDevice,       // varint: which fact, in the order of DeviceFacts
  kList,         // varint, then as many ints
  kAnd,          // left, counted right
  kOr,           // left, counted right
  kIf,           // condition, counted then, counted otherwise
  kEach,         // list, counted element
  kEachIf,       // list, counted (condition, element)
  kAdd,
  kSub,
  kMul,
  kNeg,
  kFloorDiv,
  kMod,
  kCeilDiv,
  kRoundUp,
  kAbs,
  kMin,
  kMax,
  kNot,
  kAddF,
  kSubF,
  kMulF,
  kDivF,
  kNegF,
  kAbsF,
  kMinF,
  kMaxF,
  kToInt,
  kToFloat,
  kToDtype,
  kEqI,
  kNeI,
  kLtI,
  kLeI,
  kGtI,
  kGeI,
  kEqF,
  kNeF,
  kLtF,
  kLeF,
  kGtF,
  kGeF,
  kEqS,
  kNeS,
  kEqV,
  kNeV,
  kContains,
  kIndex,
  kLen,
  kProd,
  kSum,
  kLeast,
  kGreatest,
  kWrap,
  kConcat,
  kSlice,
  kRange,
  kFill,
  kPadLeft,
  kPadRight,
  kReplace,
  kInsert,
  kRemove,
  kWrapAll,
  kBroadcast,
  kStrides,
  kBroadcastStrides,
  kShape,
  kRank,
  kNumel,
  kDtype,
  kStorage,
  kPresent,
  kAt,
  kCount,
  kSumDims,
  kAlike,
  kFloatBits,
};

// The operands and the result of an operation: kAdd and what follows it.
struct OperationKinds {
  const char* operands;  // ValueKind characters
  ValueKind result;
};

// Null for a byte that is no operation.
const OperationKinds* FindOperation(uint8_t opcode);

}  // namespace spirloom::ops

#endif  // SPIRLOOM_RUNTIME_OPS_FORMULA_H_
