// Memory allocation falls back to another heap if one is full, and to smaller blocks if no heap can
// hold a large one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "runtime/session/runtime_state.h"
#include "tests/faults/fault_fixture.h"
#include "tests/support/model_fixture.h"
#include "tests/value_of.h"

namespace spirloom::faults {
namespace {

using graph::FileGraph;
using graph::TensorArg;
using testing::AllOf;
using testing::HasSubstr;

constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kEnough = 1024 * kMiB;
constexpr uint64_t kElements = 5 * kMiB;  // 20 MiB of float32

class HeapsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!IsAvailable()) GTEST_SKIP() << "No Vulkan device is available.";
    leaked_ = Faults().live();
  }
  void TearDown() override {
    if (runtime_) {
      EXPECT_EQ(AllocatedBytes(), 0U);
    }
    runtime_.reset();
    Faults().join_heaps();
    EXPECT_EQ(Faults().live(), leaked_);
  }

  void Restart(uint64_t first, uint64_t second) {
    runtime_.reset();
    Faults().join_heaps();
    Faults().split_heaps(first, second);
    Result<Runtime> made = MakeRuntime();
    ASSERT_TRUE(made.ok()) << made.status().message();
    runtime_.emplace(std::move(made).value());
  }

  uint64_t AllocatedBytes() const { return runtime_->state()->device->counters().allocated_bytes; }

  std::optional<Runtime> runtime_;
  size_t leaked_ = 0;
};

// y = max(3 relu(x) + |x|), with six live intermediate tensors of 20 MiB.
std::vector<std::byte> WideGraph() {
  FileGraph file;
  const std::vector<uint64_t> shape = {kElements};
  const uint32_t x = AddInput(file, "x", shape);
  std::vector<uint32_t> parts;
  for (const double sign : {-1.0, 0.0, 1.0}) {
    const uint32_t relu = AddNode(file, "aten.relu", {TensorArg(x)}, shape);
    parts.push_back(AddNode(file, "aten.add.Tensor", AddArgs(relu, x, sign), shape));
  }
  const uint32_t a = AddNode(file, "aten.neg", {TensorArg(x)}, shape);
  const uint32_t b = AddNode(file, "aten.abs", {TensorArg(x)}, shape);
  const uint32_t zero = AddNode(file, "aten.add.Tensor", AddArgs(a, x), shape);
  uint32_t sum = AddNode(file, "aten.add.Tensor", AddArgs(parts[0], parts[1]), shape);
  for (const uint32_t more : {parts[2], b, zero}) {
    sum = AddNode(file, "aten.add.Tensor", AddArgs(sum, more), shape);
  }
  const std::vector<graph::Arg> args = {TensorArg(sum), graph::IntsArg({0}), graph::BoolArg(false)};
  file.outputs = {AddNode(file, "aten.amax", args, {})};
  return file.Write();
}

TEST_F(HeapsTest, UsesAnotherHeapIfOneIsFull) {
  for (const Use& use : {Use{.name = "buffers"}, Use{.name = "staged", .staged = true},
                         Use{.name = "textures", .storage = Storage::kTexture3D}}) {
    ASSERT_NO_FATAL_FAILURE(Restart(kEnough, 0));
    const Result<std::vector<float>> expected = UseModel(*runtime_, use);
    ASSERT_TRUE(expected.ok()) << use.name << ": " << expected.status().message();
    ASSERT_NO_FATAL_FAILURE(Restart(0, kEnough));
    const Result<std::vector<float>> found = UseModel(*runtime_, use);
    ASSERT_TRUE(found.ok()) << use.name << ": " << found.status().message();
    EXPECT_EQ(*found, *expected);
  }
}

// VK_EXT_memory_budget: other programs use the memory of the device.
TEST_F(HeapsTest, ModelsThatCannotFitFailAtOnce) {
  Faults().emulate_extensions(/*budget=*/100 * kMiB, /*usage=*/30 * kMiB);
  const Runtime runtime = ValueOf(MakeRuntime());
  EXPECT_EQ(runtime.memory().free, 70 * kMiB);
  const uint64_t allocations = runtime.state()->device->counters().memory_allocations;
  const Status status = Model::LoadFromMemory(runtime, WideGraph()).status();
  EXPECT_EQ(status.code(), StatusCode::kOutOfMemory);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("The model requires at least 125829120 bytes of device memory "
                              "(constants 0, states and activations 125829120); 73400320 bytes are "
                              "free. Free other models,"),
                    HasSubstr("--quantize")));
  EXPECT_LE(runtime.state()->device->counters().memory_allocations, allocations + 1);
  Faults().emulate_extensions(/*budget=*/200 * kMiB, /*usage=*/30 * kMiB);
  EXPECT_TRUE(Model::LoadFromMemory(runtime, WideGraph()).ok());
  Faults().emulate_extensions(0, 0);
}

