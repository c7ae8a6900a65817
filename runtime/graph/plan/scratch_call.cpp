#include "runtime/graph/plan/scratch_call.h"

#include <algorithm>
#include <span>

namespace spirloom::graph {
namespace {

// Returns the arguments; those of a call that packs an operand are values of another call.
std::vector<Arg> ValuesOf(const TracedCall& call, const PlanValues& values) {
  std::vector<Arg> args = call.args;
  if (call.packed_for != kNoCall) SetValues(args, values.calls[call.packed_for]->packs[call.pack]);
  return args;
}

}  // namespace

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

ScratchCall::ScratchCall(const Plan& plan, const PlanValues& values, const TracedCall& call,
                         const ops::DeviceProperties& device)
    : plan_(plan),
      values_(values),
      outputs_(IndicesOf(call.outputs)),
      bound_(call.node ? ArgsOf(call.node->args) : std::vector<Arg>()),
      call_(*call.op, ArgsOf(ValuesOf(call, values)), outputs_, tensors_, device) {}

uint32_t ScratchCall::IndexOf(uint32_t tensor) {
  const auto found = std::ranges::find(sources_, tensor);
  if (found != sources_.end()) return static_cast<uint32_t>(found - sources_.begin());
  const PlanTensor& source = plan_.tensors[tensor];
  PlanTensor& added = tensors_.emplace_back();
  added.desc.dtype = source.desc.dtype;
  added.desc.storage = source.desc.storage;
  added.is_constant = source.is_constant;
  added.desc.shape = ops::Ints(values_.shapes[values_.tensors[tensor].shape]);
  sources_.push_back(tensor);
  return static_cast<uint32_t>(sources_.size() - 1);
}

std::vector<uint32_t> ScratchCall::IndicesOf(std::vector<uint32_t> tensors) {
  for (uint32_t& tensor : tensors) tensor = IndexOf(tensor);
  return tensors;
}

std::vector<Arg> ScratchCall::ArgsOf(std::vector<Arg> args) {
  for (Arg& arg : args) {
    arg.tensors = IndicesOf(std::move(arg.tensors));
    SetSizes(arg, values_);
  }
  return args;
}

}  // namespace spirloom::graph
