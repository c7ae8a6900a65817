#include "runtime/graph/plan/plan_specializer.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <map>
#include <string>
#include <utility>

#include "runtime/graph/file/tensor_size.h"
#include "runtime/graph/plan/call_key.h"
#include "runtime/graph/plan/call_lowering.h"
#include "runtime/graph/plan/concat_elision.h"
#include "runtime/graph/plan/in_place_updates.h"
#include "runtime/graph/plan/kernel_choice.h"
#include "runtime/graph/plan/op_call.h"

namespace spirloom::graph {
namespace {

std::span<const int64_t> DimsOf(const ops::Ints& shape) { return {shape.begin(), shape.size()}; }

void AppendText(std::vector<int64_t>& key, const std::string& text) {
  key.push_back(std::ssize(text));
  for (const char c : text) key.push_back(c);
}

template <typename T>
void AppendAddress(std::vector<int64_t>& key, const T* address) {
  key.push_back(static_cast<int64_t>(reinterpret_cast<uintptr_t>(address)));
}

// Whether the sizes of `arg` have the same values as in `arg`.
bool IsUnchanged(const Arg& arg, const PlanValues& values) {
  for (size_t i = 0; i < arg.sizes.size(); ++i) {
    if (arg.sizes[i] != kFixedSize && values.sizes[arg.sizes[i]] != arg.ints[i]) return false;
  }
  return arg.number == kFixedSize ||
         std::bit_cast<uint64_t>(values.numbers[arg.number]) == std::bit_cast<uint64_t>(arg.f);
}

// Sets the values, but not the tensors, of `args` to those of `from`.
void SetValues(std::vector<Arg>& args, const std::vector<Arg>& from) {
  for (size_t i = 0; i < args.size(); ++i) {
    args[i].ints = from[i].ints;
    args[i].f = from[i].f;
    args[i].s = from[i].s;
  }
}

void SetSizes(Arg& arg, const PlanValues& values) {
  for (size_t i = 0; i < arg.sizes.size(); ++i) {
    if (arg.sizes[i] != kFixedSize) arg.ints[i] = values.sizes[arg.sizes[i]];
  }
  if (arg.number != kFixedSize) arg.f = values.numbers[arg.number];
}

bool HaveSameEmptiness(const std::vector<DispatchValues>& a, const std::vector<DispatchValues>& b) {
  return std::ranges::equal(a, b, [](const DispatchValues& x, const DispatchValues& y) {
    return x.is_empty() == y.is_empty();
  });
}

// A call with tensors of its own, which have the shapes of an evaluation.
class ScratchCall {
 public:
  ScratchCall(const Plan& plan, const PlanValues& values, const TracedCall& call,
              const ops::DeviceProperties& device)
      : plan_(plan),
        values_(values),
        args_(ArgsOf(ValuesOf(call, values))),
        outputs_(IndicesOf(call.outputs)),
        bound_(call.node ? ArgsOf(call.node->args) : std::vector<Arg>()),
        call_(*call.op, args_, outputs_, tensors_, device) {}

  OpCall& call() { return call_; }
  ops::TensorDesc& output(size_t i) { return tensors_[outputs_[i]].desc; }
  void BindOperands() { call_.Rebind(std::move(bound_)); }

 private:
  // Returns the arguments; those of a call that packs an operand are values of another call.
  static std::vector<Arg> ValuesOf(const TracedCall& call, const PlanValues& values) {
    std::vector<Arg> args = call.args;
    if (call.packed_for != kNoCall)
      SetValues(args, values.calls[call.packed_for]->packs[call.pack]);
    return args;
  }
  uint32_t IndexOf(uint32_t tensor) {
    const auto found = std::ranges::find(sources_, tensor);
    if (found != sources_.end()) return static_cast<uint32_t>(found - sources_.begin());
    const ops::TensorDesc& source = plan_.tensors[tensor].desc;
    PlanTensor& added = tensors_.emplace_back();
    added.desc.dtype = source.dtype;
    added.desc.storage = source.storage;
    added.desc.shape = ops::Ints(values_.shapes[values_.tensors[tensor].shape]);
    sources_.push_back(tensor);
    return static_cast<uint32_t>(sources_.size() - 1);
  }
  std::vector<uint32_t> IndicesOf(std::vector<uint32_t> tensors) {
    for (uint32_t& tensor : tensors) tensor = IndexOf(tensor);
    return tensors;
  }
  std::vector<Arg> ArgsOf(std::vector<Arg> args) {
    for (Arg& arg : args) {
      arg.tensors = IndicesOf(std::move(arg.tensors));
      SetSizes(arg, values_);
    }
    return args;
  }

