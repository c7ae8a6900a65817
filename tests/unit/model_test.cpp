// Whole models on whatever device is there, with the validation layers on and silent.
#include "spirloom/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <fstream>
#include <optional>
#include <random>
#include <thread>

#include "runtime/graph/graph_loader.h"
#include "runtime/graph/model_state.h"
#include "runtime/ops/runtime_state.h"
#include "spirloom/runtime.h"
#include "tests/unit/graph_file_builder.h"

namespace spirloom {
namespace {

using graph::FileGraph;
using graph::FloatArg;
using graph::IntArg;
using graph::IntsArg;
using graph::NoneArg;
using graph::TensorArg;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Floats = std::vector<float>;

const std::vector<Storage> kStorages{Storage::kBuffer, Storage::kTexture3D, Storage::kTexture2D};

std::vector<graph::Arg> AddArgs(uint32_t a, uint32_t b, double alpha = 1) {
  return {TensorArg(a), TensorArg(b), FloatArg(alpha), IntArg(0), FloatArg(0), FloatArg(0)};
}

std::vector<graph::Arg> LinearArgs(uint32_t x, uint32_t weight, graph::Arg bias) {
  return {TensorArg(x), TensorArg(weight), std::move(bias), IntArg(0),
          FloatArg(0),  FloatArg(0),       NoneArg()};
}

uint32_t AddNode(FileGraph& file, const std::string& op, std::vector<graph::Arg> args,
                 std::vector<uint64_t> shape, int storage = 0) {
  const std::string name = "t" + std::to_string(file.tensors.size());
  const uint32_t y = file.AddTensor(name, std::move(shape), /*dtype=*/0, storage);
  file.nodes.push_back({op, std::move(args), {y}, name});
  return y;
}

uint32_t AddInput(FileGraph& file, const std::string& name, std::vector<uint64_t> shape) {
  const uint32_t x = file.AddTensor(name, std::move(shape));
  file.inputs.push_back(x);
  return x;
}

Result<std::vector<Floats>> RunModel(Model& model, const std::vector<Floats>& inputs) {
  std::vector<std::span<const std::byte>> input_spans;
  for (const Floats& input : inputs) input_spans.push_back(std::as_bytes(std::span(input)));
  std::vector<Floats> outputs;
  for (const TensorInfo& info : model.outputs()) outputs.emplace_back(info.size / 4, -77.0f);
  std::vector<std::span<std::byte>> output_spans;
  for (Floats& output : outputs) {
    output_spans.push_back(std::as_writable_bytes(std::span(output)));
  }
  SPIRLOOM_TRY(model.Run(input_spans, output_spans));
  return outputs;
}

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

  static Result<Model> Load(const FileGraph& file, Storage storage = Storage::kAuto,
                            bool profile = false) {
    ModelOptions options;
    options.storage = storage;
    options.profile = profile;
    return Model::LoadFromMemory(*runtime_, file.Write(), options);
  }

