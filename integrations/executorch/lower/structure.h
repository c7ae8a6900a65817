// Calls that are no operators: copies of what is there, arithmetic of sizes, and those that several
// nodes of ours compute.
#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_STRUCTURE_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_STRUCTURE_H_

#include "integrations/executorch/lower/binder.h"
#include "integrations/executorch/lower/graph_writer.h"
#include "integrations/executorch/lower/value_map.h"
#include "spirloom/status.h"

namespace spirloom::delegate {

class Structure {
 public:
  Structure(Binder& binder, ValueMap& values, GraphWriter& graph)
      : binder_(binder), values_(values), graph_(graph) {}

  // Lowers a call, by its name here or else by the binder.
  Status Lower(const Call& call);

  using Rule = Status (Structure::*)(const Call& call);

 private:
  // Fails unless the call has at least this many arguments.
  Status Need(const Call& call, size_t args) const;
  Status SameAs(const Call& call, size_t arg);
  // The value is this tensor, or that in the value's dtype.
  Status DefineAs(const Call& call, uint32_t id, uint32_t tensor);

  Status First(const Call& call);    // its first argument
  Status Second(const Call& call);   // its second argument
  Status Cast(const Call& call);     // its first argument, if that is of the result's dtype
  Status Nothing(const Call& call);  // checked when the program was exported
  Status Size(const Call& call);
  Status Element(const Call& call);
  Status Add(const Call& call) { return Combine(call, SymKind::kAdd); }
  Status Sub(const Call& call) { return Combine(call, SymKind::kSub); }
  Status Mul(const Call& call) { return Combine(call, SymKind::kMul); }
  Status FloorDiv(const Call& call) { return Combine(call, SymKind::kFloorDiv); }
  Status Combine(const Call& call, SymKind kind);
  Status Split(const Call& call);
  Status Index(const Call& call);
  Status ClampedConvolution(const Call& call);
  Status PixelShuffle(const Call& call);
  Status Compare(const Call& call);
  Status Range(const Call& call);
  Status Slice(const Call& call);
  Status Clamp(const Call& call);
  Status MovingRange(const Call& call, double step);
  Status GrowingRange(const Call& call, double step);
  // The call's result is a slice of the tensor's first dim.
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
};

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_STRUCTURE_H_