TEST_F(HeapsTest, FreeMemoryWithoutABudgetAndWithALimit) {
  RuntimeOptions options;
  options.libraries = {&AllShaders()};
  options.cache_dir = "none";
  const Runtime unlimited = ValueOf(Runtime::Create(options));
  EXPECT_EQ(unlimited.memory().free, unlimited.device().device_memory);
  options.memory_limit = 50 * kMiB;
  const Runtime limited = ValueOf(Runtime::Create(options));
  EXPECT_EQ(limited.memory().free, 50 * kMiB);
  const Status status = Model::LoadFromMemory(limited, WideGraph()).status();
  EXPECT_EQ(status.code(), StatusCode::kOutOfMemory);
  EXPECT_THAT(status.message(), HasSubstr("RuntimeOptions::memory_limit"));
}

TEST_F(HeapsTest, WithoutABudgetAllocationsCountOnce) {
  ASSERT_NO_FATAL_FAILURE(Restart(200 * kMiB, 160 * kMiB));
  const vulkan::Device& device = *runtime_->state()->device;
  const Model model = ValueOf(Model::LoadFromMemory(*runtime_, WideGraph()));
  const uint64_t used = device.counters().allocated_bytes;
  EXPECT_GT(used, 100 * kMiB);
  const VkPhysicalDeviceMemoryProperties& memory = device.physical().memory;
  ASSERT_EQ(memory.memoryHeapCount, 2U);
  const auto& heaps = memory.memoryHeaps;
  EXPECT_EQ(device.free_memory().total, heaps[0].size + heaps[1].size - used);
  EXPECT_EQ(device.free_memory().local, heaps[0].size - used) << "all may be in the first heap";
}

// VK_KHR_global_priority.
TEST_F(HeapsTest, PriorityOfTheQueue) {
  for (const bool supported : {false, true}) {
    Faults().emulate_extensions(supported ? kEnough : 0, 0);
    for (const Priority priority : {Priority::kDefault, Priority::kLow, Priority::kHigh}) {
      int warnings = 0;
      RuntimeOptions options;
      options.cache_dir = "none";
      options.priority = priority;
      options.log = [&](LogLevel level, std::string_view message) {
        if (level != LogLevel::kWarning) return;
        EXPECT_THAT(std::string(message), HasSubstr("VK_KHR_global_priority"));
        ++warnings;
      };
      ASSERT_TRUE(Runtime::Create(options).ok());
      const bool requested = priority != Priority::kDefault;
      const uint32_t expected = priority == Priority::kLow ? VK_QUEUE_GLOBAL_PRIORITY_LOW_KHR
                                                           : VK_QUEUE_GLOBAL_PRIORITY_HIGH_KHR;
      EXPECT_EQ(Faults().priority(), requested && supported ? expected : 0);
      EXPECT_EQ(warnings, requested && !supported ? 1 : 0);
    }
  }
  Faults().emulate_extensions(0, 0);
}

TEST_F(HeapsTest, SplitsBlocksThatFitNoHeap) {
  const std::vector<std::byte> graph = WideGraph();
  // One block of 120 MiB fits neither heap. Of two blocks of 60 MiB only the first fits, and must
  // be freed. Of six blocks five fit the first heap; the last one and x fit the second.
  ASSERT_NO_FATAL_FAILURE(Restart(119 * kMiB, 59 * kMiB));
  Result<Model> model = Model::LoadFromMemory(*runtime_, graph);
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_GE(model->stats().planned_bytes, 120 * kMiB) << "the plan fits one heap";
  std::vector<float> x(kElements);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 1001) - 500;
  const auto outputs = RunModel(*model, {x});
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  EXPECT_EQ((*outputs)[0], std::vector<float>{4 * 500});
}

TEST_F(HeapsTest, ReportsTheSizeIfNoHeapFits) {
  ASSERT_NO_FATAL_FAILURE(Restart(10 * kMiB, 10 * kMiB));
  const Status status = Model::LoadFromMemory(*runtime_, WideGraph()).status();
  EXPECT_EQ(status.code(), StatusCode::kOutOfMemory);
  EXPECT_THAT(status.message(), HasSubstr("vkAllocateMemory"));
  EXPECT_THAT(status.message(), HasSubstr("While allocating "));
}

}  // namespace
}  // namespace spirloom::faults
