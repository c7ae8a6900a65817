// What a Model owns, and how it comes to be and runs.
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

// Where the host and the device find a graph input or output; null for one without elements.
struct HostTensor {
  std::byte* data = nullptr;
  size_t size = 0;
  VkBuffer buffer = VK_NULL_HANDLE;  // with the dense bytes that kernels use
  uint64_t offset = 0;
  uint64_t staged_offset = 0;  // in the staging buffer, if any
};

// What of the application's takes the place of an input or output; nothing without a buffer.
struct Binding {
  std::shared_ptr<const vulkan::ImportedMemory> memory;  // that `buffer` is made of, or null
  VkBuffer buffer = VK_NULL_HANDLE;
  uint64_t offset = 0;
  uint64_t size = 0;
};

constexpr uint64_t kHostAlignment = 64;  // of tensors in a staging buffer

// Threads that copy what the host passes: each 11 GB/s, where PCIe 5 x16 takes 54.
constexpr size_t kCopyThreads = 4;

// How the host's bytes reach the device and come back.
struct HostAccess {
  bool direct;           // where the device computes with them; else by staging buffers
  uint64_t piece_bytes;  // the least that is copied apart from the rest, a multiple of 64

  static const HostAccess kDirect;
  // From 1 MiB on: a core copies that in 90 us (measured beside an H200, as is kCopyThreads), which
  // is worth the 30 us of starting a thread and the submission. Less than twice as much is one
  // piece, which the caller copies and the run's submission brings along.
  static const HostAccess kStaged;
};

inline constexpr HostAccess HostAccess::kDirect{.direct = true, .piece_bytes = UINT64_MAX};
inline constexpr HostAccess HostAccess::kStaged{.direct = false, .piece_bytes = 1 << 20};

// Bytes of an input or output, and the piece that they belong to.
struct Part {
  size_t piece;
  size_t tensor;
  uint64_t offset;
  uint64_t size;
};

// How one side of a model is copied, in pieces: each by one thread of the host, and by commands of
// its own where the device copies too.
struct Copies {
  size_t pieces = 0;
  std::vector<Part> parts;
  std::vector<vulkan::CommandBuffer> commands;  // none, or one for each piece
};

// A graph recorded at one set of sizes: what runs of these sizes need.
struct Recording {
  uint64_t id = 0;             // of the model's
  std::vector<int64_t> sizes;  // of the graph's symbols
  std::vector<TensorInfo> input_infos;
  std::vector<TensorInfo> output_infos;
  std::vector<TensorInfo> state_infos;
  LoadStats stats;
  std::vector<DispatchProfile> profile;  // without times

  std::unique_ptr<graph::TensorStore> store;
  std::vector<uint32_t> states;                          // as the store knows them
  std::shared_ptr<const vulkan::Buffer> staged_inputs;   // null where the host maps device memory
  std::shared_ptr<const vulkan::Buffer> staged_outputs;  // likewise
  std::vector<HostTensor> inputs;
  std::vector<HostTensor> outputs;
  std::vector<graph::SharedPipeline> pipelines;
  std::optional<graph::DescriptorSets> descriptors;
  // Two around each dispatch, or around all of them; none where no times are asked for.
  std::optional<vulkan::TimestampPool> timestamps;
  // A run is these, in this order. Copies that are recorded have one piece at least, and several
  // only with commands.
  Copies copies_in;
  std::optional<vulkan::CommandBuffer> commands;
  Copies copies_out;
  uint64_t binding_version = UINT64_MAX;  // that the copies were recorded for
};

// What models of one file may have in common. Their runs follow one another on one queue, so they
// use the memory of activations in turn.
struct SharedParts {
  SharedParts(const vulkan::Device& device, uint64_t most_device_bytes)
      : budget(std::make_shared<graph::MemoryBudget>(most_device_bytes)),
        activations(device, vulkan::MemoryUse::kDevice, budget) {}

  const std::shared_ptr<graph::MemoryBudget> budget;
  graph::MemoryArena activations;
  graph::ConstantPool constants;
  graph::PipelinePool pipelines;
  uint64_t state_sets = 0;  // models, or groups of them, with states of their own
  size_t in_flight = 0;     // runs of any of the models
};