  const Plan& plan_;
  const PlanValues& values_;
  std::deque<PlanTensor> tensors_;
  std::vector<uint32_t> sources_;  // by index in tensors_: the tensor of the plan
  std::vector<Arg> args_;
  std::vector<uint32_t> outputs_;
  std::vector<Arg> bound_;
  OpCall call_;
};

}  // namespace

// Evaluates the calls in order. Functions return false if the plan cannot be specialized.
class PlanSpecializer::Evaluation {
 public:
  Evaluation(const PlanSpecializer& specializer, const Graph& graph)
      : from_(specializer), graph_(graph) {}

  bool Run(std::span<const int64_t> symbols) {
    Result<std::vector<int64_t>> sizes = graph::Evaluate(graph_.sizes, symbols);
    if (!sizes.ok()) return false;
    values_.sizes = std::move(*sizes);
    values_.numbers = graph::Evaluate(graph_.numbers, values_.sizes);
    values_.shapes = from_.shapes_;
    values_.tensors = from_.tensors_;
    values_.calls.resize(from_.inputs_.size());
    if (!SetInputs()) return false;
    for (uint32_t i = 0; i < from_.inputs_.size(); ++i) {
      if (!SetCall(i)) return false;
    }
    for (const auto& [source, copy] : from_.trace_.copies) {
      values_.tensors[copy].shape = values_.tensors[source].shape;
      values_.tensors[copy].size = values_.tensors[source].size;
    }
    return CompareTensors() && ComparePairs() && ComparePacks() && AliasBuffers() &&
           CompareCopies();
  }

  PlanValues TakeValues() { return std::move(values_); }

 private:
  bool SetTensor(const ops::TensorDesc& desc, TensorValues& tensor) {
    const Result<uint64_t> size = DenseSize(desc);
    if (!size.ok()) return false;
    tensor.size = *size;
    tensor.shape = values_.shapes.Add(DimsOf(desc.shape)).first;
    return true;
  }

  bool SetInputs() {
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      const Tensor& source = graph_.tensors[graph_.inputs[i]];
      ops::TensorDesc desc;
      desc.dtype = source.dtype;
      desc.shape = ops::Ints(std::span<const int64_t>(source.shape));
      for (size_t k = 0; k < source.sizes.size(); ++k) {
        if (source.sizes[k] != kFixedSize) desc.shape[k] = values_.sizes[source.sizes[k]];
      }
      if (!SetTensor(desc, values_.tensors[from_.plan_.inputs[i]])) return false;
    }
    return true;
  }

  bool SetCall(uint32_t index) {
    const TracedCall& call = from_.trace_.calls[index];
    if (call.node && call.node->is_constant) return IsConstantUnchanged(call);
    const auto [equal, is_new] = evaluated_.Add(KeyOf(call, from_.inputs_[index]));
    if (is_new) {
      values_.evaluated.emplace_back();
      if (!EvaluateCall(call, values_.evaluated.back())) return false;
    }
    const CallValues& found = values_.evaluated[equal];
    values_.calls[index] = &found;
    for (size_t i = 0; i < call.outputs.size(); ++i) {
      TensorValues& output = values_.tensors[call.outputs[i]];
      output.shape = found.outputs[i].shape;
      output.size = found.outputs[i].size;
    }
    return call.op->op->view_of < 0 || SetView(call, found);
  }

  bool IsConstantUnchanged(const TracedCall& call) const {
    if (call.packed_for != kNoCall) {
      const CallValues* found = values_.calls[call.packed_for];
      const TracedPack& pack = from_.trace_.calls[call.packed_for].packs[call.pack];
      return found == nullptr || found->packs[call.pack] == pack.args;
    }
    return std::ranges::all_of(call.args,
                               [&](const Arg& arg) { return IsUnchanged(arg, values_); });
  }

  std::span<const int64_t> KeyOf(const TracedCall& call, const CallInputs& inputs) {
    key_.clear();
    key_.push_back(inputs.call_class);
    for (const uint32_t tensor : inputs.tensors) key_.push_back(values_.tensors[tensor].shape);
    for (const uint32_t size : inputs.sizes) key_.push_back(values_.sizes[size]);
    for (const uint32_t i : inputs.numbers) {
      key_.push_back(std::bit_cast<int64_t>(values_.numbers[i]));
    }
    if (inputs.is_packed) {
      for (const Arg& arg : values_.calls[call.packed_for]->packs[call.pack]) {
        key_.insert(key_.end(), arg.ints.begin(), arg.ints.end());
        key_.push_back(std::bit_cast<int64_t>(arg.f));
      }
    }
    return key_;
  }

