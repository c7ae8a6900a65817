// The state of a Model, and functions to build and run it.
#ifndef SPIRLOOM_RUNTIME_GRAPH_MODEL_MODEL_STATE_H_
#define SPIRLOOM_RUNTIME_GRAPH_MODEL_MODEL_STATE_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/graph/constants/constant_pool.h"
#include "runtime/graph/file/graph.h"
#include "runtime/graph/memory/memory_arena.h"
#include "runtime/graph/memory/memory_budget.h"
#include "runtime/graph/memory/tensor_store.h"
#include "runtime/graph/plan/limits.h"
#include "runtime/graph/record/dispatch.h"
#include "runtime/graph/record/pipeline_pool.h"
#include "runtime/graph/record/recorder.h"
#include "runtime/session/runtime_state.h"
#include "runtime/vulkan/command_buffer.h"
#include "runtime/vulkan/fence.h"
#include "runtime/vulkan/imported_memory.h"
#include "runtime/vulkan/timestamps.h"
#include "spirloom/model.h"

namespace spirloom::internal {

// Host address and device buffer of a graph input or output; null if it is empty.
struct HostTensor {
  std::byte* data = nullptr;
  size_t size = 0;
  VkBuffer buffer = VK_NULL_HANDLE;  // dense, as kernels access it
  uint64_t offset = 0;
  uint64_t staged_offset = 0;  // offset in the staging buffer, if any
};

// The application's memory of an input or output. Not bound if `buffer` is null.
struct Binding {
  std::shared_ptr<const vulkan::ImportedMemory> memory;  // memory of `buffer`, or null
  VkBuffer buffer = VK_NULL_HANDLE;
  uint64_t offset = 0;
  uint64_t size = 0;
};

constexpr uint64_t kHostAlignment = 64;  // alignment of tensors in a staging buffer

// Number of threads that copy inputs and outputs: one reaches 11 GB/s; PCIe 5 x16 has 54 GB/s.
constexpr size_t kCopyThreads = 4;

// Transfer of inputs and outputs between host and device.
struct HostAccess {
  bool direct;           // the host accesses device buffers; else staging buffers
  uint64_t piece_bytes;  // minimum piece in bytes, a multiple of 64

  static const HostAccess kDirect;
  // Pieces of at least 1 MiB: a core copies 1 MiB in 90 us, a thread and a submission cost 30 us
  // (measured with an H200, as kCopyThreads). Less than 2 MiB is one piece, copied by the caller
  // and submitted with the run.
  static const HostAccess kStaged;
};

inline constexpr HostAccess HostAccess::kDirect{.direct = true, .piece_bytes = UINT64_MAX};
inline constexpr HostAccess HostAccess::kStaged{.direct = false, .piece_bytes = 1 << 20};

// A range of an input or output, and its piece.
struct Part {
  size_t piece;
  size_t tensor;
  uint64_t offset;
  uint64_t size;
};

// Copies of the inputs or the outputs, in pieces: each by one host thread, and by its own command
// buffer if the device copies too.
struct Copies {
  size_t pieces = 0;
  std::vector<Part> parts;
  std::vector<vulkan::CommandBuffer> commands;  // empty, or one per piece
};

// A graph compiled and recorded for one set of shapes.
struct Recording {
  uint64_t id = 0;             // unique within the model
  std::vector<int64_t> sizes;  // values of the graph's symbols
  std::vector<TensorInfo> input_infos;
  std::vector<TensorInfo> output_infos;
  std::vector<TensorInfo> state_infos;
  LoadStats stats;
  std::vector<DispatchProfile> profile;  // without times

