// Upload of constants to the device.
#include "runtime/graph/constants/weight_uploader.h"

#include <gmock/gmock.h>

#include <cstring>
#include <numeric>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "runtime/graph/file/graph_loader.h"
#include "runtime/graph/plan/compile.h"
#include "runtime/graph/plan/limits.h"
#include "runtime/graph/record/traits_of_device.h"
#include "tests/support/model_fixture.h"
#include "tests/value_of.h"

namespace spirloom {
namespace {

using graph::FileGraph;
using graph::TensorArg;

constexpr uint64_t kConstantSide = 16;  // a constant of 1 KiB

// y = relu(a) + b + x; relu(a) + b is a constant subexpression.
FileGraph SumOfConstants() {
  const std::vector<uint64_t> shape = {kConstantSide, kConstantSide};
  FileGraph file;
  const uint32_t x = AddInput(file, "x", shape);
  const uint32_t a = file.AddConstant("a", shape, 0, Floats(kConstantSide * kConstantSide, 1));
  const uint32_t b = file.AddConstant("b", shape, 0, Floats(kConstantSide * kConstantSide, 2));
  const uint32_t relu = AddNode(file, "aten.relu", {TensorArg(a)}, shape);
  const uint32_t sum = AddNode(file, "aten.add.Tensor", AddArgs(relu, b), shape);
  file.outputs = {AddNode(file, "aten.add.Tensor", AddArgs(sum, x), shape)};
  return file;
}

// A graph file, compiled for the device of the fixture, and the constants that were uploaded for
// it.
class Uploaded {
 public:
  // `max_bytes`: limit of the device memory.
  Uploaded(const internal::RuntimeState& runtime, const FileGraph& graph, Storage storage,
           uint64_t max_bytes = uint64_t{1} << 30)
      : device_(*runtime.device), file_(graph.Write()), parsed_(ValueOf(graph::ParseGraph(file_))) {
    const graph::DeviceTraits traits = graph::TraitsOf(device_);
    plan_ = ValueOf(graph::Compile(parsed_, runtime.index, traits,
                                   {.storage = storage, .max_dispatches = 100}));
    list_ = ValueOf(graph::BuildDispatches(plan_, traits));
    pipelines_ = ValueOf(pool_.Get(device_, *runtime.layouts, VK_NULL_HANDLE, list_.pipelines));
    store_.emplace(device_, plan_, std::make_shared<graph::MemoryBudget>(max_bytes));
  }

  graph::WeightUploadResult Upload(bool host_maps_constants, uint64_t batch_bytes) {
    return ValueOf(TryUpload(host_maps_constants, batch_bytes));
  }

  Result<graph::WeightUploadResult> TryUpload(bool host_maps_constants, uint64_t batch_bytes) {
    const vulkan::Buffer dummy =
        ValueOf(vulkan::Buffer::Create(device_, 64, vulkan::MemoryUse::kDevice));
    return graph::UploadWeights(
        {.device = device_,
         .graph = parsed_,
         .plan = plan_,
         .dispatches = list_.dispatches,
         .pipeline = [&](uint32_t i) -> const vulkan::ComputePipeline& { return *pipelines_[i]; },
         .dummy = dummy,
         .host_maps_constants = host_maps_constants,
         .pool = constants_,
         .batch_bytes = batch_bytes},
        *store_);
  }

  std::vector<const graph::TensorResource*> Stored() const {
    std::vector<const graph::TensorResource*> found;
    for (uint32_t i = 0; i < plan_.tensors.size(); ++i) {
      if (plan_.tensors[i].alias_of != graph::kNoTensor) continue;
      if (const graph::TensorResource* resource = store_->Find(i)) found.push_back(resource);
    }
    return found;
  }

  // Returns the elements of the only stored constant, a buffer of `count` floats.
  std::vector<float> Read(size_t count) const {
    const std::vector<const graph::TensorResource*> stored = Stored();
    EXPECT_EQ(stored.size(), 1U);
    const vulkan::Buffer& source = *stored.at(0)->buffer;
    const size_t size = count * sizeof(float);
    const vulkan::Buffer copy =
        ValueOf(vulkan::Buffer::Create(device_, size, vulkan::MemoryUse::kReadback));
    vulkan::CommandBuffer commands = ValueOf(vulkan::CommandBuffer::Create(device_));
    EXPECT_TRUE(commands.Begin().ok());
    commands.CopyBuffer(source.handle(), source.offset(), copy.handle(), copy.offset(), size);
    EXPECT_TRUE(commands.End().ok());
    EXPECT_TRUE(device_.SubmitAndWait(commands.handle()).ok());
    std::vector<float> values(count);
    std::memcpy(values.data(), copy.mapped(), size);
    return values;
  }