  // As LowerView().
  bool SetView(const TracedCall& call, const CallValues& found) {
    const ops::OpInfo& op = *call.op->op;
    const uint32_t source = call.args[static_cast<size_t>(op.view_of)].tensors[0];
    const TensorValues& whole = values_.tensors[source];
    TensorValues& part = values_.tensors[call.outputs[0]];
    if (op.view_offset.empty()) {
      if (call.node) return true;
      part.alias_offset = whole.alias_offset;
      return whole.size == part.size;
    }
    const uint64_t element = ElementSize(from_.plan_.tensors[source].desc.dtype);
    bool is_aliased = !from_.is_constant_[source] && part.size > 0 && found.view_offset >= 0;
    if (is_aliased) {
      const auto offset = static_cast<uint64_t>(found.view_offset);
      if (offset > whole.size / element || part.size > whole.size - offset * element) return false;
      const uint64_t in_root = whole.alias_offset + offset * element;
      is_aliased = in_root % from_.device_.buffer_offset_alignment == 0;
      if (is_aliased && !call.node) part.alias_offset = in_root;
    }
    return is_aliased != call.node.has_value();
  }

  bool EvaluateCall(const TracedCall& call, CallValues& result) {
    ScratchCall scratch(from_.plan_, values_, call, from_.device_.properties);
    Result<std::vector<ops::TensorDesc>> outputs = CallLowering::Infer(scratch.call());
    if (!outputs.ok()) return false;
    for (size_t i = 0; i < call.outputs.size(); ++i) {
      const ops::TensorDesc& inferred = (*outputs)[i];
      if (inferred.dtype != from_.plan_.tensors[call.outputs[i]].desc.dtype) return false;
      if (!SetTensor(inferred, result.outputs.emplace_back())) return false;
      scratch.output(i).shape = inferred.shape;
    }
    ops::CallFormulas& formulas = scratch.call().formulas();
    if (call.op->op->view_of >= 0) result.view_offset = formulas.ViewOffset();
    if (!formulas.status().ok()) return false;
    return !call.node || EvaluateNode(call, scratch, result);
  }

  bool EvaluateNode(const TracedCall& call, ScratchCall& scratch, CallValues& result) {
    const PlanNode& node = *call.node;
    const Result<KernelSearch> search =
        ChooseKernel(from_.index_, scratch.call(), node.storage, from_.device_,
                     {.named = from_.kernels_, .tuned = {}});
    if (!search.ok() || search->choice.kernel != node.kernel ||
        search->choice.variant.row != node.variant.row) {
      return false;
    }
    Result<std::vector<TracedPack>> packs = PacksOf(from_.index_, *node.kernel, scratch.call());
    if (!packs.ok() || !SetPacks(call, std::move(*packs), result)) return false;
    scratch.BindOperands();
    ops::CallFormulas& formulas = scratch.call().formulas();
    PlanNode evaluated;
    evaluated.kernel = node.kernel;
    evaluated.storage = node.storage;
    const int64_t repeat = formulas.Repeat(*node.kernel);
    if (!formulas.status().ok() || repeat != std::ssize(node.dispatches)) return false;
    const bool may_elide_concat =
        from_.plan_.tensors[node.outputs[0]].storage() == Storage::kBuffer;
    if (!EvaluateDispatches(evaluated, repeat, may_elide_concat, formulas).ok() ||
        !HaveSameEmptiness(evaluated.dispatches, node.dispatches)) {
      return false;
    }
    result.loop_iterations = evaluated.loop_iterations;
    result.dispatches = std::move(evaluated.dispatches);
    result.constants = std::move(evaluated.constants);
    return true;
  }

  // Packed tensors may be computed from other values, but not from other tensors.
  bool SetPacks(const TracedCall& call, std::vector<TracedPack> packs, CallValues& result) {
    const auto have_same_tensors = [](const Arg& a, const Arg& b) {
      return a.kind == b.kind && a.tensors == b.tensors && a.ints.size() == b.ints.size() &&
             a.s == b.s;
    };
    for (size_t i = 0; i < packs.size(); ++i) {
      const TracedPack& before = call.packs[i];
      if (!std::ranges::equal(packs[i].args, before.args, have_same_tensors)) return false;
      if (packs[i].args != before.args) {
        if (!from_.is_packed_[before.packed]) return false;
        packs_changed_ = true;
      }
      result.packs.push_back(std::move(packs[i].args));
    }
    return true;
  }

