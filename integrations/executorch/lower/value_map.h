// The values of a program as tensors of the graph that is made of it, and as sizes.
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
#include "integrations/executorch/names/name_table.h"
#include "spirloom/status.h"

namespace spirloom::delegate {

inline constexpr size_t kMaxSymbols = 64;  // of a graph file

// A number that may vary.
struct SymValue {
  uint32_t step = 0;
  int64_t greatest = 0;         // its value at the greatest sizes of the inputs
  std::optional<SymExpr> expr;  // none: a graph file cannot say it
};

struct InputElement {
  uint32_t tensor = 0;  // of the graph
  int64_t index = 0;
};

class ValueMap {
 public:
  ValueMap(const Program& program, const NameTable& names, GraphWriter& graph)
      : program_(program), graph_(graph), states_(FindStates(program, names)) {}

  // Makes the program's inputs the graph's. Call first.
  Status AddInputs();
  // Makes the buffers that calls write the graph's states. Call next, and, when all calls are
  // lowered, FinishStates().
  Status AddStates();
  Status FinishStates();
  bool is_state(uint32_t id) const { return states_.contains(id); }

  const Value& value(uint32_t id) const { return program_.values[id]; }
  const TensorValue* tensor(uint32_t id) const { return std::get_if<TensorValue>(&value(id)); }

  // The graph's tensor. Fails for a value that nothing defines (yet), for state, and for 64-bit
  // constants that 32 bits do not hold.
  Result<uint32_t> TensorOf(uint32_t id);
  // A constant of one number.
  Result<uint32_t> ScalarOf(double number, DType dtype, const Shape& shape = {});
  // Declares the tensor that a node computes for the value.
  uint32_t Declare(uint32_t id);
  // The value is this tensor of the graph.
  Status Define(uint32_t id, uint32_t tensor);
  // The same of a value that is defined already, for a tensor computed from what it was.
  void Replace(uint32_t id, uint32_t tensor) { tensors_[id] = tensor; }

  // Whether a call or the program's outputs take the value.
  bool IsRead(uint32_t id) const;

  // The number that an int, a symbolic int or a bool is.
  Result<SymValue> SymOf(uint32_t id);
  Status DefineSym(uint32_t id, SymValue sym);
  SymValue ConstantSym(int64_t number);
  // What a symbolic int computes of two.
  SymValue CombineSyms(SymKind kind, const SymValue& left, const SymValue& right);
  // The size of a dim of a tensor, negative dims from the end. Fails where only a run tells it.
  Result<SymValue> SizeSym(uint32_t id, int64_t dim);
  // An element of an input, read as a number before a run: the symbolic int `result`.
  Result<SymValue> ElementSym(uint32_t id, int64_t dim, int64_t index, uint32_t result);
  // Where the number lies if it is an element of an input of rank 1.
  std::optional<InputElement> ElementOf(const SymValue& sym) const;
  // The number as an argument. What a graph file cannot say becomes a symbol of its own.
  Result<SizedInt> Sized(const SymValue& sym);
  // The sizes of a tensor of the graph, from a dim on.
  std::vector<SizedInt> ShapeOf(uint32_t tensor, size_t first) const;

  // What was used and not defined because its own call failed: no mistake of its user's.
  void Poison(uint32_t id) { poisoned_[id] = true; }
  bool is_poisoned(uint32_t id) const { return poisoned_.contains(id); }

  // What was added to `part` to give `sum`, if that is how it was computed.
  std::optional<SymValue> Difference(const SymValue& sum, const SymValue& part) const;
  // A run in which the number is not between 0 and `most` fails.
  void Check(const SymValue& sym, int64_t most) { places_.push_back({sym.step, most}); }
  // The number as an argument that is a place in a tensor: a run in which it is not between 0 and
  // `most` fails.
  Result<SizedInt> Place(const SymValue& sym, int64_t most);
  const std::vector<PlaceStep>& places() const { return places_; }
  // Sizes cannot vary: `what` has them from the file.
  void Fix(std::string what) { fixed_by_ = std::move(what); }
  const std::string& fixed_by() const { return fixed_by_; }

  const std::vector<SymStep>& steps() const { return steps_; }
  const std::vector<uint32_t>& size_steps() const { return size_steps_; }

 private:
  Status AddTensorInput(size_t input, uint32_t id);
  uint32_t AddStep(SymStep step);
  Result<uint32_t> AddConstantTensor(uint32_t id, const TensorValue& tensor);
  std::span<const std::byte> BytesOf(const TensorValue& constant) const;
  Result<uint32_t> InputOf(uint32_t id, const char* what) const;

  const Program& program_;
  GraphWriter& graph_;
  std::map<uint32_t, uint32_t> states_;   // value → the constant that it begins with
  std::map<uint32_t, uint32_t> olds_;     // such a value → the tensor that it is before a run
  std::map<uint32_t, uint32_t> tensors_;  // value → tensor of the graph
  std::map<uint32_t, uint32_t> inputs_;   // tensor of the graph → the program's input that it is
  std::map<uint32_t, SymValue> syms_;
  std::map<uint32_t, std::vector<uint32_t>> dims_;  // tensor of the graph → entries of its sizes
  std::map<uint32_t, std::vector<std::optional<uint32_t>>> symbols_;  // → symbols of its dims
  std::map<uint32_t, uint32_t> constants_;                            // value → tensor
  std::map<uint32_t, bool> poisoned_;
  std::vector<SymStep> steps_;
  std::map<uint32_t, std::pair<SymValue, SymValue>> sums_;  // step → what it adds
  std::vector<uint32_t> size_steps_;
  std::vector<PlaceStep> places_;
  std::string fixed_by_;
};

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_VALUE_MAP_H_
