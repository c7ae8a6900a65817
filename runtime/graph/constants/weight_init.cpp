#include "runtime/graph/constants/weight_init.h"

#include <algorithm>
#include <cassert>
#include <set>
#include <utility>
#include <vector>

#include "runtime/graph/constants/constant_upload.h"
#include "runtime/graph/constants/constant_work.h"
#include "runtime/graph/record/recorder.h"
#include "runtime/vulkan/command_buffer.h"

namespace spirloom::graph {
namespace {

// Bytes of a state that the host may look at between runs, a token say: without a copy on the
// device, which takes a submission and memory of its own.
constexpr uint64_t kSmallState = uint64_t{64} << 10;

class WeightInit {
 public:
  WeightInit(const WeightInitInputs& inputs, TensorStore& store)
      : inputs_(inputs),
        store_(store),
        passing_(TensorStore::Extending(store)),
        work_(FindConstantWork(inputs.plan, inputs.dispatches)) {}

  Result<WeightInitResult> Run() {
    AdoptKnown();
    DropNeedless(inputs_.plan, work_);
    FindLastUses();
    SPIRLOOM_TRY(AllocatePersistent());
    SPIRLOOM_TRY(UploadPersistent());
    size_t begin = 0;
    while (begin < work_.dispatches.size()) {
      const size_t end = BatchEnd(begin);
      assert(end > begin);
      SPIRLOOM_TRY(RunBatch(begin, end));
      begin = end;
    }
    for (uint32_t root : work_.persistent) {
      inputs_.known.Add(numbers_[root], store_.Share(root));
    }
    DropPassing();
    return std::move(result_);
  }

 private:
  uint32_t Root(uint32_t tensor) const { return inputs_.plan.Root(tensor); }
  const PlanTensor& TensorAt(uint32_t tensor) const { return inputs_.plan.tensors[tensor]; }
  bool IsConstant(uint32_t tensor) const {
    return tensor != kNoTensor && TensorAt(Root(tensor)).is_constant;
  }

  // Takes persistent constants that are on the device already.
  void AdoptKnown() {
    numbers_ = inputs_.known.Identify(inputs_.plan, inputs_.state_set);
    std::erase_if(work_.persistent, [&](uint32_t root) {
      std::shared_ptr<TensorResource> resource = inputs_.known.Find(numbers_[root]);
      if (resource == nullptr) return false;
      if (resource->image) result_.initialized.insert(resource->image->handle());
      store_.Adopt(root, std::move(resource));
      return true;
    });
  }

  void FindLastUses() {
    last_use_.resize(inputs_.plan.tensors.size());
    for (size_t i = 0; i < work_.dispatches.size(); ++i) {
      for (uint32_t tensor : work_.dispatches[i]->tensors) {
        if (tensor != kNoTensor) last_use_[Root(tensor)] = i;
      }
    }
  }

  bool IsState(uint32_t root) const { return TensorAt(root).state >= 0; }
  bool IsRaw(uint32_t root) const { return TensorAt(root).constant >= 0 || IsState(root); }

  // Empty of a state that begins with zeros.
  std::span<const std::byte> BytesOf(uint32_t root) const {
    if (TensorAt(root).constant < 0) return {};
    return inputs_.graph.constants[static_cast<size_t>(TensorAt(root).constant)];
  }

