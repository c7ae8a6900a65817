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

// Reads and checks one op of a registry. The first failure stays.
class OpReader {
 public:
  explicit OpReader(pack::ByteReader& in) : in_(in) {}

  // The op at the reader. Fails with kInvalidFile, saying what is wrong with it.
  Result<OpInfo> Read();

 private:
  struct TypedFormula {
    Formula value;
    ValueKind kind{};
    uint32_t depth = 0;
  };

  ArgInfo ReadArg();
  LetInfo ReadLet();
  StepInfo ReadStep();
  OutputInfo ReadOutput();
  KernelInfo ReadKernel();
  AxisInfo ReadAxis();
  OperandInfo ReadOperand();
  void ReadPack(OperandInfo& operand);
  PushInfo ReadPush();
  ConstantInfo ReadConstant();

  // Reads a list, its length before it, into `items`.
  template <typename T>
  void ReadMany(std::vector<T>& items, size_t most, const char* what, T (OpReader::*read)());
  // An absent formula is empty, and of the first kind.
  TypedFormula ReadFormula(const char* what, std::initializer_list<ValueKind> kinds);
  Formula ReadOptional(const char* what, ValueKind kind);
  Formula ReadRequired(const char* what, ValueKind kind);

  void Fail(std::initializer_list<TextPiece> message);
  bool going() const { return status_.ok() && in_.ok(); }

  pack::ByteReader& in_;
  OpInfo op_;
  size_t named_outputs_ = 0;  // outputs that formulas may name: none before all shapes are known
  Status status_;
};

}  // namespace spirloom::ops

#endif  // SPIRLOOM_RUNTIME_OPS_OP_READER_H_
