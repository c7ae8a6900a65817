// Formulas: the expressions of specs (docs/reference/spec-language.md) encoded as bytes by
// codegen/registry/encoding.py. A node is an opcode with its data, followed by its operands.
#ifndef SPIRLOOM_RUNTIME_OPS_FORMULA_H_
#define SPIRLOOM_RUNTIME_OPS_FORMULA_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace spirloom::ops {

// Refers to the bytes of a library. Empty: no formula.
using Formula = std::span<const std::byte>;

// The kind of a formula's value. Bools, dtypes and storages are ints.
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

// The values are part of the pack format (codegen/registry/opcodes.py).
enum class Opcode : uint8_t {
  kInt,          // zigzag
  kFloat,        // 8 bytes
  kText,         // text
  kArg,          // varint: index
  kOutput,       // varint: index
  kLet,          // varint: index
  kLoop,         // varint: index of an enclosing comprehension, 0: outermost
  kNodeStorage,  // the storage of the node
  kDispatch,     // index of the dispatch
  kDevice,       // text: member of DeviceProperties
  kList,         // varint: size, then ints
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
  kMinOf,
  kMaxOf,
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

// Kinds of the operands and the result of an operation: opcodes from kAdd on.
struct OperationKinds {
  char operands[7];  // ValueKind characters, then '\0'; an array, which is not relocated
  ValueKind result;
};

// Null for other opcodes.
const OperationKinds* FindOperation(uint8_t opcode);

}  // namespace spirloom::ops

#endif  // SPIRLOOM_RUNTIME_OPS_FORMULA_H_
