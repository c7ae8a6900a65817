// Pool: replicas of a model on several devices, or on one, behind one call.
//
//   std::vector<Model> models;  // one per device
//   for (const Runtime& runtime : runtimes) {
//     SPIRLOOM_TRY_ASSIGN(Model model, Model::Load(runtime, "net.slg"));
//     models.push_back(std::move(model));
//   }
//   SPIRLOOM_TRY_ASSIGN(Pool pool, Pool::Create(std::move(models)));
//   SPIRLOOM_TRY(pool.Run(inputs, outputs));  // on any thread; pool.size() calls run at once
//
// A replica is a context of a model (Model::CreateContext()): a device has one copy of the weights,
// and several replicas of a device overlap their transfers and dispatches. The CMake target is
// spirloom::pool.
#ifndef SPIRLOOM_POOL_H_
#define SPIRLOOM_POOL_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "spirloom/log.h"
#include "spirloom/model.h"
#include "spirloom/status.h"
#include "spirloom/types.h"

namespace spirloom {

struct PoolOptions {
  // Replicas per device: while one computes, another copies inputs and outputs.
  size_t replicas = 2;
  // Receives a warning when a replica is removed; empty: none.
  LogCallback log = {};
};

// Owns the replicas. Each call runs on an idle replica, so that faster devices run more calls.
// Results do not depend on the number of replicas if the devices are equal. Thread-safe, except for
// moving and destruction, which require that no call is in progress.
class Pool {
 public:
  // Takes a model for each device, and creates its other replicas. Fails with kInvalidArgument
  // without a model or replica, for models with states, which replicas would not share, and for
  // models with different inputs or outputs; otherwise like Model::CreateContext().
  static Result<Pool> Create(std::vector<Model> models, const PoolOptions& options = {});

  Pool(Pool&&) noexcept;
  Pool& operator=(Pool&&) noexcept;
  ~Pool();

  // Inputs and outputs with the maximum shapes, and integer inputs, as of Model.
  std::span<const TensorInfo> inputs() const;
  std::span<const TensorInfo> outputs() const;
  std::span<const IntInputInfo> int_inputs() const;
  // The number of replicas on devices that are not lost.
  size_t size() const;

  // Run once with `shapes` of the inputs and the values `ints` of the integer inputs, by default
  // with the maximum shapes and values, like Model::Run(). Wait for an idle replica. If a device is
  // lost, its replica is removed, and the call runs on another one. Fail like Model::Resize() and
  // Model::Run(), and with kDeviceLost if no replica is left.
  Status Run(std::span<const std::span<const std::byte>> inputs,
             std::span<const std::span<std::byte>> outputs);
  Status Run(std::span<const Shape> shapes, std::span<const std::span<const std::byte>> inputs,
             std::span<const std::span<std::byte>> outputs);
  Status Run(std::span<const Shape> shapes, std::span<const int64_t> ints,
             std::span<const std::span<const std::byte>> inputs,
             std::span<const std::span<std::byte>> outputs);

  // Calls `work` with an idle replica, for which it waits, and returns its result: for outputs
  // whose sizes follow from the shapes, memory without copies, or several runs. The replica has the
  // shapes and integers of an earlier call; it is the caller's until `work` returns, and then must
  // have no run in flight. If `work` returns kDeviceLost, the replica is removed, and `work` is
  // called again with another one. Propagates exceptions of `work`.
  Status Run(const std::function<Status(Model& replica)>& work);

 private:
  struct State;
  class Claim;
  explicit Pool(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace spirloom

#endif  // SPIRLOOM_POOL_H_
