// Lowers calls that are not a single op: copies, arithmetic on symbolic ints, and operators that
// several nodes compute.
#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_CALL_HANDLERS_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_CALL_HANDLERS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "integrations/executorch/lower/binder.h"
#include "integrations/executorch/lower/graph_writer.h"
#include "integrations/executorch/lower/value_map.h"
#include "spirloom/status.h"

namespace spirloom::delegate {

class CallHandlers {
 public:
  CallHandlers(Binder& binder, ValueMap& values, GraphWriter& graph)
      : binder_(binder), values_(values), graph_(graph) {}

  // Lowers a call with the handler of its name, or with the binder if there is none.
  Status Lower(const Call& call);

  using Handler = Status (CallHandlers::*)(const Call& call);

 private:
  // Fails if the call has fewer arguments.
  Status RequireArgs(const Call& call, size_t args) const;
  // Defines the value as the tensor, converted to the value's dtype if it differs.
  Status DefineAs(const Call& call, uint32_t id, uint32_t tensor);

  Status ForwardFirstArg(const Call& call);
  Status Copy(const Call& call);
  Status Ignore(const Call& call);  // assertions, checked by the exporter
  Status SymSize(const Call& call);
  Status SelectSymInt(const Call& call);
  Status Add(const Call& call) { return Combine(call, SymKind::kAdd); }
  Status Sub(const Call& call) { return Combine(call, SymKind::kSub); }
  Status Mul(const Call& call) { return Combine(call, SymKind::kMul); }
  Status FloorDiv(const Call& call) { return Combine(call, SymKind::kFloorDiv); }
  Status Combine(const Call& call, SymKind kind);
  Status Split(const Call& call);
  Status Index(const Call& call);
  Status ClampedConvolution(const Call& call);
  Status PixelShuffle(const Call& call);
  Status LinearPacked4(const Call& call);
  Status LinearToFloats(const Call& call);
  Status Embedding4(const Call& call);
  Status ChooseQParamsPerToken(const Call& call);
  Status RotaryHf(const Call& call);
  Status RotaryInterleaved(const Call& call);
  Result<uint32_t> RotaryTable(const Call& call, uint32_t id);
  Result<uint32_t> Rotate(const Call& call, uint32_t x, uint32_t cos, uint32_t sin,
                          uint32_t positions);
  // Adds a node and returns its result, a new tensor.
  Result<uint32_t> Compute(const Call& call, std::string_view op, DType dtype, const Shape& shape,
                           std::map<std::string, schema::ArgT> named_args);
  Status Compare(const Call& call);
  Status Arange(const Call& call);
  Status Slice(const Call& call);
  Status Select(const Call& call);
  // The dim, an index, that argument 1 of a call on `x` states. Fails if it is out of range.
  Result<int64_t> IndexedDim(const Call& call, uint32_t x);
  // A tensor start, start + 1, … of `count` elements. Their values are data.
  Result<uint32_t> RangeFrom(const Call& call, const SymValue& start, const SymValue& count,
                             DType dtype);
  Status Clamp(const Call& call);
  Status ArangeDynamicStart(const Call& call, double step);
  Status ArangeDynamicEnd(const Call& call, double step);
  // Defines the call's result as a slice of the tensor's first dim.
  Status DefineSlice(const Call& call, uint32_t tensor, SizedInt start, SizedInt end, int64_t step);
  Status GridPriors(const Call& call);
  Status LayerNorm(const Call& call);
  Status GroupNorm(const Call& call);
  Status BatchNorm(const Call& call);
  bool ReadsStatistics(const Call& call) const;
  Status DefineStatistics(const Call& call, uint32_t x, const std::vector<int64_t>& dims,
                          bool keepdim, double eps);

  Binder& binder_;
  ValueMap& values_;
  GraphWriter& graph_;
  std::map<uint32_t, uint32_t> rotary_tables_;  // value → tensor of RotaryTable()
};

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_CALL_HANDLERS_H_
