#include "runtime/graph/constants/weight_uploader.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/graph/constants/async_commands.h"
#include "runtime/graph/constants/constant_folding_plan.h"
#include "runtime/graph/constants/parallel_copy.h"
#include "runtime/graph/constants/staging_upload.h"
#include "runtime/graph/memory/memory_arena.h"
#include "runtime/graph/record/recorder.h"
#include "runtime/vulkan/command_buffer.h"

namespace spirloom::graph {
namespace {

constexpr uint64_t kMinStagingBytes = 64 << 10;

// A batch of constant nodes: its memory, which is reused by later batches, its descriptors and its
// commands.
struct Batch {
  Batch(const vulkan::Device& device, const TensorStore& persistent)
      : raw_memory(device, vulkan::MemoryUse::kUpload, persistent.budget()),
        memory(device, vulkan::MemoryUse::kDevice, persistent.budget()),
        commands(device) {}

  // Waits for the batch and destroys its tensors.
  Status Finish() {
    SPIRLOOM_TRY(commands.Wait());
    descriptors.reset();
    store.reset();
    return Status();
  }

  MemoryArena raw_memory;              // of constants of the file
  MemoryArena memory;                  // of computed constants
  std::unique_ptr<TensorStore> store;  // null: none
  std::optional<DescriptorSets> descriptors;
  AsyncCommands commands;  // destroyed first
};

class WeightUploader {
 public:
  WeightUploader(const WeightUploadInputs& inputs, TensorStore& store)
      : inputs_(inputs),
        store_(store),
        temporaries_(TensorStore::Extending(store)),
        folding_(PlanConstantFolding(inputs.plan, inputs.dispatches)),
        batches_{Batch(inputs.device, store), Batch(inputs.device, store)} {}

  Result<WeightUploadResult> Run() {
    AdoptPooled();
    RemoveUnusedDispatches(inputs_.plan, folding_);
    FindLastUses();
    SPIRLOOM_TRY(CheckMemory());
    SPIRLOOM_TRY(AllocatePersistent());
    SPIRLOOM_TRY(UploadPersistent());
    size_t begin = 0;
    while (begin < folding_.dispatches.size()) {
      const size_t end = BatchEnd(begin);
      assert(end > begin);
      SPIRLOOM_TRY(RunBatch(begin, end));
      begin = end;
    }
    SPIRLOOM_TRY(FinishBatches());
    for (uint32_t root : folding_.persistent) {
      inputs_.pool.Add(ids_[root], store_.Share(root));
    }
    CollectAllocations();
    DropTemporaries();
    return std::move(result_);
  }

 private:
  uint32_t Root(uint32_t tensor) const { return inputs_.plan.Root(tensor); }
  const PlanTensor& TensorAt(uint32_t tensor) const { return inputs_.plan.tensors[tensor]; }
  bool IsConstant(uint32_t tensor) const {
    return tensor != kNoTensor && TensorAt(Root(tensor)).is_constant;
  }

  // Shares persistent constants that are on the device already.
  void AdoptPooled() {
    ids_ = inputs_.pool.Identify(inputs_.plan);
    std::erase_if(folding_.persistent, [&](uint32_t root) {
      std::shared_ptr<TensorResource> resource = inputs_.pool.Find(ids_[root]);
      if (resource == nullptr) return false;
      if (resource->image) result_.initialized.insert(resource->image->handle());
      store_.Adopt(root, std::move(resource));
      return true;
    });
  }

  void FindLastUses() {
    last_use_.resize(inputs_.plan.tensors.size());
    for (size_t i = 0; i < folding_.dispatches.size(); ++i) {
      for (uint32_t tensor : folding_.dispatches[i]->tensors) {
        if (tensor != kNoTensor) last_use_[Root(tensor)] = i;
      }
    }
  }

  bool IsRaw(uint32_t root) const { return TensorAt(root).constant >= 0; }

  std::span<const std::byte> BytesOf(uint32_t root) const {
    return inputs_.graph.constants[static_cast<size_t>(TensorAt(root).constant)];
  }

  Status CheckMemory() {
    for (uint32_t root : folding_.persistent) constant_bytes_ += TensorAt(root).size;
    const uint64_t constants = constant_bytes_;
    const uint64_t free = inputs_.device.free_memory().total;
    if (inputs_.further_bytes <= free && constants <= free - inputs_.further_bytes) return Status();
    return Error(StatusCode::kOutOfMemory,
                 "The model requires at least {} bytes of device memory (constants {}, states and "
                 "activations {}); {} bytes are free. Free other models, raise "
                 "RuntimeOptions::memory_limit if it is set, or import the model with --fp16, "
                 "--quantize, a shorter --context or smaller --dim.",
                 constants + inputs_.further_bytes, constants, inputs_.further_bytes, free);
  }

