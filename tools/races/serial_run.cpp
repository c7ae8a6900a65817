#include "tools/races/serial_run.h"

#include <functional>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "runtime/graph/model/states.h"
#include "runtime/graph/model/submission.h"
#include "runtime/graph/record/recorder.h"
#include "runtime/graph/record/run_segments.h"
#include "tools/plan/accessed_tensors.h"

namespace spirloom::tools {
namespace {

using graph::Dispatch;
using graph::PlanTensor;
using graph::TensorResource;
using internal::ExecutionContext;

// Returns the bytes of a tensor, which may be an alias; of an image all texels.
Result<std::span<const std::byte>> ReadTensor(const ExecutionContext& context, uint32_t tensor,
                                              Scratch& scratch) {
  const TensorResource* resource = context.current().store->Find(tensor);
  if (resource == nullptr) return std::span<const std::byte>();
  const PlanTensor& part = context.compiled().plan().tensors[tensor];
  const DType dtype = part.desc.dtype;
  if (resource->image) {
    return ReadMemory(scratch, *resource, dtype, /*offset=*/0, MemoryBytes(*resource, dtype));
  }
  return ReadMemory(scratch, *resource, dtype, resource->buffer->offset() + part.alias_offset,
                    part.size);
}

Result<uint64_t> DigestWritten(const ExecutionContext& context, const Dispatch& dispatch,
                               Scratch& scratch) {
  uint64_t digest = 0;
  for (const uint32_t tensor :
       AccessedTensors(context.compiled().plan(), dispatch, /*write=*/true)) {
    SPIRLOOM_TRY_ASSIGN(const std::span<const std::byte> bytes,
                        ReadTensor(context, tensor, scratch));
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    digest = digest * 0x9E3779B97F4A7C15U + std::hash<std::string_view>()(text);
  }
  return digest;
}

Status AddStates(const ExecutionContext& context, RunTrace& trace) {
  for (size_t i = 0; i < context.compiled().state_infos.size(); ++i) {
    std::vector<std::byte>& bytes =
        trace.results.emplace_back(context.compiled().state_infos[i].size);
    SPIRLOOM_TRY(internal::ReadState(context, i, bytes));
  }
  return Status();
}

// Records dispatches, each after all earlier work.
class SerialRecorder {
 public:
  explicit SerialRecorder(const ExecutionContext& context)
      : context_(context),
        graph_(context.compiled()),
        // A watch has initialized all images.
        track_images_(context.model->config.watch == nullptr),
        initialized_(graph_.weights().initialized) {}

  void Add(uint32_t index, vulkan::CommandBuffer& commands) {
    const Dispatch& dispatch = graph_.dispatches[index];
    FullBarrier(commands, Transitions(dispatch));
    if (dispatch.pipeline == graph::kBufferCopy) {
      Copy(dispatch, commands);
      return;
    }
    const vulkan::ComputePipeline& pipeline = graph_.Pipeline(dispatch.pipeline);
    commands.BindPipeline(pipeline);
    commands.BindDescriptorSet(pipeline.layout(), context_.current().descriptors->sets[index]);
    commands.PushConstants(pipeline.layout(), dispatch.push);
    commands.Dispatch({0, 0, 0}, dispatch.groups);
  }

 private:
  std::vector<VkImageMemoryBarrier> Transitions(const Dispatch& dispatch) {
    std::vector<VkImageMemoryBarrier> barriers;
    for (const uint32_t tensor : dispatch.tensors) {
      const TensorResource* resource = Find(tensor);
      if (!track_images_ || resource == nullptr || !resource->image) continue;
      const VkImage image = resource->image->handle();
      if (!initialized_.insert(image).second) continue;
      barriers.push_back(Transition(image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL));
    }
    return barriers;
  }

  void Copy(const Dispatch& copy, vulkan::CommandBuffer& commands) const {
    const vulkan::Buffer& source = *Find(copy.tensors[0])->buffer;
    const vulkan::Buffer& target = *Find(copy.tensors[1])->buffer;
    const PlanTensor& from = graph_.plan().tensors[copy.tensors[0]];
    const PlanTensor& to = graph_.plan().tensors[copy.tensors[1]];
    commands.CopyBuffer(source.handle(), source.offset() + from.alias_offset, target.handle(),
                        target.offset() + to.alias_offset, from.size);
  }

  const TensorResource* Find(uint32_t tensor) const {
    return tensor == graph::kNoTensor ? nullptr : context_.current().store->Find(tensor);
  }

  const ExecutionContext& context_;
  const internal::CompiledGraph& graph_;
  const bool track_images_;
  std::unordered_set<VkImage> initialized_;
};

}  // namespace

Status PrepareRun(ExecutionContext& context, InputBytes inputs) {
  SPIRLOOM_TRY(internal::ResetStates(context));
  internal::Submission submission(context);
  return submission.AddInputs(inputs);
}

Result<RunTrace> RunAsRecorded(ExecutionContext& context, InputBytes inputs) {
  RunTrace trace;
  for (const TensorInfo& output : context.compiled().output_infos) {
    trace.results.emplace_back(output.size);
  }
  const std::vector<std::span<std::byte>> outputs(trace.results.begin(), trace.results.end());
  SPIRLOOM_TRY(internal::ResetStates(context));
  SPIRLOOM_TRY(internal::RunModel(context, inputs, outputs));
  SPIRLOOM_TRY(AddStates(context, trace));
  return trace;
}

Result<RunTrace> RunSerially(ExecutionContext& context, InputBytes inputs,
                             std::span<const uint32_t> order, Scratch& scratch) {
  SPIRLOOM_TRY(PrepareRun(context, inputs));
  RunTrace trace;
  trace.written.resize(order.size());
  SerialRecorder recorder(context);
  for (const uint32_t index : order) {
    SPIRLOOM_TRY(
        scratch.Execute([&](vulkan::CommandBuffer& commands) { recorder.Add(index, commands); }));
    SPIRLOOM_TRY_ASSIGN(trace.written[index],
                        DigestWritten(context, context.compiled().dispatches[index], scratch));
  }
  for (const uint32_t output : context.compiled().plan().outputs) {
    SPIRLOOM_TRY_ASSIGN(const std::span<const std::byte> bytes,
                        ReadTensor(context, output, scratch));
    trace.results.emplace_back(bytes.begin(), bytes.end());
  }
  SPIRLOOM_TRY(AddStates(context, trace));
  return trace;
}

Result<uint64_t> RunFirst(ExecutionContext& context, InputBytes inputs, size_t count,
                          Scratch& scratch) {
  SPIRLOOM_TRY(PrepareRun(context, inputs));
  const internal::CompiledGraph& compiled = context.compiled();
  graph::Segment run = graph::DivideIntoSegments(compiled.dispatches, context.current().costs,
                                                 /*max_ns=*/0)
                           .front();
  run.slices.resize(count);
  SPIRLOOM_TRY(scratch.Execute([&](vulkan::CommandBuffer& commands) {
    const graph::RecorderResources resources{
        compiled.plan(), *context.current().store,
        [&](uint32_t index) -> const vulkan::ComputePipeline& { return compiled.Pipeline(index); },
        context.model->weights->dummy()};
    graph::Recorder recorder(commands, resources, compiled.dispatches,
                             context.current().descriptors->sets, compiled.weights().initialized);
    recorder.AddSegment(run);
    recorder.Finish();
  }));
  return DigestWritten(context, compiled.dispatches[count - 1], scratch);
}

}  // namespace spirloom::tools