  Status AllocatePersistent() {
    std::vector<uint32_t> raw;
    std::vector<uint32_t> computed;
    std::vector<uint32_t> states;
    std::vector<uint32_t> small_states;
    for (uint32_t root : work_.persistent) {
      if (IsState(root)) {
        (TensorAt(root).size <= kSmallState ? small_states : states).push_back(root);
      } else {
        (IsRaw(root) ? raw : computed).push_back(root);
      }
    }
    const vulkan::MemoryUse raw_use =
        inputs_.host_maps_constants ? vulkan::MemoryUse::kUpload : vulkan::MemoryUse::kDevice;
    SPIRLOOM_TRY_ASSIGN(const AllocatedBytes raw_bytes, store_.Allocate(raw, raw_use));
    SPIRLOOM_TRY_ASSIGN(const AllocatedBytes computed_bytes,
                        store_.Allocate(computed, vulkan::MemoryUse::kDevice));
    SPIRLOOM_TRY_ASSIGN(
        const AllocatedBytes state_bytes,
        store_.Allocate(states, inputs_.host_maps_constants ? vulkan::MemoryUse::kReadback
                                                            : vulkan::MemoryUse::kDevice));
    SPIRLOOM_TRY_ASSIGN(const AllocatedBytes small_bytes,
                        store_.Allocate(small_states, vulkan::MemoryUse::kShared));
    result_.state_bytes = state_bytes.planned + small_bytes.planned;
    result_.constant_bytes = raw_bytes.planned + computed_bytes.planned;
    return Status();
  }

  Status UploadPersistent() {
    const RecorderResources resources = ResourcesFor(store_);
    ConstantUpload upload(inputs_.device, resources, StagingSize(), inputs_.graph.is_mapped);
    for (uint32_t root : work_.persistent) {
      const TensorResource* resource = store_.Find(root);
      if (!IsRaw(root) || resource == nullptr) continue;
      const std::byte* data = BytesOf(root).data();
      const auto size = static_cast<size_t>(TensorAt(root).size);
      if (std::byte* mapped = resource->buffer->mapped(); mapped != nullptr) {
        ConstantUpload::Fill(mapped, data, size, inputs_.graph.is_mapped);
      } else {
        SPIRLOOM_TRY(upload.Add(root, data, size));
      }
    }
    return upload.Flush();
  }

  uint64_t StagingSize() const {
    uint64_t total = 0;
    for (uint32_t root : work_.persistent) {
      if (IsRaw(root)) total += ConstantUpload::StagedSize(TensorAt(root).size);
    }
    return std::min(total, inputs_.batch_bytes);
  }

  RecorderResources ResourcesFor(const TensorStore& store) const {
    return {inputs_.plan, store, inputs_.pipeline, inputs_.dummy};
  }

  // The end of the batch that starts at dispatch `begin`: it takes whole nodes while their raw
  // constants stay within the limit.
  size_t BatchEnd(size_t begin) const {
    std::set<uint32_t> raw;
    uint64_t bytes = 0;
    size_t end = begin;
    while (end < work_.dispatches.size()) {
      const Dispatch& dispatch = *work_.dispatches[end];
      for (uint32_t tensor : dispatch.tensors) {
        if (IsConstant(tensor) && IsRaw(Root(tensor)) && raw.insert(Root(tensor)).second) {
          bytes += TensorAt(Root(tensor)).size;
        }
      }
      const bool first_of_node = end == begin || work_.dispatches[end - 1]->node != dispatch.node;
      if (end > begin && first_of_node && bytes > inputs_.batch_bytes) break;
      ++end;
    }
    return end;
  }

  // The tensors that dispatches bind and that have no memory yet, by how long they need it.
  struct BatchTensors {
    std::set<uint32_t> raw;  // from the file
    std::set<uint32_t> batch_only;
    std::set<uint32_t> passed_on;  // to a later batch
  };

  BatchTensors FindBatchTensors(size_t begin, size_t end) const {
    BatchTensors found;
    for (size_t i = begin; i < end; ++i) {
      for (uint32_t tensor : work_.dispatches[i]->tensors) {
        if (tensor == kNoTensor || passing_.Find(tensor) != nullptr) continue;
        const uint32_t root = Root(tensor);
        if (TensorAt(root).size == 0) continue;
        const bool needed_later = last_use_[root] >= end;
        if (IsRaw(root)) {
          found.raw.insert(root);
        } else {
          (needed_later ? found.passed_on : found.batch_only).insert(root);
        }
      }
    }
    return found;
  }