  static Result<std::vector<Floats>> LoadAndRun(const FileGraph& file,
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

std::unique_ptr<Runtime> ModelTest::runtime_;

// y = relu(x + 2 w), with a constant w.
FileGraph SmallGraph() {
  FileGraph file;
  const uint32_t x = AddInput(file, "x", {2, 3});
  const uint32_t w = file.AddConstant<float>("w", {3}, 0, {1, 2, 3});
  const uint32_t sum = AddNode(file, "aten.add.Tensor", AddArgs(x, w, 2), {2, 3});
  file.outputs = {AddNode(file, "aten.relu", {TensorArg(sum)}, {2, 3})};
  return file;
}

TEST_F(ModelTest, ComputesInEitherStorage) {
  for (Storage storage : kStorages) {
    auto outputs = LoadAndRun(SmallGraph(), {{-9, -3, -1, 0, 1, 2}}, storage);
    ASSERT_TRUE(outputs.ok()) << outputs.status().message();
    EXPECT_THAT((*outputs)[0], ElementsAre(0, 1, 5, 2, 5, 8));
  }
}

TEST_F(ModelTest, DescribesItself) {
  Result<Model> model = Load(SmallGraph());
  ASSERT_TRUE(model.ok());
  ASSERT_EQ(model->inputs().size(), 1u);
  EXPECT_EQ(model->inputs()[0].name, "x");
  EXPECT_EQ(model->inputs()[0].shape, (Shape{2, 3}));
  EXPECT_EQ(model->inputs()[0].size, 24u);
  EXPECT_EQ(model->outputs()[0].dtype, DType::kF32);
  EXPECT_EQ(model->stats().dispatches, 2u);
  // Between the dispatches; and around them where inputs and outputs are copied.
  const std::string& type = runtime_->device().type;
  const bool unified = type == "integrated" || type == "cpu";
  EXPECT_EQ(model->stats().barriers, unified ? 1u : 3u);
  EXPECT_GT(model->stats().load_ns, 0u);
}

TEST_F(ModelTest, RunningAllocatesAndRecordsNothing) {
  for (Storage storage : kStorages) {
    Result<Model> model = Load(SmallGraph(), storage, /*profile=*/true);
    ASSERT_TRUE(model.ok());
    const uint64_t allocations = Counters().memory_allocations;
    const uint64_t frees = Counters().memory_frees;
    const uint64_t recordings = Counters().recordings;
    const uint64_t updates = Counters().descriptor_updates;
    const uint64_t pipelines = Counters().pipelines;
    const uint64_t submits = Counters().submits;
    for (int i = 0; i < 100; ++i) {
      const auto x = static_cast<float>(i);
      auto outputs = RunModel(*model, {Floats(6, x)});
      ASSERT_TRUE(outputs.ok());
      ASSERT_THAT((*outputs)[0], ElementsAre(x + 2, x + 4, x + 6, x + 2, x + 4, x + 6));
      ASSERT_TRUE(model->Submit()->Wait().ok());
    }
    EXPECT_EQ(Counters().memory_allocations, allocations);
    EXPECT_EQ(Counters().memory_frees, frees);
    EXPECT_EQ(Counters().recordings, recordings);
    EXPECT_EQ(Counters().descriptor_updates, updates);
    EXPECT_EQ(Counters().pipelines, pipelines);
    EXPECT_EQ(Counters().submits, submits + 200);
  }
}

TEST_F(ModelTest, FreesEverything) {
  const uint64_t before = Counters().allocated_bytes;
  {
    Result<Model> model = Load(SmallGraph(), Storage::kTexture3D);
    ASSERT_TRUE(model.ok());
    EXPECT_GT(Counters().allocated_bytes, before);
  }
  EXPECT_EQ(Counters().allocated_bytes, before);
  EXPECT_EQ(Counters().memory_allocations, Counters().memory_frees);
}

TEST_F(ModelTest, ActivationsShareMemory) {
  FileGraph file;
  uint32_t t = AddInput(file, "x", {64, 64});
  for (int i = 0; i < 10; ++i) t = AddNode(file, "aten.relu", {TensorArg(t)}, {64, 64});
  file.outputs = {t};
  for (Storage storage : kStorages) {
    Result<Model> model = Load(file, storage);
    ASSERT_TRUE(model.ok());
    EXPECT_LE(model->stats().planned_bytes, model->stats().naive_bytes / 4);
  }
}

TEST_F(ModelTest, ReturnsInputsConstantsViewsAndRepeatedOutputs) {
  FileGraph file;
  const uint32_t x = AddInput(file, "x", {3});
  AddInput(file, "unused", {2});
  const uint32_t w = file.AddConstant<float>("w", {3}, 0, {10, 20, 30});
  const uint32_t y = AddNode(file, "aten.add.Tensor", AddArgs(x, w), {3});
  const uint32_t xv = AddNode(file, "aten.view", {TensorArg(x), IntsArg({1, 3})}, {1, 3});
  const uint32_t yv = AddNode(file, "aten.view", {TensorArg(y), IntsArg({3, 1})}, {3, 1});
  const uint32_t folded = AddNode(file, "aten.add.Tensor", AddArgs(w, w), {3});
  file.outputs = {y, x, w, y, xv, yv, folded};
  for (Storage storage : kStorages) {
    auto outputs = LoadAndRun(file, {{1, 2, 3}, {0, 0}}, storage);
    ASSERT_TRUE(outputs.ok()) << outputs.status().message();
    EXPECT_THAT(*outputs,
                ElementsAre(ElementsAre(11, 22, 33), ElementsAre(1, 2, 3), ElementsAre(10, 20, 30),
                            ElementsAre(11, 22, 33), ElementsAre(1, 2, 3), ElementsAre(11, 22, 33),
                            ElementsAre(20, 40, 60)));
  }
}

// What happens where the host cannot map the device's memory.
TEST_F(ModelTest, StagedInputsOutputsAndConstantsAreRight) {
  FileGraph file;
  const uint32_t x = AddInput(file, "x", {3});
  const uint32_t z = AddInput(file, "z", {2, 5});
  AddInput(file, "empty", {0});
  const uint32_t w = file.AddConstant<float>("w", {3}, 0, {10, 20, 30});
  const uint32_t y = AddNode(file, "aten.add.Tensor", AddArgs(x, w), {3});
  file.outputs = {AddNode(file, "aten.relu", {TensorArg(z)}, {2, 5}), y, w, x};
  const std::vector<std::byte> bytes = file.Write();
  Result<graph::Graph> graph = graph::ParseGraph(bytes);
  ASSERT_TRUE(graph.ok());
  for (Storage storage : kStorages) {
    ModelOptions options;
    options.storage = storage;
    auto state =
        internal::BuildModel(runtime_->state(), *graph, options, internal::HostAccess::kStaged);
    ASSERT_TRUE(state.ok()) << state.status().message();
    for (float run : {0.0f, 1.0f}) {
      const Floats xs{run + 1, 2, 3};
      const Floats zs{-1, 1, -2, 2, -3, 3, -4, 4, -5, run};
      const std::vector<std::span<const std::byte>> inputs{
          std::as_bytes(std::span(xs)), std::as_bytes(std::span(zs)), {}};
      std::vector<Floats> outputs{Floats(10), Floats(3), Floats(3), Floats(3)};
      std::vector<std::span<std::byte>> spans;
      for (Floats& output : outputs) spans.push_back(std::as_writable_bytes(std::span(output)));
      ASSERT_TRUE(internal::RunModel(**state, inputs, spans).ok());
      EXPECT_THAT(outputs, ElementsAre(ElementsAre(0, 1, 0, 2, 0, 3, 0, 4, 0, run),
                                       ElementsAre(run + 11, 22, 33), ElementsAre(10, 20, 30),
                                       ElementsAre(run + 1, 2, 3)));
    }
  }
}

TEST_F(ModelTest, TakesEmptyTensorsScalarsAndEmptyGraphs) {
  FileGraph file;
  const uint32_t scalar = AddInput(file, "scalar", {});
  const uint32_t empty = AddInput(file, "empty", {0, 4});
  file.outputs = {AddNode(file, "aten.relu", {TensorArg(scalar)}, {}),
                  AddNode(file, "aten.relu", {TensorArg(empty)}, {0, 4}), empty};
  for (Storage storage : kStorages) {
    auto outputs = LoadAndRun(file, {{-5}, {}}, storage);
    ASSERT_TRUE(outputs.ok()) << outputs.status().message();
    EXPECT_THAT(*outputs, ElementsAre(ElementsAre(0), ElementsAre(), ElementsAre()));
  }
  auto nothing = LoadAndRun(FileGraph(), {});
  ASSERT_TRUE(nothing.ok()) << nothing.status().message();
}

TEST_F(ModelTest, LongGridsReachEveryElement) {
  constexpr size_t kCount = 65536 * 64 * 4 + 5;
  FileGraph file;
  const uint32_t x = AddInput(file, "x", {kCount});
  file.outputs = {AddNode(file, "aten.relu", {TensorArg(x)}, {kCount})};
  Floats input(kCount, 1.0f);
  input.front() = 2;
  input.back() = 3;
  auto outputs = LoadAndRun(file, {input});
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  EXPECT_EQ((*outputs)[0], input);
}

// A product with constant weights equals the same with weights that are an input.
TEST_F(ModelTest, PackedWeightsEqualComputedOnes) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  Floats x(5 * 7), weight(6 * 7), bias(6);
  for (Floats* values : {&x, &weight, &bias}) {
    for (float& value : *values) value = uniform(random);
  }
  FileGraph constant;
  FileGraph computed;
  for (FileGraph* file : {&constant, &computed}) {
    const uint32_t a = AddInput(*file, "x", {5, 7});
    const bool fixed = file == &constant;
    const uint32_t w =
        fixed ? file->AddConstant("w", {6, 7}, 0, weight) : AddInput(*file, "w", {6, 7});
    const uint32_t b = fixed ? file->AddConstant("b", {6}, 0, bias) : AddInput(*file, "b", {6});
    file->outputs = {AddNode(*file, "aten.linear", LinearArgs(a, w, TensorArg(b)), {5, 6})};
  }
  for (Storage storage : kStorages) {
    auto from_constants = LoadAndRun(constant, {x}, storage);
    auto from_inputs = LoadAndRun(computed, {x, weight, bias}, storage);
    ASSERT_TRUE(from_constants.ok()) << from_constants.status().message();
    ASSERT_TRUE(from_inputs.ok()) << from_inputs.status().message();
    EXPECT_EQ(*from_constants, *from_inputs);
    float expected = bias[1];
    for (size_t k = 0; k < 7; ++k) expected += x[7 + k] * weight[7 + k];
    EXPECT_NEAR((*from_constants)[0][6 + 1], expected, 1e-5);
  }
}

// More constants to prepare than fit one batch of 64 MiB.
TEST_F(ModelTest, PreparesConstantsInBatches) {
  constexpr uint64_t kSide = 3072;  // 36 MiB a matrix
  FileGraph file;
  const uint32_t x = AddInput(file, "x", {1, kSide});
  uint32_t sum = x;
  for (int i = 0; i < 3; ++i) {
    Floats weight(kSide * kSide);
    for (size_t k = 0; k < kSide; ++k) weight[k * kSide + k] = static_cast<float>(i + 1);
    const uint32_t w = file.AddConstant("w" + std::to_string(i), {kSide, kSide}, 0, weight);
    const uint32_t y = AddNode(file, "aten.linear", LinearArgs(x, w, NoneArg()), {1, kSide});
    sum = AddNode(file, "aten.add.Tensor", AddArgs(sum, y), {1, kSide});
  }
  file.outputs = {sum};
  Floats input(kSide);
  for (size_t i = 0; i < kSide; ++i) input[i] = static_cast<float>(i % 97);
  Result<Model> model = Load(file);
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_GE(model->stats().constant_bytes, 3 * kSide * kSide * 4);
  EXPECT_LT(Counters().allocated_bytes, 4 * kSide * kSide * 4) << "the originals are freed";
  auto outputs = RunModel(*model, {input});
  ASSERT_TRUE(outputs.ok());
  for (size_t i = 0; i < kSide; ++i) ASSERT_EQ((*outputs)[0][i], 7 * input[i]) << i;
}

// Random graphs of sums and views, each tensor with a storage of its own, against the host.
TEST_F(ModelTest, RandomGraphsAreRight) {
  std::mt19937 random(5);
  const auto draw = [&](size_t below) { return random() % below; };
  for (int round = 0; round < 8; ++round) {
    FileGraph file;
    std::vector<Floats> values;  // of each tensor
    std::vector<Floats> inputs;
    for (const char* name : {"a", "b"}) {
      AddInput(file, name, {3, 5, 4});
      Floats input(60);
      for (float& value : input) value = static_cast<float>(draw(100)) - 50;
      inputs.push_back(input);
      values.push_back(input);
    }
    for (int i = 0; i < 25; ++i) {
      const auto a = static_cast<uint32_t>(draw(values.size()));
      const auto b = static_cast<uint32_t>(draw(values.size()));
      const int storage = static_cast<int>(draw(3));
      Floats y = values[a];
      const std::vector<uint64_t> shape{3, 5, 4};
      if (draw(4) == 0) {
        const uint32_t flat =
            AddNode(file, "aten.view", {TensorArg(a), IntsArg({60})}, {60}, storage);
        values.push_back(y);
        AddNode(file, "aten.view", {TensorArg(flat), IntsArg({3, 5, 4})}, shape, storage);
      } else if (file.tensors[a].shape == shape && file.tensors[b].shape == shape) {
        AddNode(file, "aten.add.Tensor", AddArgs(a, b, -0.5), shape, storage);
        for (size_t k = 0; k < y.size(); ++k) y[k] -= 0.5f * values[b][k];
      } else {
        AddNode(file, "aten.relu", {TensorArg(a)}, file.tensors[a].shape, storage);
        for (float& value : y) value = std::max(value, 0.0f);
      }
      values.push_back(y);
    }
    for (uint32_t i = 0; i < values.size(); i += 3) file.outputs.push_back(i);
    for (Storage storage : kStorages) {
      Result<Model> model = Load(file, storage);
      ASSERT_TRUE(model.ok()) << model.status().message();
      for (int run = 0; run < 2; ++run) {
        auto outputs = RunModel(*model, inputs);
        ASSERT_TRUE(outputs.ok());
        for (size_t i = 0; i < file.outputs.size(); ++i) {
          const Floats& expected = values[file.outputs[i]];
          for (size_t k = 0; k < expected.size(); ++k) {
            ASSERT_NEAR((*outputs)[i][k], expected[k], 1e-4 * (1 + std::abs(expected[k])))
                << "round " << round << " output " << i << " element " << k;
          }
        }
      }
    }
  }
}

TEST_F(ModelTest, ProfilesEachDispatch) {
  Result<Model> model = Load(SmallGraph(), Storage::kBuffer, /*profile=*/true);
  ASSERT_TRUE(model.ok());
  ASSERT_TRUE(RunModel(*model, {Floats(6)}).ok());
  const auto profile = model->Profile();
  ASSERT_TRUE(profile.ok());
  ASSERT_EQ(profile->size(), 2u);
  EXPECT_EQ((*profile)[0].op, "aten.add.Tensor");
  EXPECT_EQ((*profile)[0].variant, "add_f32_buffer");
  EXPECT_EQ((*profile)[1].variant, "relu_f32_buffer");
  EXPECT_GT((*profile)[0].gpu_ns + (*profile)[1].gpu_ns, 0u);
  EXPECT_GE((*profile)[1].start_ns, (*profile)[0].start_ns);
}

TEST_F(ModelTest, WrongBytesAreRefusedWithBothSizes) {
  Result<Model> model = Load(SmallGraph());
  ASSERT_TRUE(model.ok());
  const Status few = RunModel(*model, {}).status();
  EXPECT_EQ(few.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(few.message(), "Number of inputs (0) differs from the model's (1).");
  EXPECT_EQ(RunModel(*model, {Floats(5)}).status().message(),
            "Size (20 bytes) of input 'x' differs from the model's (24 bytes, float32 [2, 3]).");
  EXPECT_TRUE(RunModel(*model, {Floats(6)}).ok());
}

TEST_F(ModelTest, LoadErrorsNameTheFile) {
  const std::string folder = ::testing::TempDir();
  const Status missing = Model::Load(*runtime_, folder + "no_such.slg").status();
  EXPECT_EQ(missing.code(), StatusCode::kNotFound);
  EXPECT_THAT(missing.message(), HasSubstr("no_such.slg"));
  std::ofstream(folder + "garbage.slg") << "this is not a graph file";
  const Status garbage = Model::Load(*runtime_, folder + "garbage.slg").status();
  EXPECT_EQ(garbage.code(), StatusCode::kInvalidFile);
  EXPECT_THAT(garbage.message(), HasSubstr("While reading " + folder + "garbage.slg"));
  FileGraph unknown = SmallGraph();
  unknown.nodes[0].op = "aten.unheard_of";
  const Status status = Load(unknown).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("aten.unheard_of: no such op"));
}

TEST_F(ModelTest, FormulasOfHostileGraphsFailCleanly) {
  FileGraph file;
  const uint32_t x = AddInput(file, "x", {2, 3});
  file.outputs = {
      AddNode(file, "aten.view", {TensorArg(x), IntsArg({INT64_MAX, INT64_MAX})}, {2, 3})};
  const Status status = Load(file).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidFile);
  EXPECT_THAT(status.message(), HasSubstr("While preparing node 0 ('t1', aten.view)."));
}

TEST_F(ModelTest, ModelsKeepTheRuntimeAlive) {
  RuntimeOptions options;
  options.libraries = {&AllShaders()};
  options.cache_dir = "none";
  Result<Runtime> runtime = Runtime::Create(options);
  ASSERT_TRUE(runtime.ok());
  Result<Model> model = Model::LoadFromMemory(*runtime, SmallGraph().Write());
  ASSERT_TRUE(model.ok());
  { const Runtime gone = std::move(*runtime); }
  EXPECT_TRUE(RunModel(*model, {Floats(6)}).ok());
}

TEST_F(ModelTest, ModelsRunOnSeveralThreads) {
  std::vector<std::thread> threads;
  std::array<bool, 3> right{};
  for (size_t i = 0; i < right.size(); ++i) {
    threads.emplace_back([i, &right] {
      Result<Model> model = Load(SmallGraph(), kStorages[i % kStorages.size()]);
      if (!model.ok()) return;
      for (int run = 0; run < 20; ++run) {
        auto outputs = RunModel(*model, {Floats(6, static_cast<float>(i))});
        if (!outputs.ok() || (*outputs)[0][0] != static_cast<float>(i) + 2) return;
      }
      right[i] = true;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(right, ElementsAre(true, true, true));
}

template <typename T>
T* As(std::span<const std::byte> bytes) {
  return const_cast<T*>(reinterpret_cast<const T*>(bytes.data()));
}

// y = w x, with a w of side x side elements, all 1 / side: some work for the device.
FileGraph Average(size_t side, int layers) {
  FileGraph file;
  const Floats ones(side * side, 1.0f / static_cast<float>(side));
  const uint32_t w = file.AddConstant("w", {side, side}, 0, ones);
  uint32_t t = AddInput(file, "x", {side, side});
  for (int i = 0; i < layers; ++i) {
    t = AddNode(file, "aten.linear", LinearArgs(t, w, NoneArg()), {side, side});
  }
  file.outputs = {t};
  return file;
}

TEST_F(ModelTest, RunsOnMappedMemory) {
  Result<Model> model = Load(SmallGraph());
  ASSERT_TRUE(model.ok());
  ASSERT_EQ(model->InputBytes(0).size(), 24u);
  ASSERT_EQ(model->OutputBytes(0).size(), 24u);
  const void* const address = model->OutputBytes(0).data();
  for (float value : {1.0f, 2.0f}) {
    std::fill_n(As<float>(model->InputBytes(0)), 6, value);
    ASSERT_TRUE(model->Run().ok());
    EXPECT_EQ(As<float>(model->OutputBytes(0))[5], value + 6);
    EXPECT_EQ(model->OutputBytes(0).data(), address);
  }
}

TEST_F(ModelTest, SubmittedRunsAreWaitedFor) {
  Result<Model> model = Load(SmallGraph(), Storage::kAuto, /*profile=*/true);
  ASSERT_TRUE(model.ok());
  const Floats x(6, 1.0f);
  Floats y(6);
  const std::vector<std::span<const std::byte>> inputs{std::as_bytes(std::span(x))};
  const std::vector<std::span<std::byte>> outputs{std::as_writable_bytes(std::span(y))};
  Result<PendingRun> run = model->Submit(inputs);
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(model->Submit().status().message(),
            "Run 1 of the model is in flight. Wait for it first; to have two in flight, load the "
            "model twice.");
  EXPECT_EQ(model->Run().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(model->Profile().status().code(), StatusCode::kInvalidArgument);
  ASSERT_TRUE(run->Wait(outputs).ok());
  EXPECT_THAT(y, ElementsAre(3, 5, 7, 3, 5, 7));
  EXPECT_TRUE(*run->IsDone());
  EXPECT_TRUE(model->Profile().ok());
  EXPECT_TRUE(run->Wait(outputs).ok()) << "again";
  ASSERT_TRUE(model->Run().ok());
  EXPECT_TRUE(run->Wait().ok());
  EXPECT_EQ(run->Wait(outputs).message(),
            "The results of run 1 are gone: the model has run 2 times. Take them before the next "
            "run.");
}

TEST_F(ModelTest, PendingRunsOutliveTheirModel) {
  std::optional<PendingRun> run;
  {
    Result<Model> model = Load(Average(64, 8));
    ASSERT_TRUE(model.ok());
    std::fill_n(As<float>(model->InputBytes(0)), 64 * 64, 1.0f);
    Result<PendingRun> started = model->Submit();
    ASSERT_TRUE(started.ok());
    run = std::move(*started);
  }
  EXPECT_TRUE(run->Wait().ok());
  run.reset();
  Result<Model> model = Load(Average(64, 8));
  ASSERT_TRUE(model.ok());
  { const Result<PendingRun> dropped = model->Submit(); }
  EXPECT_TRUE(model->Run().ok()) << "dropping a run waits for it";
}

// The second model works on what the first gave while the first works on the next.
TEST_F(ModelTest, ModelsArePipelined) {
  Result<Model> first = Load(Average(32, 4));
  Result<Model> second = Load(Average(32, 1));
  ASSERT_TRUE(first.ok() && second.ok());
  const auto fill = [&](float value) {
    std::fill_n(As<float>(first->InputBytes(0)), 32 * 32, value);
  };
  std::vector<float> results;
  std::optional<PendingRun> late;
  for (int step = 0; step < 10; ++step) {
    fill(static_cast<float>(step));
    Result<PendingRun> early = first->Submit();
    ASSERT_TRUE(early.ok()) << early.status().message();
    if (late) {
      ASSERT_TRUE(late->Wait().ok());
      results.push_back(As<float>(second->OutputBytes(0))[0]);
    }
    ASSERT_TRUE(early->Wait().ok());
    const std::span<const std::byte> passed = first->OutputBytes(0);
    std::memcpy(second->InputBytes(0).data(), passed.data(), passed.size());
    Result<PendingRun> started = second->Submit();
    ASSERT_TRUE(started.ok()) << started.status().message();
    late = std::move(*started);
  }
  for (size_t i = 0; i < results.size(); ++i) EXPECT_NEAR(results[i], static_cast<float>(i), 1e-4);
  EXPECT_EQ(results.size(), 9u);
}

// Several models each on several threads, and threads that load and drop models meanwhile.
TEST_F(ModelTest, ThreadsSubmitAndLoadAtOnce) {
  std::vector<std::thread> threads;
  std::array<std::atomic<int>, 4> right{};
  for (size_t i = 0; i < right.size(); ++i) {
    threads.emplace_back([i, &right] {
      for (int load = 0; load < 3; ++load) {
        Result<Model> a = Load(SmallGraph(), kStorages[i % kStorages.size()]);
        Result<Model> b = Load(Average(16, 2));
        if (!a.ok() || !b.ok()) return;
        const auto value = static_cast<float>(i + 1);
        for (int run = 0; run < 10; ++run) {
          std::fill_n(As<float>(a->InputBytes(0)), 6, value);
          std::fill_n(As<float>(b->InputBytes(0)), 256, value);
          Result<PendingRun> of_a = a->Submit();
          Result<PendingRun> of_b = b->Submit();
          if (!of_a.ok() || !of_b.ok() || !of_b->Wait().ok() || !of_a->Wait().ok()) return;
          const bool same = As<float>(a->OutputBytes(0))[0] == value + 2 &&
                            std::abs(As<float>(b->OutputBytes(0))[255] - value) < 1e-4f;
          right[i] += same ? 1 : 0;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::atomic<int>& count : right) EXPECT_EQ(count, 30);
}

TEST_F(ModelTest, IndependentBranchesHaveNoBarrierBetweenThem) {
  FileGraph file;
  const uint32_t x = AddInput(file, "x", {4, 4});
  for (int i = 0; i < 3; ++i) {
    file.outputs.push_back(AddNode(file, "aten.relu", {TensorArg(x)}, {4, 4}));
  }
  Result<Model> branches = Load(file);
  ASSERT_TRUE(branches.ok());
  EXPECT_EQ(branches->stats().dispatches, 3u);
  const std::string& type = runtime_->device().type;
  const bool unified = type == "integrated" || type == "cpu";
  EXPECT_EQ(branches->stats().barriers, unified ? 0u : 2u);
  const uint32_t joined =
      AddNode(file, "aten.add.Tensor", AddArgs(file.outputs[0], file.outputs[1]), {4, 4});
  file.outputs = {joined, file.outputs[2]};
  Result<Model> join = Load(file);
  ASSERT_TRUE(join.ok());
  EXPECT_EQ(join->stats().barriers, unified ? 1u : 3u);
}

// y = relu(x w^T) + x[:, :k], flattened, for an x of [batch, k]: products, constants, slices,
// views.
FileGraph Resizable(uint64_t batch, bool varies) {
  FileGraph file;
  if (varies) file.symbols = {{"batch", 1, static_cast<int64_t>(batch)}};
  file.sizes = {{{{1, {0}}}, 1}, {{{6, {0}}}, 1}};
  const auto mark = [&](uint32_t tensor, std::vector<uint32_t> sizes) {
    if (varies) file.tensors[tensor].sizes = std::move(sizes);
    return tensor;
  };
  const uint32_t x = mark(AddInput(file, "x", {batch, 6}), {1, 0});
  Floats weight(36);
  for (size_t i = 0; i < 36; ++i) weight[i] = static_cast<float>(i % 5) - 2;
  const uint32_t w = file.AddConstant("w", {6, 6}, 0, weight);
  Floats rows(8 * 6);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(i);
  const uint32_t table = file.AddConstant("table", {8, 6}, 0, rows);
  const uint32_t product = AddNode(file, "aten.linear", LinearArgs(x, w, NoneArg()), {batch, 6});
  graph::Arg end = IntArg(static_cast<int64_t>(batch));
  graph::Arg size = IntsArg({static_cast<int64_t>(6 * batch)});
  if (varies) {
    end.sizes = {1};
    size.sizes = {2};
  } else {
    file.sizes.clear();
  }
  const uint32_t part =
      AddNode(file, "aten.slice.Tensor", {TensorArg(table), IntArg(0), IntArg(0), end, IntArg(1)},
              {batch, 6});
  const uint32_t sum = AddNode(file, "aten.add.Tensor", AddArgs(product, part), {batch, 6});
  file.outputs = {AddNode(file, "aten.view", {TensorArg(sum), size}, {6 * batch})};
  return file;
}

Floats Ramp(size_t count) {
  Floats values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i % 7) - 3;
  return values;
}

TEST_F(ModelTest, AnySizeGivesWhatAGraphOfThatSizeDoes) {
  for (Storage storage : kStorages) {
    Result<Model> model = Load(Resizable(8, /*varies=*/true), storage);
    ASSERT_TRUE(model.ok()) << model.status().message();
    ASSERT_EQ(model->symbols().size(), 1u);
    EXPECT_THAT(model->inputs()[0].dims, ElementsAre("batch", "6"));
    EXPECT_EQ(model->inputs()[0].shape, (Shape{8, 6}));
    for (int64_t size : {8, 3, 1, 7, 5, 8, 2, 6, 4, 1}) {
      const auto batch = static_cast<uint64_t>(size);
      const Status resized = model->Resize(std::vector<Shape>{{size, 6}});
      ASSERT_TRUE(resized.ok()) << resized.message();
      EXPECT_EQ(model->inputs()[0].shape, (Shape{size, 6}));
      EXPECT_EQ(model->outputs()[0].shape, (Shape{6 * size}));
      const Floats x = Ramp(6 * batch);
      auto expected = LoadAndRun(Resizable(batch, /*varies=*/false), {x}, storage);
      auto outputs = RunModel(*model, {x});
      ASSERT_TRUE(expected.ok() && outputs.ok());
      EXPECT_EQ(*outputs, *expected) << "batch " << batch;
    }
  }
}

TEST_F(ModelTest, SizesShareMemoryWeightsAndPipelines) {
  for (Storage storage : kStorages) {
    Result<Model> model = Load(Resizable(8, /*varies=*/true), storage);
    ASSERT_TRUE(model.ok());
    const uint64_t weights = model->stats().constant_bytes;
    const uint64_t first_pipelines = Counters().pipelines;
    const auto resize = [&](int64_t batch) {
      const Status status = model->Resize(std::vector<Shape>{{batch, 6}});
      ASSERT_TRUE(status.ok()) << status.message();
      ASSERT_TRUE(model->Run().ok());
    };
    resize(5);
    // New are a slice, and what moves single elements where it moved four at a time.
    EXPECT_LE(Counters().pipelines, first_pipelines + 2) << "those that pack weights are kept";
    EXPECT_LE(model->stats().constant_bytes, 2 * weights) << "a slice more";
    const uint64_t allocations = Counters().memory_allocations;
    const uint64_t recordings = Counters().recordings;
    const uint64_t pipelines = Counters().pipelines;
    for (int64_t batch : {8, 5, 8, 5}) resize(batch);
    EXPECT_EQ(Counters().memory_allocations, allocations);
    EXPECT_EQ(Counters().recordings, recordings);
    EXPECT_EQ(Counters().pipelines, pipelines);
  }
}

TEST_F(ModelTest, OnlyTheLastSizesAreKept) {
  ModelOptions options;
  options.kept_sizes = 2;
  Result<Model> model =
      Model::LoadFromMemory(*runtime_, Resizable(8, /*varies=*/true).Write(), options);
  ASSERT_TRUE(model.ok());
  const auto records = [&](int64_t batch) {
    const uint64_t before = Counters().recordings;
    EXPECT_TRUE(model->Resize(std::vector<Shape>{{batch, 6}}).ok());
    EXPECT_TRUE(model->Run().ok());
    return Counters().recordings > before;
  };
  EXPECT_FALSE(records(8));
  EXPECT_TRUE(records(3));
  EXPECT_FALSE(records(8));
  EXPECT_TRUE(records(4));
  EXPECT_TRUE(records(3));
}

TEST_F(ModelTest, SizesThatAreRefusedLeaveTheModelAsItWas) {
  Result<Model> model = Load(Resizable(4, /*varies=*/true));
  ASSERT_TRUE(model.ok());
  EXPECT_THAT(model->Resize(std::vector<Shape>{{5, 6}}).message(),
              HasSubstr("Dimension 0 (5) of input 'x' is above the greatest size of 'batch' (4)."));
  EXPECT_THAT(model->Resize(std::vector<Shape>{{0, 6}}).message(),
              HasSubstr("(0) of input 'x' is below the least size of 'batch' (1)."));
  EXPECT_EQ(model->inputs()[0].shape, (Shape{4, 6}));
  EXPECT_TRUE(RunModel(*model, {Ramp(24)}).ok());
  Result<PendingRun> run = model->Submit();
  EXPECT_EQ(model->Resize(std::vector<Shape>{{2, 6}}).code(), StatusCode::kInvalidArgument);
  ASSERT_TRUE(run->Wait().ok());
  Result<Model> fixed = Load(Resizable(4, /*varies=*/false));
  ASSERT_TRUE(fixed.ok());
  EXPECT_TRUE(fixed->Resize(std::vector<Shape>{{4, 6}}).ok());
  EXPECT_EQ(fixed->Resize(std::vector<Shape>{{3, 6}}).message(),
            "Shape 0 ([3, 6]) differs from the input's ([4, 6]), and the model has no sizes that "
            "vary. Import it with some: --dim NAME=LEAST..GREATEST.\n - While resizing the "
            "model.");
}

}  // namespace
}  // namespace spirloom
