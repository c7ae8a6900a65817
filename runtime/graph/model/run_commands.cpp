#include "runtime/graph/model/run_commands.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>
#include <utility>

#include "runtime/base/error.h"

namespace spirloom::internal {
namespace {

// Segments are measured if the run is expected to take this part of the allowed time: the estimate
// of a shorter run would have to be wrong by this factor. Two timestamps take about 2 us.
constexpr uint64_t kMeasuredPart = 8;
// Maximum number of times that the commands of a recorded graph are recorded again.
constexpr int kMaxCorrections = 8;

uint64_t Sum(std::span<const uint64_t> times) {
  return std::accumulate(times.begin(), times.end(), uint64_t{0});
}

uint64_t MaxNs(const ExecutionContext& context) {
  return context.device().host().max_submission_ns;
}

class CommandRecorder {
 public:
  CommandRecorder(const ExecutionContext& context, RecordedGraph& recording)
      : context_(context), recording_(recording), graph_(*recording.compiled) {}

  Status Run(RunCommands& result, std::vector<bool>& barriers) {
    const vulkan::Device& device = context_.device();
    const uint64_t max_ns = MaxNs(context_);
    result.segments = graph::DivideIntoSegments(graph_.dispatches, recording_.costs, max_ns);
    if (max_ns > 0 && Sum(recording_.costs) >= max_ns / kMeasuredPart &&
        device.physical().timestamp_valid_bits > 0) {
      SPIRLOOM_TRY_ASSIGN(
          result.times,
          vulkan::TimestampPool::Create(device, static_cast<uint32_t>(2 * result.segments.size())));
      SPIRLOOM_TRY_ASSIGN(result.finished, vulkan::Buffer::Create(device, sizeof(uint32_t),
                                                                  vulkan::MemoryUse::kReadback));
    }
    SPIRLOOM_TRY_ASSIGN(result.commands,
                        vulkan::CommandBuffer::Create(device, result.segments.size()));
    const graph::RecorderResources resources{
        graph_.structure(), *recording_.store,
        [this](uint32_t index) -> const vulkan::ComputePipeline& { return graph_.Pipeline(index); },
        context_.model->weights->dummy(), graph_.own_values()};
    const std::span<const VkDescriptorSet> sets = recording_.descriptors->sets;
    const bool has_known_barriers = recording_.allocated != recording_.compiled;
    graph::Recorder recorder =
        has_known_barriers ? graph::Recorder(result.commands.front(), resources, graph_.dispatches,
                                             sets, *recording_.barriers)
                           : graph::Recorder(result.commands.front(), resources, graph_.dispatches,
                                             sets, graph_.weights().initialized);
    for (size_t i = 0; i < result.segments.size(); ++i) {
      SPIRLOOM_TRY(AddSegment(result, i, recorder));
    }
    barriers = recorder.barriers();
    recording_.stats.barriers = recorder.barrier_count();
    return Status();
  }

 private:
  Status AddSegment(RunCommands& result, size_t i, graph::Recorder& recorder) const {
    const bool profile = context_.model->options.profile;
    const vulkan::TimestampPool* run = recording_.timestamps ? &*recording_.timestamps : nullptr;
    const vulkan::TimestampPool* times = result.times ? &*result.times : nullptr;
    const bool last = i + 1 == result.segments.size();
    vulkan::CommandBuffer& commands = result.commands[i];
    recorder.ContinueIn(commands);
    // SubmitRepeated() submits the commands of a model with states several times.
    SPIRLOOM_TRY(commands.Begin(
        graph_.structure().states.empty() ? 0 : VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT));
    for (const vulkan::TimestampPool* pool : {run, times}) {
      if (i == 0 && pool != nullptr) commands.ResetTimestamps(*pool);
    }
    // At BOTTOM_OF_PIPE: after earlier work such as copies of inputs, and after all dispatches.
    const auto write = [&](const vulkan::TimestampPool* pool, size_t query) {
      if (pool == nullptr) return;
      commands.WriteTimestamp(*pool, static_cast<uint32_t>(query),
                              VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT);
    };
    if (i == 0 && SharesMemory()) recorder.Start();
    if (i == 0 && !profile) write(run, 0);
    write(times, 2 * i);
    recorder.AddSegment(result.segments[i], profile ? run : nullptr);
    write(times, 2 * i + 1);
    if (last && !profile) write(run, 1);
    if (result.finished) CountFinished(commands, *result.finished, static_cast<uint32_t>(i + 1));
    if (last) recorder.Finish(LaterStages());
    return commands.End();
  }

  // Whether other contexts use the same activation memory: their runs follow each other on the
  // queue, without host synchronization. A context that was recorded before there were others has
  // no such barriers; it is ordered by theirs.
  bool SharesMemory() const { return context_.memory.use_count() > 1; }

  // The stages of the commands that may read results of the run, or write its memory, before the
  // host has waited for its end: repeated runs, contexts that share memory, and copies of outputs.
  // The runs of other contexts have no dependency.
  VkPipelineStageFlags LaterStages() const {
    if (!graph_.structure().states.empty() || SharesMemory()) return graph::Recorder::kWork;
    return recording_.staged_outputs == nullptr ? 0 : VK_PIPELINE_STAGE_TRANSFER_BIT;
  }