  // Equal packing calls share their result, and others do not.
  bool ComparePacks() const {
    if (!packs_changed_) return true;
    std::map<std::string, uint32_t> tensors;
    std::map<uint32_t, std::string> keys;
    for (size_t i = 0; i < from_.trace_.calls.size(); ++i) {
      const TracedCall& call = from_.trace_.calls[i];
      std::vector<uint32_t> own;
      for (const Arg& arg : call.args) {
        own.insert(own.end(), arg.tensors.begin(), arg.tensors.end());
      }
      for (size_t k = 0; k < call.packs.size(); ++k) {
        const TracedPack& pack = call.packs[k];
        std::vector<Arg> args =
            values_.calls[i] == nullptr ? pack.args : values_.calls[i]->packs[k];
        for (Arg& arg : args) {
          for (uint32_t& tensor : arg.tensors) tensor = own[tensor];
        }
        std::string key = CallKey(call.node->kernel->operands[pack.operand].pack_op, args,
                                  from_.plan_.tensors[pack.packed].storage());
        if (tensors.try_emplace(key, pack.packed).first->second != pack.packed) return false;
        if (keys.try_emplace(pack.packed, key).first->second != key) return false;
      }
    }
    return true;
  }

  // Empty tensors have no buffer, and constants are computed once.
  bool CompareTensors() const {
    for (size_t i = 0; i < values_.tensors.size(); ++i) {
      const TensorValues& before = from_.tensors_[i];
      const TensorValues& now = values_.tensors[i];
      if ((before.size == 0) != (now.size == 0)) return false;
      if (from_.is_constant_[i] && before.shape != now.shape) return false;
      if (before.size < now.size && (now.buffer_size() > from_.device_.max_storage_buffer_range ||
                                     !std::in_range<size_t>(now.size))) {
        return false;
      }
    }
    return true;
  }

  bool ComparePairs() const {
    const auto are_equal = [&](const auto& pairs, const auto member) {
      return std::ranges::all_of(pairs, [&](const LoweringTrace::TensorPair& pair) {
        return values_.tensors[pair.first].*member == values_.tensors[pair.second].*member;
      });
    };
    const LoweringTrace& trace = from_.trace_;
    return are_equal(trace.equal_shapes, &TensorValues::shape) &&
           are_equal(trace.equal_sizes, &TensorValues::size) &&
           std::ranges::all_of(trace.unequal_sizes, [&](const LoweringTrace::TensorPair& pair) {
             return values_.tensors[pair.first].size != values_.tensors[pair.second].size;
           });
  }

  // Runs the passes that alias buffers, whose conditions compare sizes and offsets.
  bool AliasBuffers() {
    if (!from_.trace_.before_aliasing) return true;
    Plan plan = *from_.trace_.before_aliasing;
    for (size_t i = 0; i < plan.tensors.size(); ++i) {
      plan.tensors[i].size = values_.tensors[i].size;
      plan.tensors[i].alias_offset = values_.tensors[i].alias_offset;
    }
    for (PlanNode& node : plan.nodes) {
      const CallValues* found = node.call == kNoCall ? nullptr : values_.calls[node.call];
      for (size_t i = 0; found != nullptr && i < node.dispatches.size(); ++i) {
        node.dispatches[i].concat_offset = found->dispatches[i].concat_offset;
      }
    }
    ElideConcats(plan, from_.device_);
    UpdateInPlace(plan);
    for (size_t i = 0; i < plan.tensors.size(); ++i) {
      if (plan.tensors[i].alias_of != from_.plan_.tensors[i].alias_of) return false;
      values_.tensors[i].alias_offset = plan.tensors[i].alias_offset;
    }
    return std::ranges::equal(plan.nodes, from_.plan_.nodes, {}, &PlanNode::in_place,
                              &PlanNode::in_place);
  }

  // A copy to the same address is skipped.
  bool CompareCopies() const {
    for (const PlanNode& node : from_.plan_.nodes) {
      if (node.op != nullptr) continue;
      const uint32_t source = node.operands[0][0];
      const uint32_t target = node.operands[1][0];
      const bool have_same_address =
          from_.plan_.Root(source) == from_.plan_.Root(target) &&
          values_.tensors[source].alias_offset == values_.tensors[target].alias_offset;
      if (have_same_address != from_.plan_.HaveSameAddress(source, target)) return false;
    }
    return true;
  }

  const PlanSpecializer& from_;
  const Graph& graph_;
  PlanValues values_;
  bool packs_changed_ = false;
  KeyTable evaluated_;        // the index of a key is that of its values in values_.evaluated
  std::vector<int64_t> key_;  // of the current call
};