// A loaded graph, recorded at the sizes it runs with and at those it ran with last. `runtime` keeps
// the device alive and is destroyed last.
struct ModelState {
  // `used_parts`: of a model that this one shares them with, or null.
  ModelState(std::shared_ptr<RuntimeState> used_runtime, const ModelOptions& used_options,
             HostAccess host_access, graph::TensorWatch* used_watch,
             const graph::DeviceTraits& used_traits, const graph::Limits& used_limits,
             std::shared_ptr<SharedParts> used_parts)
      : runtime(std::move(used_runtime)),
        options(used_options),
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
  // Of the run that was submitted last.
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
  uint64_t state_set = 0;                                      // of those in `parts`
  std::string method;                                          // its name
  std::vector<std::string> methods;                            // of the file
  std::vector<uint8_t> digest;                                 // of its constants
  std::shared_ptr<const std::vector<Attachment>> attachments;  // of the file
  std::vector<std::vector<std::byte>> initial_states;          // empty ones: zeros
  std::shared_ptr<const graph::Graph> graph;                   // of a model with symbols, else null
  std::vector<SymbolInfo> symbols;

  // What all recordings share; they use the memory in turn.
  graph::MemoryArena input_memory;
  graph::MemoryArena output_memory;
  uint64_t constant_bytes = 0;
  uint64_t state_bytes = 0;
  std::optional<vulkan::Buffer> dummy;
  std::vector<vulkan::Fence> fences;  // of a run: one for each piece of its outputs

  // Empty, or one for each input and output.
  std::vector<Binding> input_bindings;
  std::vector<Binding> output_bindings;
  uint64_t binding_version = 0;

  std::list<Recording> recordings;        // the current one, then from the last used on
  uint64_t recorded = 0;                  // the last Recording::id
  uint64_t submitted = 0;                 // runs so far
  uint64_t ran = 0;                       // which recording the last of them was of
  uint64_t finished = 0;                  // those that were waited for: as many, or one less
  Status last_run;                        // how the last one of them ended
  std::vector<VkCommandBuffer> commands;  // of the next submission

 private:
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

// What `options` allow the graph, or else its size.
graph::Limits LimitsFor(const graph::Graph& graph, const ModelOptions& options);

// kDirect where host and device share memory.
HostAccess BestHostAccess(const RuntimeState& runtime);

// Plans `graph`, records it at its greatest sizes, and refers to it only while running. `watch`, if
// any, must outlive the state. With `facts`, that is what specs hear of the device, and long
// workgroups are taken whatever the grid: what would be chosen for another device can be tried.
// `shares` is ModelOptions::shares.
Result<std::unique_ptr<ModelState>> BuildModel(std::shared_ptr<RuntimeState> runtime,
                                               const graph::Graph& graph,
                                               const ModelOptions& options, HostAccess access,
                                               graph::TensorWatch* watch = nullptr,
                                               const ops::DeviceFacts* facts = nullptr,
                                               const ModelState* shares = nullptr);

// Plans and records `graph`, which has no symbols left, beside what `state` holds already.
Result<Recording> Record(ModelState& state, const graph::Graph& graph);

// Model::Resize.
Status ResizeModel(ModelState& state, std::span<const Shape> shapes);

// Fails with kBusy while a run is in flight, kDeviceLost when the device is.
Status CheckIdle(const ModelState& state);

// Model::Submit with and without inputs. Fail with kBusy while a run is in flight.
Status SubmitRun(ModelState& state);
Status SubmitRun(ModelState& state, std::span<const std::span<const std::byte>> inputs);
// Adds the model's commands to `info`, which may have semaphores, `steps` times: at least once, and
// more than once only where there are states. Otherwise as the others.
Status SubmitRun(ModelState& state, VkSubmitInfo info, size_t steps = 1);
// Model::SubmitSteps.
Status SubmitSteps(ModelState& state, size_t steps);

// PendingRun::Wait for run number `run`, counted from 1. Nothing happens when it was waited for.
Status FinishRun(ModelState& state, uint64_t run);
Status FinishRun(ModelState& state, uint64_t run, std::span<const std::span<std::byte>> outputs);

// Model::Profile.
Result<std::vector<DispatchProfile>> ReadProfile(const ModelState& state);
// Model::GpuTime.
Result<uint64_t> ReadGpuTime(const ModelState& state);

// Model::Run.
Status RunModel(ModelState& state, std::span<const std::span<const std::byte>> inputs,
                std::span<const std::span<std::byte>> outputs);

}  // namespace spirloom::internal

#endif  // SPIRLOOM_RUNTIME_GRAPH_MODEL_MODEL_STATE_H_
