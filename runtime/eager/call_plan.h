// Plans of calls of single operators: what a graph with one node is compiled to.
#ifndef SPIRLOOM_RUNTIME_EAGER_CALL_PLAN_H_
#define SPIRLOOM_RUNTIME_EAGER_CALL_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/eager/run_time_scalars.h"
#include "runtime/graph/plan/plan.h"
#include "runtime/graph/record/dispatch.h"
#include "runtime/graph/record/pipeline_pool.h"
#include "runtime/session/runtime_state.h"
#include "spirloom/status.h"
#include "spirloom/stream.h"

namespace spirloom::eager {

// Where a tensor of a plan is in a call.
struct TensorPlace {
  enum class Source : uint8_t { kInput, kOutput, kScratch, kNone };
  Source source = Source::kNone;
  uint32_t index = 0;   // of the input, output or scratch block
  uint64_t offset = 0;  // in bytes
  uint64_t size = 0;    // bytes that kernels may access; 0: no memory
};

// A type of a result, with its size in bytes.
struct ResultType {
  DType dtype;
  Shape shape;
  uint64_t size;
};

// A compiled call. Immutable; `list` refers to `plan`.
struct CallPlan {
  graph::Plan plan;
  graph::DispatchList list;
  std::vector<graph::SharedPipeline> pipelines;  // by Dispatch::pipeline
  std::vector<ResultType> outputs;
  std::vector<uint64_t> scratch;    // sizes of blocks for intermediate results
  std::vector<TensorPlace> places;  // by tensor of the plan
  std::vector<std::vector<PushedScalar>> pushed_scalars;  // by node of the plan
  bool serves_all_scalars = true;  // false: only the values that it was compiled for
  uint64_t estimated_ns = 0;       // of all dispatches
};

// The plans of a stream by key: the operator, and dtypes, shapes and values of the arguments other
// than run-time scalars. Failures are kept as well. Not thread-safe.
class CallPlans {
 public:
  explicit CallPlans(internal::RuntimeState& runtime) : runtime_(runtime) {}

  // The plan of a call; valid until Clear(). Fails with kNotFound or kUnsupported if no kernel
  // supports the call, kInvalidArgument if arguments do not match the operator.
  Result<const CallPlan*> Find(size_t op, std::span<const StreamArgument> arguments);

  // Whether there are so many plans that Clear() should be called.
  bool is_full() const;
  // Destroys all plans. The device must have finished with their pipelines.
  void Clear();

 private:
  struct Entry {
    std::unique_ptr<const CallPlan> plan;
    Status status;  // the failure if there is no plan
    // Plans serve one value of the run-time scalars, and are found by keys with the values.
    bool is_exact = false;
  };

  const std::vector<bool>& RunTimeScalarsOf(size_t op);
  // Sets key_ to that of the call, with the values of run-time scalars if `is_exact`.
  void SetKey(size_t op, std::span<const StreamArgument> arguments, bool is_exact);
  // The entry of a call that has none.
  Result<const Entry*> Add(size_t op, std::span<const StreamArgument> arguments);

  internal::RuntimeState& runtime_;
  graph::PipelinePool pipelines_;
  std::unordered_map<std::string, Entry> entries_;
  std::unordered_map<size_t, std::vector<bool>> run_time_scalars_;  // by operator
  std::string key_;                                                 // of the current call
};

}  // namespace spirloom::eager

#endif  // SPIRLOOM_RUNTIME_EAGER_CALL_PLAN_H_
