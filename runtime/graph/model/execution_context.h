// An execution context: one run in flight of a loaded model.
#ifndef SPIRLOOM_RUNTIME_GRAPH_MODEL_EXECUTION_CONTEXT_H_
#define SPIRLOOM_RUNTIME_GRAPH_MODEL_EXECUTION_CONTEXT_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/graph/file/graph_loader.h"
#include "runtime/graph/memory/memory_arena.h"
#include "runtime/graph/memory/memory_budget.h"
#include "runtime/graph/memory/tensor_store.h"
#include "runtime/graph/model/compiled_graph.h"
#include "runtime/graph/model/loaded_model.h"
#include "runtime/graph/model/state_transfers.h"
#include "runtime/graph/record/recorder.h"
#include "runtime/session/runtime_state.h"
#include "runtime/vulkan/command_buffer.h"
#include "runtime/vulkan/fence.h"
#include "runtime/vulkan/imported_memory.h"
#include "runtime/vulkan/timestamps.h"
#include "spirloom/model.h"
#include "spirloom/status.h"

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

// The commands of a run, without the copies of inputs and outputs: one command buffer per segment.
struct RunCommands {
  std::vector<graph::Segment> segments;
  std::vector<vulkan::CommandBuffer> commands;
  // Two per segment; absent if the run is short, or the device has no timestamps.
  std::optional<vulkan::TimestampPool> times;
  // With `times`: the host reads how many segments have finished, also after a loss of the device.
  std::optional<vulkan::Buffer> finished;
};

// A compiled graph recorded in a context: its memory, descriptors and commands.
struct RecordedGraph {
  uint64_t id = 0;  // unique within the context
  std::shared_ptr<const CompiledGraph> compiled;
  LoadStats stats;

  // The graph for whose sizes `store` and `descriptors` were made: `compiled`, or another
  // specialization of the same plan whose tensors are as large or larger.
  std::shared_ptr<const CompiledGraph> allocated;
  std::shared_ptr<graph::TensorStore> store;  // extends the store of the compiled graph's weights
  std::shared_ptr<const vulkan::Buffer> staged_inputs;   // null for HostAccess::kDirect
  std::shared_ptr<const vulkan::Buffer> staged_outputs;  // null for HostAccess::kDirect
  std::vector<HostTensor> inputs;
  std::vector<HostTensor> outputs;
  std::shared_ptr<const graph::DescriptorSets> descriptors;
  // Recorder::barriers() of the dispatches of `allocated`. Null before the first recording.
  std::shared_ptr<const std::vector<bool>> barriers;
  // Two per dispatch (profile) or two for the run (time_runs); else empty.
  std::optional<vulkan::TimestampPool> timestamps;
  // A run submits these in this order. Recorded copies have at least one piece, and several pieces
  // only with command buffers.
  Copies copies_in;
  RunCommands run;
  Copies copies_out;
  std::vector<uint64_t> costs;            // expected times of the dispatches, in nanoseconds
  int corrections = 0;                    // number of times that `run` was recorded again
  uint64_t binding_version = UINT64_MAX;  // version of the bindings in the recorded copies
};

// The states and the activation memory of a context, or of several contexts that take turns: their
// runs are executed in order on one queue. Not thread-safe: such contexts count as one.
struct ContextMemory {
  // Charges `budget`. `is_additional`: raises its limit, since the application creates contexts,
  // not the file.
  ContextMemory(const vulkan::Device& device, std::shared_ptr<graph::MemoryBudget> used_budget,
                bool is_additional);
  ContextMemory(const ContextMemory&) = delete;
  ContextMemory& operator=(const ContextMemory&) = delete;
  ~ContextMemory();

  const std::shared_ptr<graph::MemoryBudget> budget;
  const bool additional;
  graph::MemoryArena activations;
  // States by type and name. Weak: a state is destroyed with the last recorded graph that uses it.
  struct State {
    std::string key;
    std::weak_ptr<graph::TensorResource> resource;
  };
  std::vector<State> states;
  StateTransfers transfers;
  size_t in_flight = 0;  // runs in flight, of all contexts
};

// Owns the memory and the recorded commands of a method of a loaded model: those of the current and
// of recent shapes. Members are destroyed from last to first.
struct ExecutionContext {
  ExecutionContext(std::shared_ptr<LoadedModel> used_model, std::shared_ptr<Method> used_method,
                   std::shared_ptr<ContextMemory> used_memory);

  const vulkan::Device& device() const { return *model->runtime->device; }
  bool direct() const { return model->config.access.direct; }
  const RecordedGraph& current() const { return recordings.front(); }
  const CompiledGraph& compiled() const { return *current().compiled; }
  // Fence of the last submitted run.
  const vulkan::Fence& last_fence() const { return fences[current().copies_out.pieces - 1]; }
  const Binding* InputBinding(size_t i) const { return Find(input_bindings, i); }
  const Binding* OutputBinding(size_t i) const { return Find(output_bindings, i); }

