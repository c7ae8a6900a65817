// Maps the values of a program to tensors and sizes of the graph.
#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_VALUE_MAP_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_VALUE_MAP_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "integrations/executorch/blob/program.h"
#include "integrations/executorch/lower/graph_writer.h"
#include "integrations/executorch/lower/states.h"
#include "integrations/executorch/lower/sym_ints.h"
#include "integrations/executorch/lower/upper_bounds.h"
#include "integrations/executorch/names/name_table.h"
#include "spirloom/status.h"

namespace spirloom::delegate {

inline constexpr size_t kMaxSymbols = 64;  // of a graph file

// A symbolic or constant int.
struct SymValue {
  uint32_t step = 0;
  int64_t upper_bound = 0;      // its value at the maximum sizes of the inputs
  std::optional<SymExpr> expr;  // none: not expressible in a graph file
};

struct InputElement {
  uint32_t tensor = 0;  // of the graph
  int64_t index = 0;
};

class ValueMap {
 public:
  ValueMap(const Program& program, const NameTable& names, GraphWriter& graph)
      : program_(program),
        graph_(graph),
        states_(FindStates(program, names)),
        upper_bounds_(program) {}

  // Adds the program's inputs to the graph. Call first.
  Status AddInputs();
  // Adds the mutable buffers as states of the graph. Call second; call FinishStates() after all
  // calls are lowered.
  Status AddStates();
  Status FinishStates();
  bool is_state(uint32_t id) const { return states_.contains(id); }

  const Value& value(uint32_t id) const { return program_.values[id]; }
  const TensorValue* tensor(uint32_t id) const { return std::get_if<TensorValue>(&value(id)); }

  // The graph's tensor of the value. Fails for an undefined value and for 64-bit constants out of
  // 32-bit range.
  Result<uint32_t> TensorOf(uint32_t id);
  // The bytes, in the device's dtype, of a value that is constant.
  Result<std::optional<std::span<const std::byte>>> ConstantOf(uint32_t id);
  // A constant with one element.
  Result<uint32_t> ScalarOf(double value, DType dtype, const Shape& shape = {});
  // Adds the tensor of a value that a node computes.
  uint32_t Declare(uint32_t id);
  // Maps the value to the tensor. Fails if the value is defined.
  Status Define(uint32_t id, uint32_t tensor);
  // Maps a defined value to another tensor, computed from the previous one.
  void Replace(uint32_t id, uint32_t tensor) { tensors_[id] = tensor; }

  // Whether a call or the program's outputs read the value.
  bool IsRead(uint32_t id) const;

  // The value of an int, a symbolic int or a bool.
  Result<SymValue> SymOf(uint32_t id);
  Status DefineSym(uint32_t id, SymValue sym);
  SymValue ConstantSym(int64_t value);
  // Applies an arithmetic operation.
  SymValue CombineSyms(SymKind kind, const SymValue& left, const SymValue& right);
  // The size of a dim of a tensor, negative dims from the end. Fails for computed tensors.
  Result<SymValue> SizeSym(uint32_t id, int64_t dim);
  // An element of an input, read on the host before a run: the symbolic int `result`.
  Result<SymValue> ElementSym(uint32_t id, int64_t dim, int64_t index, uint32_t result);
  // The tensor and index if the value is an element of an input of rank 1.
  std::optional<InputElement> ElementOf(const SymValue& sym) const;
  // An i32 tensor of shape [1] with the value, which each run uploads: another value needs no
  // other execution plan.
  uint32_t IntTensorOf(const SymValue& sym);
  // The value as a node argument. A value without a SymExpr becomes a separate symbol: each value
  // has its own execution plan.
  Result<SizedInt> Sized(const SymValue& sym);
  // The sizes of a tensor of the graph, starting at dim `first`.
  std::vector<SizedInt> ShapeOf(uint32_t tensor, size_t first) const;

  // Marks the result of a failed call, so that its users report no further errors.
  void Poison(uint32_t id) { poisoned_[id] = true; }
  bool is_poisoned(uint32_t id) const { return poisoned_.contains(id); }

  // The other operand if `sum` was computed as an addition with `part`.
  std::optional<SymValue> Difference(const SymValue& sum, const SymValue& part) const;
  // A run fails if the value is not between 0 and `max`.
  void CheckIndex(const SymValue& sym, int64_t max) { index_steps_.push_back({sym.step, max}); }
  // Sized() with CheckIndex(): the value as an argument that indexes a tensor.
  Result<SizedInt> CheckedIndex(const SymValue& sym, int64_t max);
  const std::vector<IndexStep>& index_steps() const { return index_steps_; }
  // Rejects other input sizes: the lowering of the call depends on the declared sizes.
  void RequireFixedSizes(std::string call) { fixed_by_ = std::move(call); }
  const std::string& fixed_by() const { return fixed_by_; }

  const std::vector<SymStep>& steps() const { return steps_; }
  const std::vector<IntInput>& int_inputs() const { return int_inputs_; }

 private:
  Status AddTensorInput(size_t input, uint32_t id);
  uint32_t AddStep(SymStep step);
  Result<std::span<const std::byte>> DeviceBytesOf(uint32_t id, const TensorValue& value);
  Result<uint32_t> InputOf(uint32_t id, const char* what) const;

  const Program& program_;
  GraphWriter& graph_;
  std::map<uint32_t, uint32_t> states_;  // value → its initial constant
  UpperBounds upper_bounds_;
  std::map<uint32_t, uint32_t> initial_tensors_;  // state → its tensor before a run
  std::map<uint32_t, uint32_t> tensors_;          // value → tensor of the graph
  std::map<uint32_t, uint32_t> inputs_;           // tensor of the graph → input of the program
  std::map<uint32_t, SymValue> syms_;
  std::map<uint32_t, std::vector<uint32_t>> dims_;  // tensor of the graph → entries of its sizes
  std::map<uint32_t, std::vector<std::optional<uint32_t>>>
      symbols_;                             // tensor → symbols of its dims
  std::map<uint32_t, uint32_t> constants_;  // value → tensor
  std::map<uint32_t, bool> poisoned_;
  std::vector<SymStep> steps_;
  std::map<uint32_t, std::pair<SymValue, SymValue>> sums_;  // step → operands of its addition
  std::vector<IntInput> int_inputs_;
  std::map<uint32_t, uint32_t> int_tensors_;  // step → input of the graph with its value
  std::vector<IndexStep> index_steps_;
  std::string fixed_by_;
};

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_VALUE_MAP_H_