  Status RunBatch(size_t begin, size_t end) {
    const BatchTensors tensors = FindBatchTensors(begin, end);
    SPIRLOOM_TRY(
        passing_.Allocate(ToVector(tensors.passed_on), vulkan::MemoryUse::kDevice).status());
    TensorStore batch = TensorStore::Extending(passing_);
    SPIRLOOM_TRY(batch.Allocate(ToVector(tensors.raw), vulkan::MemoryUse::kUpload).status());
    SPIRLOOM_TRY(batch.Allocate(ToVector(tensors.batch_only), vulkan::MemoryUse::kDevice).status());
    for (uint32_t root : tensors.raw) {
      const std::span<const std::byte> bytes = BytesOf(root);
      ConstantUpload::Fill(batch.Find(root)->buffer->mapped(), bytes.data(), bytes.size(),
                           inputs_.graph.is_mapped);
    }
    return Dispatches(begin, end, batch);
  }

  static std::vector<uint32_t> ToVector(const std::set<uint32_t>& tensors) {
    return {tensors.begin(), tensors.end()};
  }

  Status Dispatches(size_t begin, size_t end, const TensorStore& batch) {
    std::vector<Dispatch> dispatches;
    for (size_t i = begin; i < end; ++i) dispatches.push_back(Dispatch(*work_.dispatches[i]));
    const RecorderResources resources = ResourcesFor(batch);
    SPIRLOOM_TRY_ASSIGN(DescriptorSets sets,
                        MakeDescriptorSets(inputs_.device, dispatches, resources));
    SPIRLOOM_TRY_ASSIGN(vulkan::CommandBuffer commands,
                        vulkan::CommandBuffer::Create(inputs_.device));
    SPIRLOOM_TRY(commands.Begin());
    Recorder recorder(commands, resources, dispatches, sets.sets, result_.initialized);
    recorder.AddDispatches();
    recorder.Finish();
    SPIRLOOM_TRY(commands.End());
    SPIRLOOM_TRY(inputs_.device.SubmitAndWait(commands.handle()));
    KeepInitialized(recorder);
    return Status();
  }

  // Images that outlive the batch; handles of others may come up again.
  void KeepInitialized(const Recorder& recorder) {
    const auto keep = [&](const TensorResource* resource) {
      if (resource == nullptr || !resource->image) return;
      const VkImage image = resource->image->handle();
      if (recorder.initialized().contains(image)) result_.initialized.insert(image);
    };
    for (const Dispatch* dispatch : work_.dispatches) {
      for (uint32_t tensor : dispatch->tensors) {
        if (tensor != kNoTensor) keep(passing_.Find(tensor));
      }
    }
  }

  // Leaves the images of the store: those that passed from batch to batch end here, and theirs are
  // handles that may come up again as well.
  void DropPassing() {
    std::unordered_set<VkImage> stored;
    for (uint32_t root = 0; root < numbers_.size(); ++root) {
      if (numbers_[root] == ConstantPool::kNoNumber) continue;
      const TensorResource* resource = store_.Find(root);
      if (resource != nullptr && resource->image) stored.insert(resource->image->handle());
    }
    std::erase_if(result_.initialized, [&](VkImage image) { return !stored.contains(image); });
  }

  const WeightInitInputs& inputs_;
  TensorStore& store_;
  TensorStore passing_;            // computed constants that a later batch needs
  ConstantWork work_;              // without what is known already
  std::vector<uint32_t> numbers_;  // by tensor: of constants, in inputs_.known
  std::vector<size_t> last_use_;   // by tensor: the last dispatch that binds it
  WeightInitResult result_;
};

}  // namespace

Result<WeightInitResult> InitializeWeights(const WeightInitInputs& inputs, TensorStore& store) {
  Result<WeightInitResult> result = WeightInit(inputs, store).Run();
  if (!result.ok()) return std::move(result).status().While("preparing the model's constants");
  return result;
}

}  // namespace spirloom::graph