 private:
  const vulkan::Device& device_;
  const std::vector<std::byte> file_;
  const graph::Graph parsed_;
  graph::Plan plan_;
  graph::DispatchList list_;
  graph::PipelinePool pool_;
  std::vector<graph::SharedPipeline> pipelines_;
  graph::ConstantPool constants_;
  std::optional<graph::TensorStore> store_;
};

// Images that are used only between two batches of constants are destroyed. Uninitialized images
// may reuse their handles.
TEST_F(ModelTest, OnlyRemainingImagesAreInitialized) {
  internal::RuntimeState& runtime = *runtime_->state();
  Uploaded uploaded(runtime, SumOfConstants(), Storage::kTexture3D);
  const uint64_t submits = runtime.device->counters().submits;
  const graph::WeightUploadResult result =
      uploaded.Upload(/*host_maps_constants=*/true, /*batch_bytes=*/1024);
  EXPECT_EQ(runtime.device->counters().submits, submits + 2)
      << "relu(a) must be computed in one batch and read in the next";
  std::unordered_set<VkImage> stored;
  for (const graph::TensorResource* resource : uploaded.Stored()) {
    if (resource->image) stored.insert(resource->image->handle());
  }
  EXPECT_EQ(stored.size(), 1U);
  EXPECT_EQ(result.initialized, stored);
}

// The host prepares a batch while the device computes the previous one, whose result it reads, and
// reuses the memory of the batch before.
TEST_F(ModelTest, BatchesOfConstantsOverlap) {
  constexpr uint32_t kTerms = 9;
  const std::vector<uint64_t> shape = {kConstantSide, kConstantSide};
  FileGraph file;
  const uint32_t x = AddInput(file, "x", shape);
  uint32_t sum = file.AddConstant("c0", shape, 0, Floats(kConstantSide * kConstantSide, 1));
  for (uint32_t i = 1; i < kTerms; ++i) {
    const float value = static_cast<float>(1U << i);
    const uint32_t term = file.AddConstant("c" + std::to_string(i), shape, 0,
                                           Floats(kConstantSide * kConstantSide, value));
    sum = AddNode(file, "aten.add.Tensor", AddArgs(sum, term), shape);
  }
  file.outputs = {AddNode(file, "aten.add.Tensor", AddArgs(sum, x), shape)};
  Uploaded uploaded(*runtime_->state(), file, Storage::kBuffer);
  const uint64_t submits = runtime_->state()->device->counters().submits;
  uploaded.Upload(/*host_maps_constants=*/true, /*batch_bytes=*/1024);
  EXPECT_EQ(runtime_->state()->device->counters().submits, submits + kTerms - 1);
  EXPECT_EQ(
      uploaded.Read(kConstantSide * kConstantSide),
      std::vector<float>(kConstantSide * kConstantSide, static_cast<float>((1U << kTerms) - 1)));
}

// y = x + c, with a constant of 3 MiB and 5 elements.
constexpr uint64_t kConstantCount = (3 << 20) / sizeof(float) + 5;
FileGraph LargeConstant(const std::vector<float>& values) {
  FileGraph file;
  const uint32_t x = AddInput(file, "x", {kConstantCount});
  const uint32_t c = file.AddConstant("c", {kConstantCount}, 0, values);
  file.outputs = {AddNode(file, "aten.add.Tensor", AddArgs(x, c), {kConstantCount})};
  return file;
}

// A constant of several chunks, each copied by another thread, and of several staging buffers.
TEST_F(ModelTest, LargeConstantsAreCopiedByThreads) {
  std::vector<float> values(kConstantCount);
  std::iota(values.begin(), values.end(), 0.0F);
  const FileGraph file = LargeConstant(values);
  for (const bool is_mapped : {true, false}) {
    Uploaded uploaded(*runtime_->state(), file, Storage::kBuffer);
    uploaded.Upload(is_mapped, /*batch_bytes=*/(1 << 20) + 48);
    EXPECT_EQ(uploaded.Read(kConstantCount), values) << (is_mapped ? "mapped" : "staged");
  }
}

// Staging buffers take what the limit leaves beside the constants, and count as device memory.
TEST_F(ModelTest, StagingBuffersAreWithinTheLimit) {
  std::vector<float> values(kConstantCount);
  std::iota(values.begin(), values.end(), 0.0F);
  const FileGraph file = LargeConstant(values);
  constexpr uint64_t kBytes = kConstantCount * sizeof(float);
  Uploaded uploaded(*runtime_->state(), file, Storage::kBuffer, kBytes + (200 << 10));
  uploaded.Upload(/*host_maps_constants=*/false, /*batch_bytes=*/1 << 20);
  EXPECT_EQ(uploaded.Read(kConstantCount), values);
  Uploaded too_small(*runtime_->state(), file, Storage::kBuffer, kBytes + (70 << 10));
  const Status status =
      too_small.TryUpload(/*host_maps_constants=*/false, /*batch_bytes=*/1 << 20).status();
  EXPECT_EQ(status.code(), StatusCode::kOutOfMemory);
  EXPECT_THAT(status.message(), ::testing::HasSubstr("65536 more requested) exceeds the limit"));
}

}  // namespace
}  // namespace spirloom