  const std::shared_ptr<LoadedModel> model;
  const std::shared_ptr<Method> method;
  const std::shared_ptr<ContextMemory> memory;

  // Shared by all recorded graphs.
  graph::MemoryArena input_memory;
  graph::MemoryArena output_memory;
  // The memory of the constants that this context prepared first.
  std::vector<std::weak_ptr<const vulkan::DeviceMemory>> constants;
  uint64_t state_bytes = 0;           // of the states that this context allocated
  std::vector<vulkan::Fence> fences;  // one per piece of the outputs

  // Empty, or one per input and output.
  std::vector<Binding> input_bindings;
  std::vector<Binding> output_bindings;
  uint64_t binding_version = 0;

  std::list<RecordedGraph> recordings;    // current, then in order of last use
  uint64_t recorded = 0;                  // last RecordedGraph::id
  uint64_t submitted = 0;                 // number of submitted runs
  uint64_t ran = 0;                       // RecordedGraph::id of the last run
  uint64_t finished = 0;                  // number of finished runs: submitted or submitted - 1
  Status last_run;                        // status of the last finished run
  std::vector<VkCommandBuffer> commands;  // command buffers of the next submission

 private:
  static const Binding* Find(const std::vector<Binding>& bindings, size_t i) {
    return i < bindings.size() && bindings[i].buffer != VK_NULL_HANDLE ? &bindings[i] : nullptr;
  }
};

// Loads `graph`, a method of `source`, and returns its first context. Without an owner, `source`
// and the constants of `graph` must stay valid during the call, and as long as the model if it has
// symbols or several methods. Fails like Model::Load().
Result<std::shared_ptr<ExecutionContext>> LoadContext(std::shared_ptr<RuntimeState> runtime,
                                                      const graph::GraphSource& source,
                                                      std::unique_ptr<const graph::Graph> graph,
                                                      const ModelOptions& options,
                                                      const DeviceConfig& config);

// Returns a further context of a method, with the maximum shapes. `memory`: of a context of the
// same model, or null for separate states and activations. Thread-safe if it is null.
Result<std::shared_ptr<ExecutionContext>> CreateContext(std::shared_ptr<LoadedModel> model,
                                                        std::shared_ptr<Method> method,
                                                        std::shared_ptr<ContextMemory> memory);

// Records a compiled graph with the memory of `context`, as its current graph. On failure,
// `context` is unchanged.
Status Record(ExecutionContext& context, Compilation compilation);

// Returns the bytes of device memory of the constants that `context` prepared first and that still
// exist.
uint64_t LiveConstantBytes(ExecutionContext& context);

// Implement Model::Resize().
Status ResizeContext(ExecutionContext& context, std::span<const Shape> shapes,
                     std::span<const int64_t> ints);
Status ResizeContext(ExecutionContext& context, std::span<const Shape> shapes);

// Returns the current value of each integer input.
std::vector<int64_t> IntValuesOf(const ExecutionContext& context);

// Fails with kBusy while a run is in flight, and with kDeviceLost if the device is lost.
Status CheckIdle(const ExecutionContext& context);

// Implement Model::Submit() with and without inputs. Fail with kBusy while a run is in flight.
Status SubmitRun(ExecutionContext& context);
Status SubmitRun(ExecutionContext& context, std::span<const std::span<const std::byte>> inputs);
// Submits the model's commands `steps` times with the semaphores of `info`. `steps` must be 1
// without states.
Status SubmitRun(ExecutionContext& context, VkSubmitInfo info, size_t steps = 1);
// Implements Model::SubmitRepeated().
Status SubmitRepeated(ExecutionContext& context, size_t steps);

// Implement PendingRun::Wait() for run `run`, counted from 1. No effect if it has been waited for.
Status FinishRun(ExecutionContext& context, uint64_t run);
Status FinishRun(ExecutionContext& context, uint64_t run,
                 std::span<const std::span<std::byte>> outputs);

// Implements Model::Profile().
Result<std::vector<DispatchProfile>> ReadProfile(const ExecutionContext& context);
// Implements Model::GpuTime().
Result<uint64_t> ReadGpuTime(const ExecutionContext& context);

// Implements Model::Run().
Status RunModel(ExecutionContext& context, std::span<const std::span<const std::byte>> inputs,
                std::span<const std::span<std::byte>> outputs);

}  // namespace spirloom::internal

#endif  // SPIRLOOM_RUNTIME_GRAPH_MODEL_EXECUTION_CONTEXT_H_
