#include "runtime/graph/plan/plan_specializer.h"

#include <bit>
#include <cassert>
#include <string>
#include <utility>

#include "runtime/graph/plan/plan_evaluation.h"
#include "runtime/graph/plan/scratch_call.h"

namespace spirloom::graph {
namespace {

void AppendText(std::vector<int64_t>& key, const std::string& text) {
  key.push_back(std::ssize(text));
  for (const char c : text) key.push_back(c);
}

template <typename T>
void AppendAddress(std::vector<int64_t>& key, const T* address) {
  key.push_back(static_cast<int64_t>(reinterpret_cast<uintptr_t>(address)));
}

}  // namespace

PlanSpecializer::PlanSpecializer(const Plan& plan, LoweringTrace trace, const ops::OpIndex& index,
                                 const DeviceTraits& device,
                                 const std::vector<std::string>& kernels)
    : plan_(plan),
      index_(index),
      device_(device),
      kernels_(kernels),
      trace_(std::move(trace)),
      is_constant_(plan.tensors.size()),
      is_packed_(plan.tensors.size()) {
  assert(trace_.is_complete);
  const Plan& unaliased = trace_.before_aliasing ? *trace_.before_aliasing : plan_;
  for (const PlanTensor& tensor : unaliased.tensors) {
    tensors_.push_back(
        {tensor.size, tensor.alias_offset,
         shapes_.Add(std::span(tensor.desc.shape.begin(), tensor.desc.shape.size())).first});
    is_constant_[tensors_.size() - 1] = tensor.is_constant;
  }
  for (const TracedCall& call : trace_.calls) {
    if (call.packed_for != kNoCall) is_packed_[call.outputs[0]] = true;
  }
  KeyTable classes;
  for (const TracedCall& call : trace_.calls) AddInputs(call, classes);
}

// Calls of a class have equal formulas, equal arguments, sizes and numbers, and tensors of equal
// types and shapes in the plan, and the same of them are constants. So their values are equal if
// the inputs are.
void PlanSpecializer::AddInputs(const TracedCall& call, KeyTable& classes) {
  CallInputs inputs;
  std::vector<int64_t> key;
  const auto append_tensor = [&](uint32_t tensor) {
    const ops::TensorDesc& desc = plan_.tensors[tensor].desc;
    key.insert(key.end(), {static_cast<int64_t>(desc.dtype), static_cast<int64_t>(desc.storage),
                           int64_t{tensors_[tensor].shape}, int64_t{is_constant_[tensor]}});
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
  }
  for (const uint32_t output : call.outputs) append_tensor(output);
  key.push_back(call.node.has_value());
  if (call.node) {
    AppendAddress(key, call.node->kernel);
    key.push_back(static_cast<int64_t>(call.node->storage));
    for (const Arg& arg : call.node->args) {
      for (const uint32_t tensor : arg.tensors) append_tensor(tensor);
    }
  }
  inputs.is_packed = call.packed_for != kNoCall;
  key.push_back(inputs.is_packed);
  for (const TracedPack& pack : call.packs) key.push_back(is_packed_[pack.packed]);
  inputs.call_class = classes.Add(key).first;
  inputs_.push_back(std::move(inputs));
}

std::optional<PlanValues> PlanSpecializer::Evaluate(const Graph& graph,
                                                    std::span<const int64_t> symbols,
                                                    const session::TunedKernels* tuned) const {
  Evaluation evaluation(*this, graph, tuned);
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
    node.dispatches = std::vector(found->dispatches);  // smaller code than a copy assignment
  }
  return plan;
}

}  // namespace spirloom::graph
