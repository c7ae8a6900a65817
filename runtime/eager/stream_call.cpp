// Calls of operators on a stream.
#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/eager/stream_state.h"

namespace spirloom::internal {
namespace {

using eager::CallPlan;
using eager::TensorPlace;
using Source = TensorPlace::Source;

}  // namespace

// The memory of a call: blocks that it frees unless they are kept.
class StreamState::CallMemory {
 public:
  CallMemory(StreamState& stream, const CallPlan& plan) : stream_(stream), plan_(plan) {}
  CallMemory(const CallMemory&) = delete;
  CallMemory& operator=(const CallMemory&) = delete;
  ~CallMemory() {
    for (const Range& scratch : scratch_) stream_.allocator_.Free(*scratch.block);
    for (const Range& output : outputs_) stream_.allocator_.Free(*output.block);
  }

  Status AddInput(const StreamTensor& tensor) {
    size_t size = ElementSize(tensor.dtype);
    for (const int64_t length : tensor.shape) size *= static_cast<size_t>(length);
    if (size == 0) {
      inputs_.push_back({});
      return {};
    }
    SPIRLOOM_TRY_ASSIGN(Range range, stream_.FindRange("tensor", tensor.address, size));
    if (range.offset % stream_.binding_alignment_ != 0) {
      SPIRLOOM_TRY_ASSIGN(const Range aligned, Allocate(size, scratch_));
      SPIRLOOM_TRY(stream_.CopyRange({aligned.block, 0, size}, range));
      range = {aligned.block, 0, size};
    }
    inputs_.push_back(range);
    return {};
  }

  Status AllocateResults() {
    first_scratch_ = scratch_.size();
    for (const uint64_t size : plan_.scratch) SPIRLOOM_TRY(Allocate(size, scratch_).status());
    for (const eager::ResultType& type : plan_.outputs)
      SPIRLOOM_TRY(Allocate(type.size, outputs_).status());
    return {};
  }

  // The memory of a tensor of the plan; none if it is empty.
  Range RangeOf(uint32_t tensor) const {
    if (tensor == graph::kNoTensor) return {};
    const TensorPlace& place = plan_.places[tensor];
    if (place.size == 0) return {};
    Range range{};
    if (place.source == Source::kInput) range = inputs_[place.index];
    if (place.source == Source::kOutput) range = outputs_[place.index];
    if (place.source == Source::kScratch) range = scratch_[first_scratch_ + place.index];
    return {range.block, range.offset + place.offset, place.size};
  }

  // The results, whose blocks now belong to the caller.
  std::vector<StreamTensor> TakeOutputs() {
    std::vector<StreamTensor> tensors;
    for (size_t i = 0; i < outputs_.size(); ++i) {
      const eager::Block& block = *outputs_[i].block;
      tensors.push_back({block.segment->addresses.begin() + block.offset, plan_.outputs[i].dtype,
                         plan_.outputs[i].shape});
    }
    outputs_.clear();
    return tensors;
  }

 private:
  Result<Range> Allocate(uint64_t size, std::vector<Range>& to) {
    SPIRLOOM_TRY_ASSIGN(eager::Block * block, stream_.AllocateBlock(size));
    to.push_back({block, 0, size});
    return to.back();
  }

  StreamState& stream_;
  const CallPlan& plan_;
  std::vector<Range> inputs_;
  std::vector<Range> outputs_;
  std::vector<Range> scratch_;
  size_t first_scratch_ = 0;  // of the plan's; those before are copies of inputs
};

Status StreamState::RecordDispatch(const CallPlan& plan, const graph::Dispatch& dispatch,
                                   const CallMemory& memory,
                                   std::span<const StreamArgument> arguments) {
  if (dispatch.pipeline == graph::kBufferCopy) {
    const Range source = memory.RangeOf(dispatch.tensors[0]);
    const Range target = memory.RangeOf(dispatch.tensors[1]);
    const uint64_t size = plan.plan.tensors[dispatch.tensors[0]].size;
    return CopyRange({target.block, target.offset, size}, {source.block, source.offset, size});
  }
  const vulkan::ComputePipeline& pipeline = *plan.pipelines[dispatch.pipeline];
  const auto& operands = plan.plan.nodes[dispatch.node].kernel->operands;
  uses_.clear();
  parts_.clear();
  for (size_t i = 0; i < dispatch.tensors.size(); ++i) {
    const Range range = memory.RangeOf(dispatch.tensors[i]);
    if (range.block == nullptr) {
      parts_.push_back({&unused_->segment->buffer, unused_->offset, unused_->size});
      continue;
    }
    parts_.push_back(
        {&range.block->segment->buffer, range.block->offset + range.offset, range.size});
    const ops::Access access = operands[i].access;
    uses_.push_back({range.block, access != ops::Access::kWrite, access != ops::Access::kRead});
  }
  SPIRLOOM_TRY_ASSIGN(const VkDescriptorSet set, descriptors_.Make(pipeline, parts_));
  SPIRLOOM_TRY_ASSIGN(vulkan::CommandBuffer * commands, Begin(uses_));
  commands->BindPipeline(pipeline);
  commands->BindDescriptorSet(pipeline.layout(), set);
  push_.assign(dispatch.push.begin(), dispatch.push.end());
  for (const eager::PushedScalar& scalar : plan.pushed_scalars[dispatch.node]) {
    const uint32_t bits = ops::Eval::FloatBits(arguments[scalar.argument].f);
    std::memcpy(&push_[scalar.offset], &bits, sizeof(bits));
  }
  commands->PushConstants(pipeline.layout(), push_);
  commands->Dispatch({}, dispatch.groups);
  return {};
}

Result<std::vector<StreamTensor>> StreamState::Call(size_t op,
                                                    std::span<const StreamArgument> arguments) {
  const std::scoped_lock lock(mutex_);
  if (plans_.is_full()) {
    SPIRLOOM_TRY(ring_.Wait(UINT64_MAX));
    plans_.Clear();
  }
  SPIRLOOM_TRY_ASSIGN(const CallPlan* plan, plans_.Find(op, arguments));
  if (unused_ == nullptr) {
    SPIRLOOM_TRY_ASSIGN(unused_, AllocateBlock(eager::kBlockAlignment));
  }
  CallMemory memory(*this, *plan);
  for (const StreamArgument& argument : arguments) {
    for (const StreamTensor& tensor : argument.tensors) SPIRLOOM_TRY(memory.AddInput(tensor));
  }
  SPIRLOOM_TRY(memory.AllocateResults());
  for (const graph::Dispatch& dispatch : plan->list.dispatches) {
    SPIRLOOM_TRY(RecordDispatch(*plan, dispatch, memory, arguments));
  }
  const uint64_t budget = runtime_->device->host().max_submission_ns;
  expected_ns_ += plan->estimated_ns;
  if (budget > 0 && expected_ns_ > budget) {
    SPIRLOOM_TRY(ring_.Submit());
    expected_ns_ = 0;
  }
  return memory.TakeOutputs();
}

}  // namespace spirloom::internal
