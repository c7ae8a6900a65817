// Detects results of a model that depend on timing, on uninitialized memory or on shared memory.
//
// Runs that must give the same bits are compared:
//   - as recorded, several times;
//   - one dispatch at a time, with barriers between all;
//   - with separate memory for each tensor, which is filled with 0xFF (NaN in all float formats) or
//     0xA5 before each run;
//   - in random orders that the dependencies of the plan allow.
#ifndef SPIRLOOM_TOOLS_RACES_RACE_CHECK_H_
#define SPIRLOOM_TOOLS_RACES_RACE_CHECK_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/graph/memory/tensor_store.h"
#include "runtime/graph/model/execution_context.h"
#include "spirloom/model.h"
#include "spirloom/status.h"
#include "tools/races/serial_run.h"

namespace spirloom::tools {

enum class RaceKind {
  kWithinDispatch,     // the same dispatches, one at a time, give different bits
  kUninitializedRead,  // results depend on the value of memory that nothing has written
  kAliasing,           // results are different if tensors do not share memory
  kMissingBarrier,     // results are different if each dispatch waits for the previous one
  kUndeclaredAccess,   // results depend on the order of dispatches that share no declared tensor
};

struct RaceFault {
  RaceKind kind;
  std::vector<std::string> results;              // names of the outputs and states that differ
  std::optional<DispatchProfile> dispatch = {};  // the first one whose result differs, if known
  std::string overwritten_by = {};  // of kAliasing: the node that wrote into its operands, or ""
};

struct RaceReport {
  size_t dispatches = 0;
  size_t results = 0;  // outputs and states
  size_t orders = 0;   // compared random orders
  std::vector<RaceFault> faults;
};

// Loads the model as an application does, with the shapes of the inputs; `watch` may be null.
using ContextLoader =
    std::function<Result<std::shared_ptr<internal::ExecutionContext>>(graph::TensorWatch* watch)>;

// Compares the runs of a model for `inputs`, with `orders` random orders. A kind of fault that
// follows from another one is not reported: after kWithinDispatch or kUninitializedRead the other
// runs cannot be compared. Requires device memory for all tensors without sharing, in addition to
// that of the model. Fails like Model::Load() and Model::Run().
Result<RaceReport> CheckRaces(const ContextLoader& load, InputBytes inputs, size_t orders);

// The report as text, with a line per fault.
std::string Describe(const RaceReport& report);

}  // namespace spirloom::tools

#endif  // SPIRLOOM_TOOLS_RACES_RACE_CHECK_H_