  std::unique_ptr<graph::TensorStore> store;
  std::vector<uint32_t> states;                          // tensor ids in `store`
  std::shared_ptr<const vulkan::Buffer> staged_inputs;   // null for HostAccess::kDirect
  std::shared_ptr<const vulkan::Buffer> staged_outputs;  // null for HostAccess::kDirect
  std::vector<HostTensor> inputs;
  std::vector<HostTensor> outputs;
  std::vector<graph::SharedPipeline> pipelines;
  std::optional<graph::DescriptorSets> descriptors;
  // Two per dispatch (profile) or two for the run (time_runs); else empty.
  std::optional<vulkan::TimestampPool> timestamps;
  // A run submits these in this order. Recorded copies have at least one piece, and several pieces
  // only with command buffers.
  Copies copies_in;
  std::optional<vulkan::CommandBuffer> commands;
  Copies copies_out;
  uint64_t binding_version = UINT64_MAX;  // version of the bindings in the recorded copies
};

// Shared by models of one file. Their runs are executed in order on one queue, so they share the
// memory of activations.
struct SharedParts {
  SharedParts(const vulkan::Device& device, uint64_t max_device_bytes)
      : budget(std::make_shared<graph::MemoryBudget>(max_device_bytes)),
        activations(device, vulkan::MemoryUse::kDevice, budget) {}

  const std::shared_ptr<graph::MemoryBudget> budget;
  graph::MemoryArena activations;
  graph::ConstantPool constants;
  graph::PipelinePool pipelines;
  uint64_t state_sets = 0;  // number of separate sets of states
  size_t in_flight = 0;     // runs in flight, of all models
};

// A loaded graph with the recordings of the current and of recent shapes. `runtime` keeps the
// device alive and is destroyed last.
struct ModelState {
  // `used_parts`: shared with another model, or null.
  ModelState(std::shared_ptr<RuntimeState> used_runtime, const ModelOptions& used_options,
             HostAccess host_access, graph::TensorWatch* used_watch,
             const graph::DeviceTraits& used_traits, const graph::Limits& used_limits,
             std::shared_ptr<SharedParts> used_parts)
      : runtime(std::move(used_runtime)),
        options(WithoutSharing(used_options)),
        access(host_access),
        watch(used_watch),
        traits(used_traits),
        limits(used_limits),
        parts(used_parts != nullptr
                  ? std::move(used_parts)
                  : std::make_shared<SharedParts>(*runtime->device, limits.device_bytes)),
        input_memory(*runtime->device, InputUse(), parts->budget),
        output_memory(*runtime->device, OutputUse(), parts->budget) {}

  bool direct() const { return access.direct; }
  const Recording& current() const { return recordings.front(); }
  // Fence of the last submitted run.
  const vulkan::Fence& last_fence() const { return fences[current().copies_out.pieces - 1]; }
  const Binding* InputBinding(size_t i) const { return Find(input_bindings, i); }
  const Binding* OutputBinding(size_t i) const { return Find(output_bindings, i); }

  std::shared_ptr<RuntimeState> runtime;
  const ModelOptions options;
  const HostAccess access;
  graph::TensorWatch* const watch;
  const graph::DeviceTraits traits;
  const graph::Limits limits;
  const std::shared_ptr<SharedParts> parts;
  uint64_t state_set = 0;            // index of its set of states in `parts`
  std::string method;                // name of the method
  std::vector<std::string> methods;  // all methods of the file
  std::vector<uint8_t> identity;     // of the constants; empty if unknown
  std::shared_ptr<const std::vector<Attachment>> attachments;  // attachments of the file
  std::vector<std::vector<std::byte>> initial_states;          // empty: zeros
  std::shared_ptr<const graph::Graph> graph;                   // null without symbols
  std::vector<SymbolInfo> symbols;

  // Shared by all recordings.
  graph::MemoryArena input_memory;
  graph::MemoryArena output_memory;
  uint64_t constant_bytes = 0;
  uint64_t state_bytes = 0;
  std::optional<vulkan::Buffer> dummy;
  std::vector<vulkan::Fence> fences;  // one per piece of the outputs

