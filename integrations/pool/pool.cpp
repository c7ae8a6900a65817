#include "spirloom/pool.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <utility>

namespace spirloom {
namespace {

bool IsEqual(std::span<const TensorInfo> a, std::span<const TensorInfo> b) {
  return std::ranges::equal(a, b, [](const TensorInfo& x, const TensorInfo& y) {
    return x.name == y.name && x.dtype == y.dtype && x.shape == y.shape && x.dims == y.dims;
  });
}

bool IsEqual(std::span<const IntInputInfo> a, std::span<const IntInputInfo> b) {
  return std::ranges::equal(a, b, [](const IntInputInfo& x, const IntInputInfo& y) {
    return x.name == y.name && x.min == y.min && x.max == y.max && x.position == y.position;
  });
}

bool IsEqual(std::span<const SymbolInfo> a, std::span<const SymbolInfo> b) {
  return std::ranges::equal(a, b, [](const SymbolInfo& x, const SymbolInfo& y) {
    return x.name == y.name && x.min == y.min && x.max == y.max;
  });
}

Status CheckModels(std::span<const Model> models, const PoolOptions& options) {
  if (models.empty()) {
    return Status(StatusCode::kInvalidArgument, "A pool requires at least one model.");
  }
  if (options.replicas == 0) {
    return Status(StatusCode::kInvalidArgument, "PoolOptions::replicas (0) must be at least 1.");
  }
  for (const Model& model : models) {
    if (model.states().empty()) continue;
    return Status(StatusCode::kInvalidArgument,
                  "The model has states ('" + model.states()[0].name +
                      "'), which replicas would not share. Create a context for each sequence "
                      "(Model::CreateContext()).");
  }
  for (size_t i = 1; i < models.size(); ++i) {
    if (!IsEqual(models[i].inputs(), models[0].inputs()) ||
        !IsEqual(models[i].outputs(), models[0].outputs()) ||
        !IsEqual(models[i].int_inputs(), models[0].int_inputs()) ||
        !IsEqual(models[i].symbols(), models[0].symbols())) {
      return Status(StatusCode::kInvalidArgument,
                    "Model " + std::to_string(i) +
                        " of the pool has other inputs, outputs, shapes or symbols than model 0. "
                        "Load the same "
                        "method of the same file on each device.");
    }
  }
  return Status();
}

}  // namespace

struct Pool::State {
  struct Replica {
    std::optional<Model> model;  // empty: the device is lost
    bool is_busy = false;
  };

  std::vector<TensorInfo> inputs;
  std::vector<TensorInfo> outputs;
  std::vector<IntInputInfo> int_inputs;
  std::vector<Shape> max_shapes;  // none for static shapes
  std::vector<int64_t> max_ints;
  LogCallback log;

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Replica> replicas;  // neighbors are on different devices
  size_t count = 0;               // of replicas on devices that are not lost
  size_t next = 0;                // index of the replica to examine first
};

// A replica that one call uses. Returns it to the pool on destruction.
class Pool::Claim {
 public:
  // Waits for an idle replica.
  explicit Claim(State& state) : state_(state) {
    std::unique_lock lock(state_.mutex);
    state_.changed.wait(lock, [this] { return state_.count == 0 || FindIdle(); });
    if (replica_ != nullptr) replica_->is_busy = true;
  }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;

  ~Claim() {
    if (replica_ == nullptr) return;
    const std::scoped_lock lock(state_.mutex);
    replica_->is_busy = false;
    state_.changed.notify_one();
  }

  // The replica, or null if all devices are lost.
  Model* model() { return replica_ != nullptr ? &*replica_->model : nullptr; }

  // Destroys the replica.
  void Remove() {
    std::optional<Model> removed;  // destroyed without the lock, which may take long
    const std::scoped_lock lock(state_.mutex);
    removed.swap(replica_->model);
    --state_.count;
    replica_ = nullptr;
    state_.changed.notify_all();
  }

 private:
  // Round-robin, so that few concurrent calls use all devices.
  bool FindIdle() {
    for (size_t i = 0; i < state_.replicas.size(); ++i) {
      const size_t index = (state_.next + i) % state_.replicas.size();
      State::Replica& replica = state_.replicas[index];
      if (!replica.model || replica.is_busy) continue;
      state_.next = index + 1;
      replica_ = &replica;
      return true;
    }
    return false;
  }

  State& state_;
  State::Replica* replica_ = nullptr;
};

Result<Pool> Pool::Create(std::vector<Model> models, const PoolOptions& options) try {
  SPIRLOOM_TRY(CheckModels(models, options));
  auto state = std::make_unique<State>();
  state->log = options.log;
  state->inputs.assign(models[0].inputs().begin(), models[0].inputs().end());
  state->outputs.assign(models[0].outputs().begin(), models[0].outputs().end());
  state->int_inputs.assign(models[0].int_inputs().begin(), models[0].int_inputs().end());
  for (const IntInputInfo& input : state->int_inputs) state->max_ints.push_back(input.max);
  if (!models[0].symbols().empty()) {
    for (const TensorInfo& input : state->inputs) state->max_shapes.push_back(input.shape);
  }
  state->count = models.size() * options.replicas;
  state->replicas.resize(state->count);
  for (size_t i = models.size(); i < state->count; ++i) {
    SPIRLOOM_TRY_ASSIGN(state->replicas[i].model, models[i % models.size()].CreateContext());
  }
  for (size_t i = 0; i < models.size(); ++i) state->replicas[i].model = std::move(models[i]);
  return Pool(std::move(state));
} catch (const std::bad_alloc&) {
  return Status::OutOfMemory();
}

Pool::Pool(std::unique_ptr<State> state) : state_(std::move(state)) {}
Pool::Pool(Pool&&) noexcept = default;
Pool& Pool::operator=(Pool&&) noexcept = default;
Pool::~Pool() = default;

std::span<const TensorInfo> Pool::inputs() const { return state_->inputs; }
std::span<const TensorInfo> Pool::outputs() const { return state_->outputs; }
std::span<const IntInputInfo> Pool::int_inputs() const { return state_->int_inputs; }

size_t Pool::size() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->count;
}

Status Pool::Run(std::span<const std::span<const std::byte>> inputs,
                 std::span<const std::span<std::byte>> outputs) {
  return Run(state_->max_shapes, inputs, outputs);
}

Status Pool::Run(std::span<const Shape> shapes, std::span<const std::span<const std::byte>> inputs,
                 std::span<const std::span<std::byte>> outputs) {
  return Run(shapes, state_->max_ints, inputs, outputs);
}

Status Pool::Run(std::span<const Shape> shapes, std::span<const int64_t> ints,
                 std::span<const std::span<const std::byte>> inputs,
                 std::span<const std::span<std::byte>> outputs) {
  return Run([&](Model& replica) -> Status {
    if (!shapes.empty() || !ints.empty()) SPIRLOOM_TRY(replica.Resize(shapes, ints));
    return replica.Run(inputs, outputs);
  });
}

Status Pool::Run(const std::function<Status(Model& replica)>& work) {
  while (true) {
    Claim claim(*state_);
    if (claim.model() == nullptr) {
      return Status(StatusCode::kDeviceLost,
                    "All devices of the pool are lost. Create another pool.");
    }
    Status status = work(*claim.model());
    if (status.code() != StatusCode::kDeviceLost) return status;
    claim.Remove();
    if (state_->log) {
      state_->log(LogLevel::kWarning, "A replica is removed from the pool: " + status.message());
    }
  }
}

}  // namespace spirloom