  Status AllocatePersistent() {
    std::vector<uint32_t> raw;
    std::vector<uint32_t> computed;
    for (uint32_t root : folding_.persistent) (IsRaw(root) ? raw : computed).push_back(root);
    const vulkan::MemoryUse raw_use =
        inputs_.host_maps_constants ? vulkan::MemoryUse::kUpload : vulkan::MemoryUse::kDevice;
    SPIRLOOM_TRY(store_.Allocate(raw, raw_use).status());
    return store_.Allocate(computed, vulkan::MemoryUse::kDevice).status();
  }

  void CollectAllocations() {
    std::set<std::shared_ptr<const vulkan::DeviceMemory>> blocks;
    for (uint32_t root : folding_.persistent) {
      const TensorResource* resource = store_.Find(root);
      if (resource != nullptr) blocks.insert(resource->backing);
    }
    result_.allocations.assign(blocks.begin(), blocks.end());
  }

  Status UploadPersistent() {
    const RecorderResources resources = ResourcesFor(store_);
    StagingUpload upload(inputs_.device, resources, store_.budget(), StagingSize(),
                         inputs_.graph.is_mapped);
    std::vector<HostCopy> copies;
    for (uint32_t root : folding_.persistent) {
      const TensorResource* resource = store_.Find(root);
      if (!IsRaw(root) || resource == nullptr) continue;
      const auto data = BytesOf(root).first(static_cast<size_t>(TensorAt(root).size));
      if (std::byte* mapped = resource->buffer->mapped(); mapped != nullptr) {
        copies.push_back({mapped, data});
      } else {
        SPIRLOOM_TRY(upload.Add(root, data));
      }
    }
    SPIRLOOM_TRY(CopyInParallel(inputs_.device.host(), copies, inputs_.graph.is_mapped));
    return upload.Finish();
  }

  // Returns the size of a staging buffer. Two fit into the memory that the constants leave.
  uint64_t StagingSize() const {
    uint64_t total = 0;
    for (uint32_t root : folding_.persistent) {
      if (IsRaw(root)) total += StagingUpload::StagedSize(TensorAt(root).size);
    }
    const uint64_t remaining =
        std::min(inputs_.device.free_memory().total, store_.budget()->remaining());
    return std::min({total, inputs_.batch_bytes, std::max(remaining / 2, kMinStagingBytes)});
  }

  RecorderResources ResourcesFor(const TensorStore& store) const {
    return {inputs_.plan, store, inputs_.pipeline, inputs_.dummy};
  }

  // Returns the end of the batch that starts at dispatch `begin`. A batch contains complete nodes
  // whose raw constants are within `batch_bytes` (at least one node).
  size_t BatchEnd(size_t begin) const {
    std::set<uint32_t> raw;
    uint64_t bytes = 0;
    size_t end = begin;
    while (end < folding_.dispatches.size()) {
      const Dispatch& dispatch = *folding_.dispatches[end];
      for (uint32_t tensor : dispatch.tensors) {
        if (IsConstant(tensor) && IsRaw(Root(tensor)) && raw.insert(Root(tensor)).second) {
          bytes += TensorAt(Root(tensor)).size;
        }
      }
      const bool first_of_node =
          end == begin || folding_.dispatches[end - 1]->node != dispatch.node;
      if (end > begin && first_of_node && bytes > inputs_.batch_bytes) break;
      ++end;
    }
    return end;
  }

  // Tensors of a batch without memory, by lifetime.
  struct BatchTensors {
    std::set<uint32_t> raw;  // from the file
    std::set<uint32_t> batch_only;
    std::set<uint32_t> carried;  // also used by a later batch
  };

  BatchTensors FindBatchTensors(size_t begin, size_t end) const {
    BatchTensors found;
    for (size_t i = begin; i < end; ++i) {
      for (uint32_t tensor : folding_.dispatches[i]->tensors) {
        if (tensor == kNoTensor || temporaries_.Find(tensor) != nullptr) continue;
        const uint32_t root = Root(tensor);
        if (TensorAt(root).size == 0) continue;
        const bool needed_later = last_use_[root] >= end;
        if (IsRaw(root)) {
          found.raw.insert(root);
        } else {
          (needed_later ? found.carried : found.batch_only).insert(root);
        }
      }
    }
    return found;
  }

  // Submits a batch. The device computes it while the host prepares the next one.
  Status RunBatch(size_t begin, size_t end) {
    const BatchTensors tensors = FindBatchTensors(begin, end);
    Batch& batch = batches_[current_];
    SPIRLOOM_TRY(batch.Finish());
    // A batch of large tensors is the only one that has memory.
    const uint64_t limit = std::max(inputs_.batch_bytes, constant_bytes_ / 64);
    const bool is_large = BytesOf(tensors.raw) > limit || BytesOf(tensors.batch_only) > limit;
    if (is_large) SPIRLOOM_TRY(FinishBatches());
    SPIRLOOM_TRY(
        temporaries_.Allocate(ToVector(tensors.carried), vulkan::MemoryUse::kDevice).status());
    batch.store.reset(new TensorStore(TensorStore::Extending(temporaries_)));
    SPIRLOOM_TRY(batch.store->Allocate(ToVector(tensors.raw), batch.raw_memory).status());
    SPIRLOOM_TRY(batch.store->Allocate(ToVector(tensors.batch_only), batch.memory).status());
    std::vector<HostCopy> copies;
    for (uint32_t root : tensors.raw) {
      copies.push_back({batch.store->Find(root)->buffer->mapped(), BytesOf(root)});
    }
    SPIRLOOM_TRY(CopyInParallel(inputs_.device.host(), copies, inputs_.graph.is_mapped));
    SPIRLOOM_TRY(Submit(begin, end, batch));
    current_ = 1 - current_;
    return is_large ? FinishBatches() : Status();
  }