  // Empty, or one per input and output.
  std::vector<Binding> input_bindings;
  std::vector<Binding> output_bindings;
  uint64_t binding_version = 0;

  std::list<Recording> recordings;        // current, then in order of last use
  uint64_t recorded = 0;                  // last Recording::id
  uint64_t submitted = 0;                 // number of submitted runs
  uint64_t ran = 0;                       // Recording::id of the last run
  uint64_t finished = 0;                  // number of finished runs: submitted or submitted - 1
  Status last_run;                        // status of the last finished run
  std::vector<VkCommandBuffer> commands;  // command buffers of the next submission

 private:
  // The other model may be destroyed first.
  static ModelOptions WithoutSharing(ModelOptions options) {
    options.share_with = nullptr;
    return options;
  }
  static const Binding* Find(const std::vector<Binding>& bindings, size_t i) {
    return i < bindings.size() && bindings[i].buffer != VK_NULL_HANDLE ? &bindings[i] : nullptr;
  }
  vulkan::MemoryUse InputUse() const {
    return direct() ? vulkan::MemoryUse::kUpload : vulkan::MemoryUse::kDevice;
  }
  vulkan::MemoryUse OutputUse() const {
    return direct() ? vulkan::MemoryUse::kReadback : vulkan::MemoryUse::kDevice;
  }
};

// Returns the limits in `options`, or the default limits of the graph.
graph::Limits LimitsFor(const graph::Graph& graph, const ModelOptions& options);

// Returns kDirect for unified memory, else kStaged.
HostAccess BestHostAccess(const RuntimeState& runtime);

// Plans `graph` and records it for the maximum of each symbol; `graph` is not referenced
// afterwards. `watch` may be null; it must outlive the state. For tests, `properties` replaces the
// device properties that specs depend on, and large workgroups are used for grids of any size.
// `share_with` is ModelOptions::share_with.
Result<std::unique_ptr<ModelState>> BuildModel(std::shared_ptr<RuntimeState> runtime,
                                               const graph::Graph& graph,
                                               const ModelOptions& options, HostAccess access,
                                               graph::TensorWatch* watch = nullptr,
                                               const ops::DeviceProperties* properties = nullptr,
                                               const ModelState* share_with = nullptr);

// Plans and records `graph`, whose symbols have values, using the memory and pipelines of `state`.
Result<Recording> Record(ModelState& state, const graph::Graph& graph);

// Implements Model::Resize().
Status ResizeModel(ModelState& state, std::span<const Shape> shapes);

// Fails with kBusy while a run is in flight, and with kDeviceLost if the device is lost.
Status CheckIdle(const ModelState& state);

// Implement Model::Submit() with and without inputs. Fail with kBusy while a run is in flight.
Status SubmitRun(ModelState& state);
Status SubmitRun(ModelState& state, std::span<const std::span<const std::byte>> inputs);
// Submits the model's commands `steps` times with the semaphores of `info`. `steps` must be 1
// without states.
Status SubmitRun(ModelState& state, VkSubmitInfo info, size_t steps = 1);
// Implements Model::SubmitRepeated().
Status SubmitRepeated(ModelState& state, size_t steps);

// Implement PendingRun::Wait() for run `run`, counted from 1. No effect if it has been waited for.
Status FinishRun(ModelState& state, uint64_t run);
Status FinishRun(ModelState& state, uint64_t run, std::span<const std::span<std::byte>> outputs);

// Implements Model::Profile().
Result<std::vector<DispatchProfile>> ReadProfile(const ModelState& state);
// Implements Model::GpuTime().
Result<uint64_t> ReadGpuTime(const ModelState& state);

// Implements Model::Run().
Status RunModel(ModelState& state, std::span<const std::span<const std::byte>> inputs,
                std::span<const std::span<std::byte>> outputs);

}  // namespace spirloom::internal

#endif  // SPIRLOOM_RUNTIME_GRAPH_MODEL_MODEL_STATE_H_
