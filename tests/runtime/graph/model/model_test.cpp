// Complete models: results, memory, limits and errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <random>

#include "tests/support/model_fixture.h"

namespace spirloom {
namespace {

using graph::FileGraph;
using graph::IntsArg;
using graph::NoneArg;
using graph::TensorArg;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(ModelTest, ComputesInAllStorages) {
  for (Storage storage : kStorages) {
    auto outputs = LoadAndRun(SmallGraph(), {{-9, -3, -1, 0, 1, 2}}, storage);
    ASSERT_TRUE(outputs.ok()) << outputs.status().message();
    EXPECT_THAT((*outputs)[0], ElementsAre(0, 1, 5, 2, 5, 8));
  }
}

// A recurrence of `steps`: one dispatch per step, one for the state, and one that packs the weight.
graph::FileGraph LongRecurrence(uint64_t steps) {
  graph::FileGraph file;
  const uint32_t x = AddInput(file, "x", {steps, 1, 1});
  const uint32_t weight = AddInput(file, "w", {1, 1});
  const uint32_t y = file.AddTensor("y", {steps, 1, 1});
  const uint32_t state = file.AddTensor("state", {1, 1});
  file.nodes.push_back(
      {"spirloom.rnn_layer",
       {graph::TensorArg(x), graph::TensorArg(weight), graph::NoneArg(), graph::NoneArg(),
        graph::NoneArg(), graph::BoolArg(false), graph::FloatArg(0), graph::IntArg(1)},
       {y, state},
       "rnn"});
  file.outputs = {y, state};
  return file;
}

TEST_F(ModelTest, DispatchesAreLimitedByTheFileSize) {
  const graph::FileGraph file = LongRecurrence(65535);
  EXPECT_LT(file.Write().size(), 1024u);
  const Status status = Load(file).status();
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_THAT(status.message(), HasSubstr("Number of dispatches (65536 of this node, 1 of earlier "
                                          "nodes) exceeds the limit (1639"));
  ModelOptions options;
  options.max_dispatches = 4;
  const std::vector<std::byte> small = LongRecurrence(3).Write();
  EXPECT_FALSE(Model::LoadFromMemory(*runtime_, small, options).ok());
  options.max_dispatches = 5;
  const Status raised = Model::LoadFromMemory(*runtime_, small, options).status();
  EXPECT_TRUE(raised.ok()) << raised.message();
}

TEST_F(ModelTest, DeviceMemoryIsLimited) {
  graph::FileGraph file;
  const uint32_t x = AddInput(file, "x", {1, 1});
  file.outputs = {AddNode(file, "aten.expand", {graph::TensorArg(x), graph::IntsArg({1024, 4096})},
                          {1024, 4096})};
  const std::vector<std::byte> bytes = file.Write();
  ModelOptions options;
  options.max_device_bytes = 16 << 20;
  const Status status = Model::LoadFromMemory(*runtime_, bytes, options).status();
  EXPECT_EQ(status.code(), StatusCode::kOutOfMemory);
  EXPECT_THAT(status.message(), HasSubstr("exceeds the limit (16777216 bytes)"));
  EXPECT_THAT(status.message(),
              HasSubstr("Raise ModelOptions::max_device_bytes for trusted files."));
  options.max_device_bytes = 17 << 20;
  EXPECT_TRUE(LoadContext(*runtime_, bytes, internal::HostAccess::kDirect, options).ok());
  const auto staged = [&] {
    return LoadContext(*runtime_, bytes, internal::HostAccess::kStaged, options).status().code();
  };
  EXPECT_EQ(staged(), StatusCode::kOutOfMemory);  // a staging buffer as large as the output
  options.max_device_bytes = 33 << 20;
  EXPECT_EQ(staged(), StatusCode::kOk);
}

TEST_F(ModelTest, DescribesInputsOutputsAndStatistics) {
  Result<Model> model = Load(SmallGraph());
  ASSERT_TRUE(model.ok());
  ASSERT_EQ(model->inputs().size(), 1u);
  EXPECT_EQ(model->inputs()[0].name, "x");
  EXPECT_EQ(model->inputs()[0].shape, (Shape{2, 3}));
  EXPECT_EQ(model->inputs()[0].size, 24u);
  EXPECT_EQ(model->outputs()[0].dtype, DType::kF32);
  EXPECT_EQ(model->stats().dispatches, 2u);
  EXPECT_EQ(model->stats().barriers, 1u);  // between the dispatches
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

TEST_F(ModelTest, FreesAllMemory) {
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

// As on a device whose memory the host cannot map.
TEST_F(ModelTest, StagedInputsOutputsAndConstantsAreCorrect) {
  FileGraph file;
  const uint32_t x = AddInput(file, "x", {3});
  const uint32_t z = AddInput(file, "z", {2, 5});
  AddInput(file, "empty", {0});
  const uint32_t w = file.AddConstant<float>("w", {3}, 0, {10, 20, 30});
  const uint32_t y = AddNode(file, "aten.add.Tensor", AddArgs(x, w), {3});
  file.outputs = {AddNode(file, "aten.relu", {TensorArg(z)}, {2, 5}), y, w, x};
  const std::vector<std::byte> bytes = file.Write();
  for (Storage storage : kStorages) {
    ModelOptions options;
    options.storage = storage;
    auto state = LoadContext(*runtime_, bytes, internal::HostAccess::kStaged, options);
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

TEST_F(ModelTest, SupportsEmptyTensorsScalarsAndEmptyGraphs) {
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
  auto empty_graph = LoadAndRun(FileGraph(), {});
  ASSERT_TRUE(empty_graph.ok()) << empty_graph.status().message();
}

TEST_F(ModelTest, LongGridsCoverAllElements) {
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

// A linear layer with constant weights equals one with weights that are an input.
TEST_F(ModelTest, ConstantAndComputedWeightsGiveEqualResults) {
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

// The constants exceed a batch of 64 MiB.
TEST_F(ModelTest, PreparesConstantsInBatches) {
  constexpr uint64_t kSide = 3072;  // 36 MiB per matrix
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
  EXPECT_LT(Counters().allocated_bytes, 4 * kSide * kSide * 4)
      << "the unpacked weights are not freed";
  auto outputs = RunModel(*model, {input});
  ASSERT_TRUE(outputs.ok());
  for (size_t i = 0; i < kSide; ++i) ASSERT_EQ((*outputs)[0][i], 7 * input[i]) << i;
}

// Random graphs of sums and views with random storages, compared with the host.
TEST_F(ModelTest, RandomGraphsAreCorrect) {
  std::mt19937 random(5);
  const auto draw = [&](size_t below) { return random() % below; };
  for (int round = 0; round < 8; ++round) {
    FileGraph file;
    std::vector<Floats> values;  // per tensor
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

TEST_F(ModelTest, RejectsWrongSizes) {
  Result<Model> model = Load(SmallGraph());
  ASSERT_TRUE(model.ok());
  const Status few = RunModel(*model, {}).status();
  EXPECT_EQ(few.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(few.message(), "Number of inputs is 0; the model has 1.");
  EXPECT_EQ(RunModel(*model, {Floats(5)}).status().message(),
            "The input 'x' has 20 bytes; expected 24 bytes (float32 [2, 3]).");
  EXPECT_TRUE(RunModel(*model, {Floats(6)}).ok());
}

TEST_F(ModelTest, LoadErrorsNameTheFile) {
  const std::string directory = ::testing::TempDir();
  const Status missing = Model::Load(*runtime_, directory + "no_such.slg").status();
  EXPECT_EQ(missing.code(), StatusCode::kNotFound);
  EXPECT_THAT(missing.message(), HasSubstr("no_such.slg"));
  std::ofstream(directory + "garbage.slg") << "this is not a graph file";
  const Status garbage = Model::Load(*runtime_, directory + "garbage.slg").status();
  EXPECT_EQ(garbage.code(), StatusCode::kInvalidFile);
  EXPECT_THAT(garbage.message(), HasSubstr("While reading " + directory + "garbage.slg"));
  FileGraph unknown = SmallGraph();
  unknown.nodes[0].op = "aten.unknown";
  const Status status = Load(unknown).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("aten.unknown: operator not found"));
}

TEST_F(ModelTest, OverflowingFormulasAreErrors) {
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
  { const Runtime destroyed = std::move(*runtime); }
  EXPECT_TRUE(RunModel(*model, {Floats(6)}).ok());
}

// aten.cumsum has only kernels for buffers.
TEST_F(ModelTest, LogsThatAnotherStorageIsUsed) {
  std::vector<std::string> log;
  const auto runtime =
      Runtime::Create({.libraries = {&AllShaders()},
                       .cache_dir = "none",
                       .log = [&](LogLevel, std::string_view text) { log.emplace_back(text); }});
  ASSERT_TRUE(runtime.ok()) << runtime.status().message();
  graph::FileGraph file;
  const uint32_t x = AddInput(file, "x", {2, 3});
  file.outputs = {AddNode(file, "aten.cumsum", {graph::TensorArg(x), graph::IntArg(1)}, {2, 3})};
  const auto has_message = ::testing::Contains(::testing::HasSubstr(
      "another storage than requested, which has no kernel or is too small: 1. First: "));
  ModelOptions options;
  options.storage = Storage::kBuffer;
  ASSERT_TRUE(Model::LoadFromMemory(*runtime, file.Write(), options).ok());
  EXPECT_THAT(log, ::testing::Not(has_message));
  options.storage = Storage::kTexture3D;
  ASSERT_TRUE(Model::LoadFromMemory(*runtime, file.Write(), options).ok());
  EXPECT_THAT(log, has_message);
}

}  // namespace
}  // namespace spirloom
