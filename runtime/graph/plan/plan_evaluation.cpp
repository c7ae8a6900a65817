#include "runtime/graph/plan/plan_evaluation.h"

#include <algorithm>
#include <bit>
#include <string>

#include "runtime/graph/file/tensor_size.h"
#include "runtime/graph/plan/call_lowering.h"
#include "runtime/graph/plan/call_text.h"
#include "runtime/graph/plan/kernel_choice.h"
#include "runtime/graph/plan/op_call.h"

namespace spirloom::graph {
namespace {

// Whether the sizes of `arg` have the same values as in `arg`.
bool IsUnchanged(const Arg& arg, const PlanValues& values) {
  for (size_t i = 0; i < arg.sizes.size(); ++i) {
    if (arg.sizes[i] != kFixedSize && values.sizes[arg.sizes[i]] != arg.ints[i]) return false;
  }
  return arg.number == kFixedSize ||
         std::bit_cast<uint64_t>(values.numbers[arg.number]) == std::bit_cast<uint64_t>(arg.f);
}

bool HaveSameEmptiness(const std::vector<DispatchValues>& a, const std::vector<DispatchValues>& b) {
  return std::ranges::equal(a, b, [](const DispatchValues& x, const DispatchValues& y) {
    return x.is_empty() == y.is_empty();
  });
}

}  // namespace

bool PlanSpecializer::Evaluation::Run(std::span<const int64_t> symbols) {
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
  return CompareTensors() && ComparePairs() && ComparePacks() && AliasBuffers() && CompareCopies();
}

bool PlanSpecializer::Evaluation::SetTensor(const ops::TensorDesc& desc, TensorValues& tensor) {
  const Result<uint64_t> size = DenseSize(desc);
  if (!size.ok()) return false;
  tensor.size = *size;
  tensor.shape = values_.shapes.Add(std::span(desc.shape.begin(), desc.shape.size())).first;
  return true;
}

bool PlanSpecializer::Evaluation::SetInputs() {
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

bool PlanSpecializer::Evaluation::SetCall(uint32_t index) {
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

bool PlanSpecializer::Evaluation::IsConstantUnchanged(const TracedCall& call) const {
  if (call.packed_for != kNoCall) {
    const CallValues* found = values_.calls[call.packed_for];
    const TracedPack& pack = from_.trace_.calls[call.packed_for].packs[call.pack];
    return found == nullptr || found->packs[call.pack] == pack.args;
  }
  return std::ranges::all_of(call.args, [&](const Arg& arg) { return IsUnchanged(arg, values_); });
}

std::span<const int64_t> PlanSpecializer::Evaluation::KeyOf(const TracedCall& call,
                                                            const CallInputs& inputs) {
  key_.clear();
  key_.push_back(inputs.call_class);
  for (const uint32_t tensor : inputs.tensors) key_.push_back(values_.tensors[tensor].shape);
  if (inputs.is_packed) {
    for (const Arg& arg : values_.calls[call.packed_for]->packs[call.pack]) {
      key_.insert(key_.end(), arg.ints.begin(), arg.ints.end());
      key_.push_back(std::bit_cast<int64_t>(arg.f));
    }
  }
  return key_;
}

bool PlanSpecializer::Evaluation::SetView(const TracedCall& call, const CallValues& found) {
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

bool PlanSpecializer::Evaluation::EvaluateCall(const TracedCall& call, CallValues& result) {
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

bool PlanSpecializer::Evaluation::EvaluateNode(const TracedCall& call, ScratchCall& scratch,
                                               CallValues& result) {
  const PlanNode& node = *call.node;
  const KernelPreferences preferences{
      from_.kernels_, TunedKernel(tuned_, scratch.call().op(), scratch.call().args(),
                                  scratch.tensors(), node.storage)};
  const Result<KernelSearch> search =
      ChooseKernel(from_.index_, scratch.call(), node.storage, from_.device_, preferences);
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
  const bool may_elide_concat = from_.plan_.tensors[node.outputs[0]].storage() == Storage::kBuffer;
  if (!EvaluateDispatches(evaluated, repeat, may_elide_concat, formulas).ok() ||
      !HaveSameEmptiness(evaluated.dispatches, node.dispatches)) {
    return false;
  }
  result.loop_iterations = evaluated.loop_iterations;
  result.dispatches = std::move(evaluated.dispatches);
  result.constants = std::move(evaluated.constants);
  return true;
}

bool PlanSpecializer::Evaluation::SetPacks(const TracedCall& call, std::vector<TracedPack> packs,
                                           CallValues& result) {
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

}  // namespace spirloom::graph
