// Upload of constants to the device.
#include "runtime/graph/constants/weight_uploader.h"

#include <gmock/gmock.h>

#include <unordered_set>

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

constexpr uint64_t kSide = 16;  // a constant of 1 KiB

// y = relu(a) + b + x; relu(a) + b is a constant subexpression.
FileGraph SumOfConstants() {
  const std::vector<uint64_t> shape = {kSide, kSide};
  FileGraph file;
  const uint32_t x = AddInput(file, "x", shape);
  const uint32_t a = file.AddConstant("a", shape, 0, Floats(kSide * kSide, 1));
  const uint32_t b = file.AddConstant("b", shape, 0, Floats(kSide * kSide, 2));
  const uint32_t relu = AddNode(file, "aten.relu", {TensorArg(a)}, shape);
  const uint32_t sum = AddNode(file, "aten.add.Tensor", AddArgs(relu, b), shape);
  file.outputs = {AddNode(file, "aten.add.Tensor", AddArgs(sum, x), shape)};
  return file;
}

// Images that are used only between two batches of constants are destroyed. Uninitialized images
// may reuse their handles.
TEST_F(ModelTest, OnlyRemainingImagesAreInitialized) {
  internal::RuntimeState& runtime = *runtime_->state();
  const vulkan::Device& device = *runtime.device;
  const std::vector<std::byte> file = SumOfConstants().Write();
  const graph::Graph parsed = ValueOf(graph::ParseGraph(file));
  const graph::DeviceTraits traits = graph::TraitsOf(device);
  const graph::Plan plan = ValueOf(graph::Compile(
      parsed, runtime.index, traits, {.storage = Storage::kTexture3D, .max_dispatches = 100}));
  const graph::DispatchList list = ValueOf(graph::BuildDispatches(plan, traits));
  graph::PipelinePool pool;
  const auto pipelines =
      ValueOf(pool.Get(device, *runtime.layouts, VK_NULL_HANDLE, list.pipelines));
  const vulkan::Buffer dummy =
      ValueOf(vulkan::Buffer::Create(device, 64, vulkan::MemoryUse::kDevice));
  graph::ConstantPool constants;
  graph::TensorStore store(device, plan, std::make_shared<graph::MemoryBudget>(uint64_t{1} << 30));

  const uint64_t submits = device.counters().submits;
  const graph::WeightUploadResult result = ValueOf(graph::UploadWeights(
      {.device = device,
       .graph = parsed,
       .plan = plan,
       .dispatches = list.dispatches,
       .pipeline = [&](uint32_t i) -> const vulkan::ComputePipeline& { return *pipelines[i]; },
       .dummy = dummy,
       .host_maps_constants = true,
       .pool = constants,
       .batch_bytes = 1024},
      store));
  EXPECT_EQ(device.counters().submits, submits + 2)
      << "relu(a) must be computed in one batch and read in the next";
  std::unordered_set<VkImage> stored;
  for (uint32_t i = 0; i < plan.tensors.size(); ++i) {
    const graph::TensorResource* resource = store.Find(i);
    if (resource != nullptr && resource->image) stored.insert(resource->image->handle());
  }
  EXPECT_EQ(stored.size(), 1U);
  EXPECT_EQ(result.initialized, stored);
}

}  // namespace
}  // namespace spirloom
