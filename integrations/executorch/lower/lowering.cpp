#include "integrations/executorch/lower/lowering.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "integrations/executorch/lower/binder.h"
#include "integrations/executorch/lower/graph_writer.h"
#include "integrations/executorch/lower/structure.h"
#include "integrations/executorch/lower/value_map.h"
#include "runtime/base/error.h"

namespace spirloom::delegate {
namespace {

class Lowering {
 public:
  Lowering(const Program& program, const NameTable& names)
      : program_(program),
        values_(program, names, graph_),
        binder_(names, values_, graph_),
        structure_(binder_, values_, graph_) {}

  Result<Lowered> Run() && {
    SPIRLOOM_TRY(values_.AddInputs());
    SPIRLOOM_TRY(values_.AddStates());
    for (const Call& call : program_.calls) LowerCall(call);
    Lowered lowered;
    for (size_t i = 0; i < program_.outputs.size(); ++i) AddOutput(i, lowered);
    SPIRLOOM_TRY(Problems());
    SPIRLOOM_TRY(values_.FinishStates());
    for (const uint32_t id : program_.inputs) lowered.inputs.push_back(BorderOf(id));
    lowered.size_steps = values_.size_steps();
    lowered.steps = values_.steps();
    lowered.places = values_.places();
    lowered.fixed_by = values_.fixed_by();
    lowered.graph = std::move(graph_).Write();
    return lowered;
  }

 private:
  void LowerCall(const Call& call) {
    if (call.name == kPrepack && values_.is_state(ResultOf(call))) return;
    if (std::ranges::any_of(call.args, [&](uint32_t id) { return IsPoisoned(id); })) {
      return PoisonResults(call);
    }
    Status status = structure_.Lower(call);
    if (status.ok()) return;
    // What no operator serves is said once, not for each call of it.
    const bool unknown = status.code() == StatusCode::kNotFound;
    AddProblem(status.message(), unknown ? "" : Concat({" (", call.name, " #", call.node_id, ")"}));
    PoisonResults(call);
  }

  bool IsPoisoned(uint32_t id) const {
    if (values_.is_poisoned(id)) return true;
    const auto* list = std::get_if<ValueList>(&values_.value(id));
    return list != nullptr && std::ranges::any_of(list->items, [&](uint32_t item) {
             return values_.is_poisoned(item);
           });
  }

  void PoisonResults(const Call& call) {
    for (const uint32_t id : binder_.Results(call)) values_.Poison(id);
  }

  void AddProblem(std::string text, std::string where) {
    const size_t end = text.find('\n');
    text.insert(end == std::string::npos ? text.size() : end, where);
    if (std::ranges::find(problems_, text) == problems_.end()) problems_.push_back(std::move(text));
  }

  void AddOutput(size_t i, Lowered& lowered) {
    const uint32_t id = program_.outputs[i];
    if (IsPoisoned(id)) return;
    Border border = BorderOf(id);
    Status status = border.is_tensor ? AddTensorOutput(i, id) : FindStep(id, border);
    if (!status.ok()) AddProblem(status.message(), Concat({" (output ", i, ")"}));
    lowered.outputs.push_back(std::move(border));
  }

  Status FindStep(uint32_t id, Border& border) {
    SPIRLOOM_TRY_ASSIGN(const SymValue sym, values_.SymOf(id));
    border.step = sym.step;
    return Status();
  }

  // Each is a tensor of its own that a node computes: never an input, a constant or another output.
  Status AddTensorOutput(size_t i, uint32_t id) {
    const TensorValue& source = *values_.tensor(id);
    SPIRLOOM_TRY_ASSIGN(const uint32_t inside, values_.TensorOf(id));
    const DType dtype = DeviceType(source.outside);
    if (dtype == graph_.dtype(inside) && graph_.is_computed(inside) &&
        returned_.insert(inside).second) {
      graph_.AddOutput(inside);
      return Status();
    }
    const uint32_t outside = graph_.AddTensor(Concat({"output ", i}), dtype, source.shape);
    std::vector<schema::ArgT> args;
    args.push_back(TensorArg(inside));
    args.push_back(TextArg(ShortName(dtype)));
    graph_.AddNode("aten._to_copy", Concat({"output ", i}), std::move(args), {outside});
    graph_.AddOutput(outside);
    return Status();
  }

  Border BorderOf(uint32_t id) const {
    Border border;
    if (const TensorValue* tensor = values_.tensor(id)) {
      border.is_tensor = true;
      border.type = tensor->outside;
      border.bounds = tensor->shape;
    }
    return border;
  }

  Status Problems() const {
    if (problems_.empty()) return Status();
    if (problems_.size() == 1) return Error(StatusCode::kUnsupported, {problems_[0]});
    return Error(StatusCode::kUnsupported, {"The delegate cannot run for ", problems_.size(),
                                            " reasons:\n - ", Join(problems_, "\n - ")});
  }

  const Program& program_;
  GraphWriter graph_;
  ValueMap values_;
  Binder binder_;
  Structure structure_;
  std::vector<std::string> problems_;
  std::set<uint32_t> returned_;  // tensors that are outputs
};

}  // namespace

Result<Lowered> Lower(const Program& program, const NameTable& names) {
  return Lowering(program, names).Run();
}

}  // namespace spirloom::delegate
