// What a Model owns, and how it comes to be and runs.
#ifndef SPIRLOOM_RUNTIME_GRAPH_MODEL_STATE_H_
#define SPIRLOOM_RUNTIME_GRAPH_MODEL_STATE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/graph/dispatch.h"
#include "runtime/graph/graph.h"
#include "runtime/graph/recorder.h"
#include "runtime/graph/tensor_store.h"
#include "runtime/ops/runtime_state.h"
#include "runtime/vulkan/command_buffer.h"
#include "runtime/vulkan/fence.h"
#include "runtime/vulkan/pipeline.h"
#include "runtime/vulkan/timestamps.h"
#include "spirloom/model.h"

namespace spirloom::internal {

// Where the host finds a graph input or output; null for one without elements.
struct HostTensor {
  std::byte* data = nullptr;
  size_t size = 0;
};

// The device objects of a loaded graph. `runtime` keeps the device alive and is destroyed last.
struct ModelState {
  std::shared_ptr<RuntimeState> runtime;
  std::vector<TensorInfo> input_infos;
  std::vector<TensorInfo> output_infos;
  LoadStats stats;
  std::vector<DispatchProfile> profile;  // without times

  std::optional<vulkan::Buffer> dummy;
  std::optional<graph::TensorStore> store;
  std::optional<vulkan::Buffer> staged_inputs;   // absent where the host maps device memory
  std::optional<vulkan::Buffer> staged_outputs;  // likewise
  std::vector<HostTensor> inputs;
  std::vector<HostTensor> outputs;
  std::vector<vulkan::ComputePipeline> pipelines;
  std::optional<graph::DescriptorSets> descriptors;
  std::optional<vulkan::TimestampPool> timestamps;
  std::optional<vulkan::CommandBuffer> commands;
  std::optional<vulkan::Fence> fence;
  uint64_t submitted = 0;  // runs so far
  uint64_t finished = 0;   // those that were waited for: as many, or one less
  Status last_run;         // how the last one of them ended
};

// Whether the host writes and reads tensors where the device computes with them, or through staging
// buffers that every run copies.
enum class HostAccess : uint8_t { kDirect, kStaged };

// kDirect where host and device share memory.
HostAccess BestHostAccess(const RuntimeState& runtime);

// Plans and records `graph`; refers to it only while running. `watch`, if any, must outlive the
// state.
Result<std::unique_ptr<ModelState>> BuildModel(std::shared_ptr<RuntimeState> runtime,
                                               const graph::Graph& graph,
                                               const ModelOptions& options, HostAccess access,
                                               graph::TensorWatch* watch = nullptr);

// Model::Submit with and without inputs. Fail with kInvalidArgument while a run is in flight.
Status SubmitRun(ModelState& state);
Status SubmitRun(ModelState& state, std::span<const std::span<const std::byte>> inputs);

// PendingRun::Wait for run number `run`, counted from 1. Nothing happens when it was waited for.
Status FinishRun(ModelState& state, uint64_t run);
Status FinishRun(ModelState& state, uint64_t run, std::span<const std::span<std::byte>> outputs);

// Model::Run.
Status RunModel(ModelState& state, std::span<const std::span<const std::byte>> inputs,
                std::span<const std::span<std::byte>> outputs);

}  // namespace spirloom::internal

#endif  // SPIRLOOM_RUNTIME_GRAPH_MODEL_STATE_H_