  static std::vector<uint32_t> ToVector(const std::set<uint32_t>& tensors) {
    return {tensors.begin(), tensors.end()};
  }

  uint64_t BytesOf(const std::set<uint32_t>& tensors) const {
    uint64_t bytes = 0;
    for (uint32_t tensor : tensors) bytes += TensorAt(tensor).size;
    return bytes;
  }

  // Waits for all batches and frees their memory.
  Status FinishBatches() {
    for (Batch& batch : batches_) {
      SPIRLOOM_TRY(batch.Finish());
      batch.raw_memory.DropUnused();
      batch.memory.DropUnused();
    }
    return Status();
  }

  // Waits for the previous batch, whose results the batch may read, and submits the batch.
  Status Submit(size_t begin, size_t end, Batch& batch) {
    std::vector<Dispatch> dispatches;
    for (size_t i = begin; i < end; ++i) dispatches.push_back(Dispatch(*folding_.dispatches[i]));
    const RecorderResources resources = ResourcesFor(*batch.store);
    SPIRLOOM_TRY_ASSIGN(batch.descriptors,
                        MakeDescriptorSets(inputs_.device, dispatches, resources));
    SPIRLOOM_TRY_ASSIGN(vulkan::CommandBuffer * commands, batch.commands.Begin());
    Recorder recorder(*commands, resources, dispatches, batch.descriptors->sets,
                      result_.initialized);
    const std::vector<Segment> segments = Divide(dispatches);
    for (size_t i = 0; i < segments.size(); ++i) {
      if (i > 0) SPIRLOOM_TRY(batch.commands.Begin().status());
      recorder.AddSegment(segments[i]);
      recorder.Finish();
      if (i == 0) SPIRLOOM_TRY(batches_[1 - current_].commands.Wait());
      SPIRLOOM_TRY(batch.commands.Submit());
    }
    RecordInitializedImages(recorder);
    return Status();
  }

  std::vector<Segment> Divide(std::span<const Dispatch> dispatches) const {
    std::vector<uint64_t> costs;
    for (const Dispatch& dispatch : dispatches) costs.push_back(dispatch.estimated_ns);
    return DivideIntoSegments(dispatches, costs, inputs_.device.host().max_submission_ns);
  }

  // Only for images that outlive the batch: other handles may be reused.
  void RecordInitializedImages(const Recorder& recorder) {
    const auto add = [&](const TensorResource* resource) {
      if (resource == nullptr || !resource->image) return;
      const VkImage image = resource->image->handle();
      if (recorder.initialized().contains(image)) result_.initialized.insert(image);
    };
    for (const Dispatch* dispatch : folding_.dispatches) {
      for (uint32_t tensor : dispatch->tensors) {
        if (tensor != kNoTensor) add(temporaries_.Find(tensor));
      }
    }
  }

  // Temporary images are destroyed here and their handles may be reused, so only images of the
  // store remain in the result.
  void DropTemporaries() {
    std::unordered_set<VkImage> stored;
    for (uint32_t root = 0; root < ids_.size(); ++root) {
      if (ids_[root] == ConstantPool::kNoId) continue;
      const TensorResource* resource = store_.Find(root);
      if (resource != nullptr && resource->image) stored.insert(resource->image->handle());
    }
    std::erase_if(result_.initialized, [&](VkImage image) { return !stored.contains(image); });
  }

  const WeightUploadInputs& inputs_;
  TensorStore& store_;
  TensorStore temporaries_;       // computed constants used by a later batch
  ConstantFoldingPlan folding_;   // without pooled constants
  std::vector<uint32_t> ids_;     // by tensor: ids in inputs_.pool
  std::vector<size_t> last_use_;  // by tensor: index of the last dispatch that binds it
  uint64_t constant_bytes_ = 0;   // of persistent constants
  WeightUploadResult result_;
  std::array<Batch, 2> batches_;  // the host prepares one while the device computes the other
  size_t current_ = 0;            // index of the next batch
};

}  // namespace

Result<WeightUploadResult> UploadWeights(const WeightUploadInputs& inputs, TensorStore& store) {
  Result<WeightUploadResult> result = WeightUploader(inputs, store).Run();
  if (!result.ok()) return std::move(result).status().While("preparing the model's constants");
  return result;
}

}  // namespace spirloom::graph
