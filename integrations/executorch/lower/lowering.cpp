#include "integrations/executorch/lower/lowering.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "integrations/executorch/lower/binder.h"
#include "integrations/executorch/lower/call_handlers.h"
#include "integrations/executorch/lower/graph_writer.h"
#include "integrations/executorch/lower/value_map.h"
#include "runtime/base/error.h"

namespace spirloom::delegate {
namespace {

class Lowering {
 public:
  Lowering(const Program& program, const NameTable& names)
      : program_(program),
        graph_(program.bytes),
        values_(program, names, graph_),
        binder_(names, values_, graph_),
        handlers_(binder_, values_, graph_) {}

  Result<Lowered> Run() && {
    SPIRLOOM_TRY(values_.AddInputs());
    SPIRLOOM_TRY(values_.AddStates());
    for (const Call& call : program_.calls) LowerCall(call);
    Lowered lowered;
    for (size_t i = 0; i < program_.outputs.size(); ++i) AddOutput(i, lowered);
    SPIRLOOM_TRY(Problems());
    SPIRLOOM_TRY(values_.FinishStates());
    for (const uint32_t id : program_.inputs) lowered.inputs.push_back(IoSpecOf(id));
    lowered.int_inputs = values_.int_inputs();
    lowered.steps = values_.steps();
    lowered.index_steps = values_.index_steps();
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
    Status status = handlers_.Lower(call);
    if (status.ok()) return;
    // An unknown operator is reported once, not for each call.
    const bool unknown = status.code() == StatusCode::kNotFound;
    AddProblem(status.message(), unknown ? "" : Format(" ({} #{})", call.name, call.node_id));
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
    IoSpec spec = IoSpecOf(id);
    Status status = spec.is_tensor ? AddTensorOutput(i, id, spec) : FindStep(id, spec);
    if (!status.ok()) AddProblem(status.message(), Format(" (output {})", i));
    lowered.outputs.push_back(std::move(spec));
  }

  Status FindStep(uint32_t id, IoSpec& spec) {
    SPIRLOOM_TRY_ASSIGN(const SymValue sym, values_.SymOf(id));
    spec.step = sym.step;
    return Status();
  }

  // A graph output must be computed by a node and be distinct from inputs, constants and other
  // outputs. Otherwise a copy is added.
  Status AddTensorOutput(size_t i, uint32_t id, IoSpec& spec) {
    const TensorValue& source = *values_.tensor(id);
    SPIRLOOM_TRY_ASSIGN(const uint32_t computed, values_.TensorOf(id));
    // Floats declared as integers, which only call handlers define, are floats in the program too.
    if (IsFloat(graph_.dtype(computed)) && !IsFloat(DeviceType(spec.type))) {
      spec.type = ElementType::kF32;
    }
    const DType dtype = DeviceType(spec.type);
    if (dtype == graph_.dtype(computed) && graph_.is_computed(computed) &&
        returned_.insert(computed).second) {
      graph_.AddOutput(computed);
      return Status();
    }
    const uint32_t staging = graph_.AddTensor(Concat("output ", i), dtype, source.shape);
    std::vector<schema::ArgT> args;
    args.push_back(TensorArg(computed));
    args.push_back(TextArg(ShortName(dtype)));
    graph_.AddNode("aten._to_copy", Concat("output ", i), std::move(args), {staging});
    graph_.AddOutput(staging);
    return Status();
  }

  IoSpec IoSpecOf(uint32_t id) const {
    IoSpec spec;
    if (const TensorValue* tensor = values_.tensor(id)) {
      spec.is_tensor = true;
      spec.type = tensor->staging_type;
      spec.bounds = tensor->shape;
    }
    return spec;
  }

  Status Problems() const {
    if (problems_.empty()) return Status();
    if (problems_.size() == 1) return Error(StatusCode::kUnsupported, "{}", problems_[0]);
    return Error(StatusCode::kUnsupported, "The delegate has {} errors:\n - {}", problems_.size(),
                 Join(problems_, "\n - "));
  }

  const Program& program_;
  GraphWriter graph_;
  ValueMap values_;
  Binder binder_;
  CallHandlers handlers_;
  std::vector<std::string> problems_;
  std::set<uint32_t> returned_;  // tensors that are outputs
};

}  // namespace

Result<Lowered> Lower(const Program& program, const NameTable& names) {
  return Lowering(program, names).Run();
}

}  // namespace spirloom::delegate
