#include "runtime/graph/view_lowering.h"

#include "runtime/error.h"

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

void Alias(Plan& plan, uint32_t source, uint32_t target) {
  PlanTensor& tensor = plan.tensors[target];
  tensor.alias_of = plan.Root(source);
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

}  // namespace

Result<bool> LowerView(CallLowering& calls, const ops::OpEntry& op, const std::vector<Arg>& args,
                       uint32_t output, Storage requested) {
  const Arg& arg = args[static_cast<size_t>(op.op->view_of)];
  if (arg.kind != ArgKind::kTensor) return false;
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