  // Writes the number of finished segments, after all earlier work.
  void CountFinished(vulkan::CommandBuffer& commands, const vulkan::Buffer& finished,
                     uint32_t count) const {
    VkMemoryBarrier barrier{};
    barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    barrier.srcAccessMask = barrier.dstAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
    commands.Barrier(VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                     VK_PIPELINE_STAGE_TRANSFER_BIT, {&barrier, 1}, /*buffers=*/{}, /*images=*/{});
    context_.device().fn().vkCmdFillBuffer(commands.handle(), finished.handle(), finished.offset(),
                                           finished.size(), count);
  }

  const ExecutionContext& context_;
  RecordedGraph& recording_;
  const CompiledGraph& graph_;
};

// Returns the measured times of the segments of the last run.
Result<std::vector<uint64_t>> ReadTimes(const RunCommands& commands) {
  SPIRLOOM_TRY_ASSIGN(const std::vector<uint64_t> times,
                      commands.times->Read(static_cast<uint32_t>(2 * commands.segments.size())));
  std::vector<uint64_t> measured;
  for (size_t i = 0; i < times.size(); i += 2) {
    measured.push_back(std::max<uint64_t>(vulkan::Elapsed(times[i], times[i + 1]), 1));
  }
  return measured;
}

// Whether a time differs clearly from the expected one.
bool Differs(uint64_t measured, uint64_t expected) {
  return measured > expected + expected / 4 || expected > measured + measured / 4;
}

// Whether the run should be divided in another way, given the times of its segments.
bool ShouldDivideAgain(std::span<const graph::Segment> segments, uint64_t max_ns) {
  uint64_t total = 0;
  bool too_long = false;
  for (const graph::Segment& segment : segments) {
    total += segment.ns;
    too_long = too_long || segment.ns > max_ns + max_ns / 4;
  }
  const uint64_t required = total / max_ns + 1;
  return too_long || segments.size() > required + required / 2;
}

}  // namespace

Status RecordCommands(const ExecutionContext& context, RecordedGraph& recording) {
  RunCommands commands;
  std::vector<bool> barriers;
  SPIRLOOM_TRY(CommandRecorder(context, recording).Run(commands, barriers));
  if (recording.barriers == nullptr) {
    recording.barriers = std::make_shared<const std::vector<bool>>(std::move(barriers));
  }
  recording.stats.submissions = commands.segments.size();
  recording.run = std::move(commands);
  return Status();
}

Status WithProgress(const ExecutionContext& context, Status status) {
  const RunCommands& run = context.current().run;
  const std::vector<graph::Dispatch>& dispatches = context.compiled().dispatches;
  if (status.code() != StatusCode::kDeviceLost || dispatches.empty()) return status;
  const auto name = [&](const graph::Dispatch& dispatch) {
    return graph::Quote(context.compiled().structure().nodes[dispatch.node].name);
  };
  if (!run.finished) {
    return While(std::move(status),
                 "executing nodes {} to {} (with RuntimeOptions::max_submission_ns = 1, each is a "
                 "submission, and this message names the unfinished one)",
                 name(dispatches.front()), name(dispatches.back()));
  }
  uint32_t finished = 0;
  std::memcpy(&finished, run.finished->mapped(), sizeof(finished));
  if (finished >= run.segments.size()) return status;
  const std::vector<graph::Slice>& slices = run.segments[finished].slices;
  return While(std::move(status), "executing submission {} of {} (nodes {} to {})", finished + 1,
               run.segments.size(), name(dispatches[slices.front().dispatch]),
               name(dispatches[slices.back().dispatch]));
}

void CorrectCommands(ExecutionContext& context) {
  RecordedGraph& recording = context.recordings.front();
  RunCommands& run = recording.run;
  if (!run.times || context.ran != recording.id) return;
  const Result<std::vector<uint64_t>> measured = ReadTimes(run);
  if (!measured.ok()) return;
  bool differs = false;
  for (size_t i = 0; i < run.segments.size(); ++i) {
    differs = differs || Differs((*measured)[i], run.segments[i].ns);
  }
  if (!differs) return;
  const std::vector<graph::Dispatch>& dispatches = recording.compiled->dispatches;
  graph::CorrectCosts(run.segments, *measured, dispatches, recording.costs);
  for (size_t i = 0; i < run.segments.size(); ++i) run.segments[i].ns = (*measured)[i];
  double estimated = 0;
  for (const graph::Dispatch& d : dispatches) estimated += static_cast<double>(d.estimated_ns);
  context.model->cost_scale = static_cast<double>(Sum(recording.costs)) / estimated;
  if (recording.corrections == kMaxCorrections) return;
  if (!ShouldDivideAgain(run.segments, MaxNs(context))) return;
  ++recording.corrections;
  (void)RecordCommands(context, recording);
}

}  // namespace spirloom::internal