PlanSpecializer::PlanSpecializer(const Plan& plan, LoweringTrace trace, const ops::OpIndex& index,
                                 const DeviceTraits& device,
                                 const std::vector<std::string>& kernels)
    : plan_(plan), index_(index), device_(device), kernels_(kernels), trace_(std::move(trace)) {
  assert(trace_.is_complete);
  const Plan& unaliased = trace_.before_aliasing ? *trace_.before_aliasing : plan_;
  for (const PlanTensor& tensor : unaliased.tensors) {
    tensors_.push_back(
        {tensor.size, tensor.alias_offset, shapes_.Add(DimsOf(tensor.desc.shape)).first});
    is_constant_.push_back(tensor.is_constant);
  }
  is_packed_.resize(tensors_.size());
  for (const TracedCall& call : trace_.calls) {
    if (call.packed_for != kNoCall) is_packed_[call.outputs[0]] = true;
  }
  KeyTable classes;
  for (const TracedCall& call : trace_.calls) AddInputs(call, classes);
}

// Calls of a class have equal formulas, equal arguments, and tensors of equal types and shapes in
// the plan. So their values are equal if the inputs are.
void PlanSpecializer::AddInputs(const TracedCall& call, KeyTable& classes) {
  CallInputs inputs;
  std::vector<int64_t> key;
  const auto append_tensor = [&](uint32_t tensor) {
    const ops::TensorDesc& desc = plan_.tensors[tensor].desc;
    key.insert(key.end(), {static_cast<int64_t>(desc.dtype), static_cast<int64_t>(desc.storage),
                           int64_t{tensors_[tensor].shape}});
  };
  AppendAddress(key, call.op);
  for (const Arg& arg : call.args) {
    key.insert(key.end(),
               {static_cast<int64_t>(arg.kind), std::ssize(arg.tensors), std::ssize(arg.ints),
                std::ssize(arg.sizes), int64_t{arg.number}, std::bit_cast<int64_t>(arg.f)});
    for (const uint32_t tensor : arg.tensors) append_tensor(tensor);
    key.insert(key.end(), arg.ints.begin(), arg.ints.end());
    key.insert(key.end(), arg.sizes.begin(), arg.sizes.end());
    AppendText(key, arg.s);
    inputs.tensors.insert(inputs.tensors.end(), arg.tensors.begin(), arg.tensors.end());
    for (const uint32_t size : arg.sizes) {
      if (size != kFixedSize) inputs.sizes.push_back(size);
    }
    if (arg.number != kFixedSize) inputs.numbers.push_back(arg.number);
  }
  for (const uint32_t output : call.outputs) append_tensor(output);
  key.push_back(call.node.has_value() ? 1 : 0);
  if (call.node) {
    AppendAddress(key, call.node->kernel);
    key.push_back(static_cast<int64_t>(call.node->storage));
    for (const Arg& arg : call.node->args) {
      for (const uint32_t tensor : arg.tensors) append_tensor(tensor);
    }
  }
  inputs.is_packed = call.packed_for != kNoCall;
  key.push_back(inputs.is_packed ? 1 : 0);
  for (const TracedPack& pack : call.packs) key.push_back(is_packed_[pack.packed] ? 1 : 0);
  inputs.call_class = classes.Add(key).first;
  inputs_.push_back(std::move(inputs));
}

std::optional<PlanValues> PlanSpecializer::Evaluate(const Graph& graph,
                                                    std::span<const int64_t> symbols) const {
  Evaluation evaluation(*this, graph);
  if (!evaluation.Run(symbols)) return std::nullopt;
  return evaluation.TakeValues();
}

Plan PlanSpecializer::Apply(const PlanValues& values) const {
  Plan plan = plan_;
  for (size_t i = 0; i < plan.tensors.size(); ++i) {
    const TensorValues& tensor = values.tensors[i];
    plan.tensors[i].desc.shape = ops::Ints(values.shapes[tensor.shape]);
    plan.tensors[i].size = tensor.size;
    plan.tensors[i].alias_offset = tensor.alias_offset;
  }
  for (PlanNode& node : plan.nodes) {
    for (Arg& arg : node.args) SetSizes(arg, values);
    if (node.call == kNoCall) continue;
    const TracedCall& call = trace_.calls[node.call];
    if (call.packed_for != kNoCall && values.calls[call.packed_for] != nullptr) {
      SetValues(node.args, values.calls[call.packed_for]->packs[call.pack]);
    }
    const CallValues* found = values.calls[node.call];
    if (found == nullptr) continue;
    node.loop_iterations = found->loop_iterations;
    node.constants = found->constants;
    node.dispatches = found->dispatches;
  }
  return plan;
}

}  // namespace spirloom::graph
