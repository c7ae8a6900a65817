// A fixture that loads small graphs on the default device. Any validation message fails the test.
#ifndef SPIRLOOM_TESTS_SUPPORT_MODEL_FIXTURE_H_
#define SPIRLOOM_TESTS_SUPPORT_MODEL_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/graph/model/execution_context.h"
#include "runtime/session/runtime_state.h"
#include "spirloom/model.h"
#include "spirloom/runtime.h"
#include "tests/support/graph_file_builder.h"

namespace spirloom {

using Floats = std::vector<float>;

inline const std::vector<Storage> kStorages{Storage::kBuffer, Storage::kTexture3D,
                                            Storage::kTexture2D};

// The arguments of aten.add.Tensor and aten.linear. A bias of NoneArg() is absent.
std::vector<graph::Arg> AddArgs(uint32_t a, uint32_t b, double alpha = 1);
std::vector<graph::Arg> LinearArgs(uint32_t x, uint32_t weight, graph::Arg bias);

// Adds a node with one f32 output, and returns the index of the output.
uint32_t AddNode(graph::FileGraph& file, const std::string& op, std::vector<graph::Arg> args,
                 std::vector<uint64_t> shape, int storage = 0);
uint32_t AddInput(graph::FileGraph& file, const std::string& name, std::vector<uint64_t> shape);

// y = relu(x + 2 w), with a constant w = [1, 2, 3] and x of [2, 3].
graph::FileGraph SmallGraph();

// Loads the first method of a graph file in memory, as on a device with this access to memory. The
// bytes must outlive the context.
Result<std::shared_ptr<internal::ExecutionContext>> LoadContext(const Runtime& runtime,
                                                                std::span<const std::byte> file,
                                                                internal::HostAccess access,
                                                                const ModelOptions& options = {});

// Runs the model and returns the outputs.
Result<std::vector<Floats>> RunModel(Model& model, const std::vector<Floats>& inputs);

class ModelTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!IsAvailable()) return;
    RuntimeOptions options;
    options.libraries = {&AllShaders()};
    options.cache_dir = "none";
    options.validation = true;
    Result<Runtime> runtime = Runtime::Create(options);
    ASSERT_TRUE(runtime.ok()) << runtime.status().message();
    runtime_ = std::make_unique<Runtime>(std::move(*runtime));
  }

  static void TearDownTestSuite() { runtime_.reset(); }

  void SetUp() override {
    if (runtime_ == nullptr) GTEST_SKIP() << "There is no Vulkan device.";
    messages_ = runtime_->validation_message_count();
  }

  void TearDown() override {
    if (runtime_ == nullptr) return;
    EXPECT_EQ(runtime_->validation_message_count(), messages_) << "validation messages";
  }

  static Result<Model> Load(const graph::FileGraph& file, Storage storage = Storage::kAuto,
                            bool profile = false) {
    ModelOptions options;
    options.storage = storage;
    options.profile = profile;
    return Model::LoadFromMemory(*runtime_, file.Write(), options);
  }

  static Result<std::vector<Floats>> LoadAndRun(const graph::FileGraph& file,
                                                const std::vector<Floats>& inputs,
                                                Storage storage = Storage::kAuto) {
    SPIRLOOM_TRY_ASSIGN(Model model, Load(file, storage));
    return RunModel(model, inputs);
  }

  static const vulkan::DeviceCounters& Counters() { return runtime_->state()->device->counters(); }

  static std::unique_ptr<Runtime> runtime_;

 private:
  uint64_t messages_ = 0;
};

}  // namespace spirloom

#endif  // SPIRLOOM_TESTS_SUPPORT_MODEL_FIXTURE_H_
