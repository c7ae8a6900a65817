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

// Evaluates formulas of one op for one call. Formulas have passed CheckFormula. A let is evaluated
// when it is first used, and kept. What has no value leaves its error in `eval`. Refers to `eval`,
// `lets` and `call`; `device` gives `is_cpu` and `subgroup_size` their meaning.
class FormulaEvaluator {
 public:
  FormulaEvaluator(Eval& eval, std::span<const LetInfo> lets, const Call& call,
                   const DeviceFacts& device = {});

  // Gives `storage` and `i` their meaning in push and grid.
  void SetDispatch(Storage storage, int64_t dispatch);

  // The call's tensors are others now; lets that are tensors have no value any more.
  void ForgetTensors();

  // The value of a formula of that kind.
  int64_t Int(Formula formula);
  double Float(Formula formula);
  Ints List(Formula formula);
  // The value of a formula of any kind, in the member of Value for it.
  Value Any(Formula formula, ValueKind kind);
  // The value of a let.
  const Value& Let(size_t let);

 private:
  using TensorList = std::span<const TensorDesc* const>;

  // Reads `part`, then goes on; `node` reads a node.
  template <typename F>
  auto Inside(Formula part, const F& node);
  // As Inside, for another formula, with comprehensions of its own.
  template <typename F>
  auto Within(Formula formula, const F& node);

  // The node at the reader, of that kind.
  int64_t IntNode();
  int64_t IntForm(Opcode code);
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

  // Reads the operands that a function of Eval takes, in order, and calls it.
  template <typename R, typename... A>
  R Apply(R (Eval::*function)(A...));
  // Reads two operands of type T and calls `function`.
  template <typename T, typename F>
  auto Pair(const F& function);
  // Reads a conditional: one of its branches, by `node`.
  template <typename F>
  auto Branch(const F& node);

  int64_t Logic(bool is_and);
  Ints ListOf();
  Ints Each(bool has_condition);
  // The argument or let whose number is at the reader.
  const Value& Named(Opcode code);

  Eval& eval_;
  std::span<const LetInfo> let_infos_;
  const Call& call_;
  Storage storage_ = Storage::kAuto;
  int64_t dispatch_ = 0;
  DeviceFacts device_;
  pack::ByteReader in_{Formula()};
  std::vector<Value> lets_;
  std::vector<bool> known_;     // which lets have a value
  std::vector<int64_t> loops_;  // the values of the comprehensions' names, outermost first
  size_t first_loop_ = 0;       // of the formula being evaluated
  uint32_t steps_ = 0;          // taken by comprehensions
};

}  // namespace spirloom::ops

#endif  // SPIRLOOM_RUNTIME_OPS_FORMULA_EVAL_H_
