#ifndef SPIRLOOM_RUNTIME_OPS_FORMULA_EVAL_H_
#define SPIRLOOM_RUNTIME_OPS_FORMULA_EVAL_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/ops/eval.h"
#include "runtime/ops/registry.h"
#include "runtime/pack/byte_reader.h"

namespace spirloom::ops {

// Evaluates validated formulas (CheckFormula) of one op for one call. Lets are evaluated at their
// first use and cached. Errors are set in `eval`. Refers to `eval`, `lets` and `call`; `device` has
// the values of device properties.
class FormulaEvaluator {
 public:
  FormulaEvaluator(Eval& eval, std::span<const LetInfo> lets, const Call& call,
                   const DeviceProperties& device = {});

  // Sets the values of `storage` and `i` in push and grid formulas.
  void SetDispatch(Storage storage, int64_t dispatch);

  // Called when the tensors of the call were replaced: cached lets with tensors become invalid.
  void InvalidateTensors();

  // The value of a formula of the given kind.
  int64_t Int(Formula formula);
  double Float(Formula formula);
  Ints List(Formula formula);
  // The value of a formula of any kind, in the corresponding member of Value.
  Value Any(Formula formula, ValueKind kind);
  // The value of a let.
  const Value& Let(size_t let);

 private:
  using TensorList = std::span<const TensorDesc* const>;

  // Evaluates `part` by `node`, then continues at the current position.
  template <typename F>
  auto ReadPart(Formula part, const F& node);
  // Evaluates another formula, which has its own comprehensions.
  template <typename F>
  auto Evaluate(Formula formula, const F& node);

  // Evaluates the node at the current position, of the given kind.
  int64_t IntNode();
  int64_t SpecialIntNode(Opcode code);
  int64_t DeviceProperty(std::string_view name) const;
  int64_t IntOperation(Opcode code);
  int64_t Comparison(Opcode code);
  double FloatNode();
  double FloatOperation(Opcode code);
  Ints ListNode();
  Ints ListOperation(Opcode code);
  std::string_view TextNode();
  const TensorDesc& TensorNode();
  TensorList TensorsNode();
  template <typename T>
  T Node();

  // Evaluates the operands of a function of Eval in order and calls it.
  template <typename R, typename... A>
  R Apply(R (Eval::*function)(A...));
  // Evaluates two operands of type T and calls `function`.
  template <typename T, typename F>
  auto Pair(const F& function);
  // Evaluates one branch of a conditional by `node`.
  template <typename F>
  auto Branch(const F& node);

  int64_t Logic(bool is_and);
  Ints ListOf();
  Ints Each(bool has_condition);
  // The argument or let whose index is at the current position.
  const Value& ArgOrLet(Opcode code);

  Eval& eval_;
  std::span<const LetInfo> let_infos_;
  const Call& call_;
  Storage storage_ = Storage::kAuto;
  int64_t dispatch_ = 0;
  DeviceProperties device_;
  pack::ByteReader in_{Formula()};
  std::vector<Value> lets_;
  std::vector<bool> known_;     // whether a let is cached
  std::vector<int64_t> loops_;  // variables of the enclosing comprehensions
  size_t first_loop_ = 0;       // index in loops_ of the formula's outermost comprehension
  uint32_t steps_ = 0;          // total iterations of comprehensions
};

}  // namespace spirloom::ops

#endif  // SPIRLOOM_RUNTIME_OPS_FORMULA_EVAL_H_
