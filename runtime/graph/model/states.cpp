#include "runtime/graph/model/states.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/graph/file/tensor_size.h"
#include "runtime/vulkan/buffer.h"

namespace spirloom::internal {
namespace {

using vulkan::Buffer;
using vulkan::MemoryUse;

// States up to this size in bytes are host-visible, so that the host reads them between runs (e.g.
// a token) without a staging copy and a submission.
constexpr uint64_t kMaxMappedStateBytes = uint64_t{64} << 10;

// Checks that state i can be accessed, and returns its description.
Result<const TensorInfo*> FindInfo(const ExecutionContext& context, size_t i) {
  SPIRLOOM_TRY(CheckIdle(context));
  if (context.memory->in_flight > 0) {
    return Error(StatusCode::kBusy,
                 "A run of a model that shares the states is in flight. Wait for it.");
  }
  const std::vector<TensorInfo>& infos = context.compiled().state_infos;
  if (i >= infos.size()) {
    return Error(StatusCode::kInvalidArgument, "State {} does not exist. Number of states: {}.", i,
                 infos.size());
  }
  return &infos[i];
}

// Returns the resource of state i; null for an empty state.
std::shared_ptr<graph::TensorResource> ResourceOf(const ExecutionContext& context, size_t i) {
  return context.current().store->Share(context.compiled().structure().states[i]);
}

// Returns the resource of state i, which must have `size` bytes; null for an empty state.
Result<std::shared_ptr<graph::TensorResource>> Find(const ExecutionContext& context, size_t i,
                                                    size_t size) {
  SPIRLOOM_TRY_ASSIGN(const TensorInfo* info, FindInfo(context, i));
  if (size != info->size) {
    return Error(StatusCode::kInvalidArgument, "State {} has {} bytes, not {}.", Quoted{info->name},
                 info->size, size);
  }
  return ResourceOf(context, i);
}

// Identifies a state in a ContextMemory.
std::string KeyOf(const graph::PlanTensor& tensor) {
  return Concat(graph::Describe(tensor.desc), tensor.name);
}

// Sets states of `plan` to their initial values.
Status Initialize(const ExecutionContext& context, const graph::Plan& plan,
                  const graph::TensorStore& store, std::span<const size_t> states) {
  std::vector<const Buffer*> zeros;
  for (const size_t i : states) {
    const auto resource = store.Share(plan.states[i]);
    if (resource == nullptr) continue;
    const std::vector<std::byte>& initial = context.method->initial_states()[i];
    if (initial.empty()) {
      zeros.push_back(&*resource->buffer);
    } else {
      SPIRLOOM_TRY(context.memory->transfers.Upload(initial, *resource->buffer));
    }
  }
  return context.memory->transfers.FillWithZeros(zeros);
}

}  // namespace

Result<uint64_t> AllocateStates(ExecutionContext& context, RecordedGraph& recording) {
  const graph::Plan& plan = recording.compiled->structure();
  graph::TensorStore& store = *recording.store;
  auto& known = context.memory->states;
  std::erase_if(known, [](const auto& state) { return state.resource.expired(); });
  std::vector<size_t> added;
  std::vector<uint32_t> small, large;
  for (size_t i = 0; i < plan.states.size(); ++i) {
    const uint32_t tensor = plan.states[i];
    const auto found =
        std::ranges::find(known, KeyOf(plan.tensors[tensor]), &ContextMemory::State::key);
    if (found != known.end()) {
      store.Adopt(tensor, found->resource.lock());
      continue;
    }
    added.push_back(i);
    (plan.tensors[tensor].size <= kMaxMappedStateBytes ? small : large).push_back(tensor);
  }
  SPIRLOOM_TRY_ASSIGN(
      const graph::AllocatedBytes large_bytes,
      store.Allocate(large, context.direct() ? MemoryUse::kReadback : MemoryUse::kDevice));
  SPIRLOOM_TRY_ASSIGN(const graph::AllocatedBytes small_bytes,
                      store.Allocate(small, MemoryUse::kShared));
  SPIRLOOM_TRY(Initialize(context, plan, store, added));
  for (const size_t i : added) {
    auto resource = store.Share(plan.states[i]);
    if (resource != nullptr) known.push_back({KeyOf(plan.tensors[plan.states[i]]), resource});
  }
  return large_bytes.planned + small_bytes.planned;
}

Status ResetStates(const ExecutionContext& context) {
  const graph::Plan& plan = context.compiled().structure();
  std::vector<size_t> all(plan.states.size());
  std::iota(all.begin(), all.end(), size_t{0});
  if (!all.empty()) SPIRLOOM_TRY(FindInfo(context, 0).status());
  return Initialize(context, plan, *context.current().store, all);
}

Status ReadState(const ExecutionContext& context, size_t i, std::span<std::byte> bytes) {
  SPIRLOOM_TRY_ASSIGN(const auto resource, Find(context, i, bytes.size()));
  if (resource == nullptr) return Status();
  return context.memory->transfers.Download(*resource->buffer, /*offset=*/0, bytes);
}

Status ReadState(const ExecutionContext& context, size_t i, size_t offset,
                 std::span<std::byte> bytes) {
  SPIRLOOM_TRY_ASSIGN(const TensorInfo* info, FindInfo(context, i));
  if (offset > info->size || bytes.size() > info->size - offset) {
    return Error(StatusCode::kInvalidArgument,
                 "Range of {} bytes from byte {} on exceeds state {} of {} bytes.", bytes.size(),
                 offset, Quoted{info->name}, info->size);
  }
  if (bytes.empty()) return Status();
  return context.memory->transfers.Download(*ResourceOf(context, i)->buffer, offset, bytes);
}

Status WriteState(const ExecutionContext& context, size_t i, std::span<const std::byte> bytes) {
  SPIRLOOM_TRY_ASSIGN(const auto resource, Find(context, i, bytes.size()));
  return resource == nullptr ? Status()
                             : context.memory->transfers.Upload(bytes, *resource->buffer);
}

}  // namespace spirloom::internal
