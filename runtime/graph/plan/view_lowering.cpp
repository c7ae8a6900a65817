#include "runtime/graph/plan/view_lowering.h"

#include <cassert>

#include "runtime/base/error.h"

namespace spirloom::graph {
namespace {

// Returns true if `target`, of the same dtype and size, can alias `source`: buffers are dense, and
// images of the same padded shape have the same texels.
bool CanAlias(const PlanTensor& source, const PlanTensor& target) {
  if (source.storage() == Storage::kBuffer) return true;
  return target.desc.shape.size() <= 4 &&
         PadToNchw(source.desc.shape) == PadToNchw(target.desc.shape);
}

void Alias(Plan& plan, uint32_t source, uint32_t target, uint64_t offset = 0) {
  PlanTensor& tensor = plan.tensors[target];
  assert(tensor.alias_of == kNoTensor && tensor.input < 0 && tensor.output < 0);
  tensor.alias_of = plan.Root(source);
  tensor.alias_offset = plan.tensors[source].alias_offset + offset;
  assert(tensor.alias_offset + tensor.size <= plan.tensors[tensor.alias_of].size);
  tensor.desc.storage = plan.tensors[source].storage();
  tensor.is_constant = plan.tensors[source].is_constant;
  ++plan.aliased_views;
}

Status CheckView(const ops::OpInfo& op, const PlanTensor& source, const PlanTensor& target) {
  if (source.size == target.size && source.desc.dtype == target.desc.dtype) return Status();
  return Error(StatusCode::kInternal,
               "{} is declared a view, but its output has another size or dtype than its input.",
               op.name);
}

// Aliases the view if it is a contiguous range of a buffer. Views of constants are computed,
// because constants are identified by the calls that compute them.
Result<bool> LowerPartialView(CallLowering& calls, OpCall& call, Storage requested,
                              const DeviceTraits& device) {
  const uint32_t source = call.args()[static_cast<size_t>(call.op().view_of)].tensors[0];
  const uint32_t output = call.outputs()[0];
  const PlanTensor& whole = calls.tensor(source);
  const PlanTensor& part = calls.tensor(output);
  if (whole.storage() != Storage::kBuffer || requested != Storage::kBuffer || whole.is_constant ||
      part.size == 0) {
    return false;
  }
  const int64_t element = call.formulas().ViewOffset();
  SPIRLOOM_TRY(call.formulas().status());
  if (element < 0) return false;
  const uint64_t size = ElementSize(part.desc.dtype);
  const auto offset = static_cast<uint64_t>(element);
  if (part.desc.dtype != whole.desc.dtype || offset > whole.size / size ||
      part.size > whole.size - offset * size) {
    return Error(StatusCode::kInternal,
                 "{} is declared a view, but exceeds its input or has another dtype.",
                 call.op().name);
  }
  if ((whole.alias_offset + offset * size) % device.buffer_offset_alignment != 0) return false;
  Alias(calls.plan(), source, output, offset * size);
  return true;
}

}  // namespace

Result<bool> LowerView(CallLowering& calls, OpCall& call, Storage requested,
                       const DeviceTraits& device) {
  const Arg& arg = call.args()[static_cast<size_t>(call.op().view_of)];
  const uint32_t output = call.outputs()[0];
  if (!call.op().view_offset.empty()) return LowerPartialView(calls, call, requested, device);
  uint32_t source = arg.tensors[0];
  SPIRLOOM_TRY(CheckView(call.op(), calls.tensor(source), calls.tensor(output)));
  if (!CanAlias(calls.tensor(source), calls.tensor(output))) {
    if (!calls.HasCopyIn(source, Storage::kBuffer) && IsTexture(requested)) {
      SPIRLOOM_TRY_ASSIGN(const bool computable, calls.CanCompute(call, requested));
      if (computable) return false;
    }
    SPIRLOOM_TRY_ASSIGN(source, calls.InStorage(source, Storage::kBuffer));
  }
  Alias(calls.plan(), source, output);
  return true;
}
}  // namespace spirloom::graph
