#include "runtime/graph/plan/view_lowering.h"

#include "runtime/base/error.h"
#include "runtime/graph/plan/call_frame.h"
#include "runtime/ops/call_formulas.h"

namespace spirloom::graph {
namespace {

// Whether `target` may share the memory of `source`: buffers are dense, and images of the same
// padded shape have the same texels.
bool CanAlias(const PlanTensor& source, const PlanTensor& target) {
  if (source.desc.dtype != target.desc.dtype || source.size != target.size) return false;
  if (source.storage() == Storage::kBuffer) return true;
  return target.desc.shape.size() <= 4 &&
         PadToNchw(source.desc.shape) == PadToNchw(target.desc.shape);
}

void Alias(Plan& plan, uint32_t source, uint32_t target, uint64_t offset = 0) {
  PlanTensor& tensor = plan.tensors[target];
  tensor.alias_of = plan.Root(source);
  tensor.alias_offset = plan.tensors[source].alias_offset + offset;
  tensor.desc.storage = plan.tensors[source].storage();
  tensor.is_constant = plan.tensors[source].is_constant;
  ++plan.aliased_views;
}

Status CheckView(const ops::OpInfo& op, const PlanTensor& source, const PlanTensor& target) {
  if (source.size == target.size && source.desc.dtype == target.desc.dtype) return Status();
  return Error(StatusCode::kInternal, {op.name,
                                       " is declared a view, but its output has another "
                                       "size or dtype than its input."});
}

// Makes the view an alias if it is one run of a buffer's elements. A constant's parts are computed,
// as constants are known by what they are made of.
Result<bool> LowerPart(CallLowering& calls, const ops::OpEntry& op, const std::vector<Arg>& args,
                       uint32_t output, Storage requested, const DeviceTraits& device) {
  const uint32_t source = args[static_cast<size_t>(op.op->view_of)].tensors[0];
  const PlanTensor& whole = calls.tensor(source);
  const PlanTensor& part = calls.tensor(output);
  if (whole.storage() != Storage::kBuffer || requested != Storage::kBuffer || whole.is_constant ||
      part.size == 0) {
    return false;
  }
  const std::vector<uint32_t> outputs = {output};
  const CallFrame frame(*op.op, args, outputs, calls.plan().tensors);
  ops::CallFormulas formulas(*op.op, frame.call());
  const int64_t element = formulas.ViewAt();
  SPIRLOOM_TRY(formulas.status());
  if (element < 0) return false;
  const uint64_t offset = static_cast<uint64_t>(element) * ElementSize(part.desc.dtype);
  if ((whole.alias_offset + offset) % device.buffer_offset_alignment != 0) return false;
  if (part.desc.dtype != whole.desc.dtype || offset + part.size > whole.size) {
    return Error(StatusCode::kInternal, {op.op->name,
                                         " is declared a view, but goes beyond the "
                                         "end of its input or has another dtype."});
  }
  Alias(calls.plan(), source, output, offset);
  return true;
}

}  // namespace

Result<bool> LowerView(CallLowering& calls, const ops::OpEntry& op, const std::vector<Arg>& args,
                       uint32_t output, Storage requested, const DeviceTraits& device) {
  const Arg& arg = args[static_cast<size_t>(op.op->view_of)];
  if (arg.kind != ArgKind::kTensor) return false;
  if (!op.op->view_at.empty()) return LowerPart(calls, op, args, output, requested, device);
  uint32_t source = arg.tensors[0];
  SPIRLOOM_TRY(CheckView(*op.op, calls.tensor(source), calls.tensor(output)));
  if (!CanAlias(calls.tensor(source), calls.tensor(output))) {
    if (!calls.HasCopyIn(source, Storage::kBuffer) && IsTexture(requested)) {
      SPIRLOOM_TRY_ASSIGN(const bool computable, calls.CanCompute(op, args, output, requested));
      if (computable) return false;
    }
    SPIRLOOM_TRY_ASSIGN(source, calls.InStorage(source, Storage::kBuffer));
  }
  Alias(calls.plan(), source, output);
  return true;
}
}  // namespace spirloom::graph
