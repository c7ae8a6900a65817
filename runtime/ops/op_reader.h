#ifndef SPIRLOOM_RUNTIME_OPS_OP_READER_H_
#define SPIRLOOM_RUNTIME_OPS_OP_READER_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "runtime/base/text.h"
#include "runtime/ops/registry.h"
#include "runtime/pack/byte_reader.h"
#include "spirloom/status.h"

namespace spirloom::ops {

// Reads and checks one op of a registry. Keeps the first error.
class OpReader {
 public:
  explicit OpReader(pack::ByteReader& in) : in_(in) {}

  // Reads the op at the current position. Fails with kInvalidFile and the problem.
  Result<OpInfo> Read();

 private:
  struct TypedFormula {
    Formula value;
    ValueKind kind{};
    uint32_t depth = 0;
  };

  ArgInfo ReadArg();
  void ReadDefault(ArgInfo& arg);
  int64_t ReadInt() { return in_.Zigzag(); }
  LetInfo ReadLet();
  StepInfo ReadStep();
  OutputInfo ReadOutput();
  KernelInfo ReadKernel();
  AxisInfo ReadAxis();
  OperandInfo ReadOperand();
  void ReadPack(OperandInfo& operand);
  PushInfo ReadPush();
  ConstantInfo ReadConstant();

  // Reads a length-prefixed list of at most `max` items.
  template <typename T>
  void ReadMany(std::vector<T>& items, size_t max, const char* what, T (OpReader::*read)());
  // An absent formula is empty and has the first kind.
  TypedFormula ReadFormula(const char* what, std::initializer_list<ValueKind> kinds);
  Formula ReadOptional(const char* what, ValueKind kind);
  Formula ReadRequired(const char* what, ValueKind kind);

  // Keeps the first error.
  template <typename... Values>
  SPIRLOOM_ALWAYS_INLINE void Fail(FormatString<sizeof...(Values)> format,
                                   const Values&... values) {
    FailWith(format.text(), TypesOf<Values...>(), ToArgument(values)...);
  }
  void FailWith(const char* format, uint64_t types, ...);
  bool going() const { return status_.ok() && in_.ok(); }

  pack::ByteReader& in_;
  OpInfo op_;
  size_t named_outputs_ = 0;  // outputs available to formulas: 0 until all outputs are read
  Status status_;
};

}  // namespace spirloom::ops

#endif  // SPIRLOOM_RUNTIME_OPS_OP_READER_H_
