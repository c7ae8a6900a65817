// Resources of the host application in the C API: memory, an allocator, threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <thread>
#include <vector>

#include "tests/c_api/set_up.h"
#include "tests/support/counting_allocator.h"

namespace spirloom::c {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CHostTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!spirloom_is_available()) GTEST_SKIP() << "There is no Vulkan device.";
    options_.validation = true;
  }

  void TearDown() override {
    EXPECT_EQ(spirloom_runtime_validation_message_count(runtime_.get()), 0u);
  }

  spirloom_runtime_options options_ = SPIRLOOM_INIT(spirloom_runtime_options);
  OwnedRuntime runtime_;
};

Outcome RunOnBoundMemory(const OwnedModel& model) {
  return Call(spirloom_model_run, model.get(), nullptr, size_t{0}, nullptr, size_t{0});
}

// Page-aligned memory of the application, for import.
class Pages {
 public:
  static constexpr size_t kSize = 4096;

  float* floats() const { return static_cast<float*>(memory_.get()); }

 private:
  std::unique_ptr<void, decltype(&std::free)> memory_{std::aligned_alloc(kSize, kSize), &std::free};
};

TEST_F(CHostTest, RunsOnTheApplicationsMemory) {
  options_.import_host_memory = true;
  ASSERT_EQ(CreateRuntime(options_, runtime_).message, "");
  const OwnedModel model = LoadModel(runtime_, SmallGraph());  // y = relu(x + 2 [1, 2, 3])
  const Pages x;
  const Pages y;
  const auto bind_x = [&](size_t i, const float* data, size_t size) {
    return Call(spirloom_model_bind_input_memory, model.get(), i, static_cast<const void*>(data),
                size);
  };
  const Outcome bound = bind_x(0, x.floats(), Pages::kSize);
  if (bound.status == SPIRLOOM_UNSUPPORTED) {
    GTEST_SKIP() << "The device lacks VK_EXT_external_memory_host.";
  }
  ASSERT_EQ(bound.message, "");
  ASSERT_EQ(Call(spirloom_model_bind_output_memory, model.get(), size_t{0},
                 static_cast<void*>(y.floats()), Pages::kSize)
                .message,
            "");
  for (const float value : {1.0f, 4.0f}) {
    std::fill_n(x.floats(), 6, value);
    ASSERT_EQ(RunOnBoundMemory(model).message, "");
    EXPECT_THAT(std::span(y.floats(), 3), ElementsAre(value + 2, value + 4, value + 6));
  }
  EXPECT_THAT(bind_x(0, x.floats() + 1, Pages::kSize).message, HasSubstr("must be multiples of"));
  EXPECT_THAT(bind_x(1, x.floats(), Pages::kSize).message, HasSubstr("number of inputs is 1"));

  // NULL unbinds: the input is read from the model's memory.
  ASSERT_EQ(bind_x(0, nullptr, 0).message, "");
  spirloom_bytes own = {};
  ASSERT_EQ(Call(spirloom_model_input_bytes, model.get(), size_t{0}, &own).message, "");
  std::fill_n(static_cast<float*>(own.data), 6, 10.0f);
  ASSERT_EQ(RunOnBoundMemory(model).message, "");
  EXPECT_THAT(std::span(y.floats(), 3), ElementsAre(12, 14, 16));
}

TEST_F(CHostTest, RefusesMemoryWithoutImportHostMemory) {
  ASSERT_EQ(CreateRuntime(options_, runtime_).message, "");
  const OwnedModel model = LoadModel(runtime_, SmallGraph());
  const Pages page;
  EXPECT_EQ(Call(spirloom_model_bind_output_memory, model.get(), size_t{0},
                 static_cast<void*>(page.floats()), Pages::kSize)
                .status,
            SPIRLOOM_UNSUPPORTED);
}

TEST_F(CHostTest, VulkanAllocatesWithTheApplicationsAllocator) {
  CountingAllocator allocator;
  options_.allocator = &allocator.callbacks;
  ASSERT_EQ(CreateRuntime(options_, runtime_).message, "");
  const int before = allocator.calls;
  EXPECT_GT(before, 0);
  {
    const OwnedModel model = LoadModel(runtime_, SmallGraph());
    EXPECT_GT(allocator.calls, before);
    EXPECT_EQ(RunOnBoundMemory(model).message, "");
  }
  runtime_.reset();  // before the allocator
}

// Threads of the application that execute a runtime's parallel_for(), one per item.
struct Workers {
  std::mutex mutex;
  std::set<std::thread::id> ids;
  std::vector<size_t> counts;

  static void ParallelFor(size_t count, spirloom_work work, void* work_data, void* self) {
    auto& workers = *static_cast<Workers*>(self);
    std::vector<std::thread> threads;
    for (size_t i = 0; i < count; ++i) {
      threads.emplace_back([&workers, work, work_data, i] {
        work(i, work_data);
        const std::scoped_lock lock(workers.mutex);
        workers.ids.insert(std::this_thread::get_id());
      });
    }
    for (std::thread& thread : threads) thread.join();
    const std::scoped_lock lock(workers.mutex);
    workers.counts.push_back(count);
  }
};

TEST_F(CHostTest, WorksOnTheApplicationsThreads) {
  Workers workers;
  options_.parallel_for = &Workers::ParallelFor;
  options_.parallel_for_data = &workers;
  ASSERT_EQ(CreateRuntime(options_, runtime_).message, "");
  const OwnedModel model = LoadModel(runtime_, SmallGraph());
  EXPECT_FALSE(workers.counts.empty());
  EXPECT_FALSE(workers.ids.contains(std::this_thread::get_id()));
  EXPECT_FALSE(workers.ids.empty());
  spirloom_bytes x = {};
  ASSERT_EQ(Call(spirloom_model_input_bytes, model.get(), size_t{0}, &x).message, "");
  std::fill_n(static_cast<float*>(x.data), 6, 1.0f);
  ASSERT_EQ(RunOnBoundMemory(model).message, "");
  spirloom_const_bytes y = {};
  ASSERT_EQ(Call(spirloom_model_output_bytes, model.get(), size_t{0}, &y).message, "");
  EXPECT_THAT(std::span(static_cast<const float*>(y.data), 3), ElementsAre(3, 5, 7));
}

}  // namespace
}  // namespace spirloom::c
