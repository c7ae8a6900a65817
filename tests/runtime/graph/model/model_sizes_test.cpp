// Models with dynamic sizes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/model_fixture.h"
#include "tests/value_of.h"

namespace spirloom {
namespace {

using graph::FileGraph;
using graph::IntArg;
using graph::IntsArg;
using graph::NoneArg;
using graph::TensorArg;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// y = x w^T + table[:batch], flattened, with x of [batch, 6].
FileGraph Resizable(uint64_t batch, bool dynamic) {
  FileGraph file;
  if (dynamic) file.symbols = {{"batch", 1, static_cast<int64_t>(batch)}};
  file.sizes = {{{{1, {0}}}, 1}, {{{6, {0}}}, 1}};
  const auto set_sizes = [&](uint32_t tensor, std::vector<uint32_t> sizes) {
    if (dynamic) file.tensors[tensor].sizes = std::move(sizes);
    return tensor;
  };
  const uint32_t x = set_sizes(AddInput(file, "x", {batch, 6}), {1, 0});
  Floats weight(36);
  for (size_t i = 0; i < 36; ++i) weight[i] = static_cast<float>(i % 5) - 2;
  const uint32_t w = file.AddConstant("w", {6, 6}, 0, weight);
  Floats rows(8 * 6);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(i);
  const uint32_t table = file.AddConstant("table", {8, 6}, 0, rows);
  const uint32_t product = AddNode(file, "aten.linear", LinearArgs(x, w, NoneArg()), {batch, 6});
  graph::Arg end = IntArg(static_cast<int64_t>(batch));
  graph::Arg size = IntsArg({static_cast<int64_t>(6 * batch)});
  if (dynamic) {
    end.sizes = {1};
    size.sizes = {2};
  } else {
    file.sizes.clear();
  }
  const uint32_t slice =
      AddNode(file, "aten.slice.Tensor", {TensorArg(table), IntArg(0), IntArg(0), end, IntArg(1)},
              {batch, 6});
  const uint32_t sum = AddNode(file, "aten.add.Tensor", AddArgs(product, slice), {batch, 6});
  file.outputs = {AddNode(file, "aten.view", {TensorArg(sum), size}, {6 * batch})};
  return file;
}

Floats Ramp(size_t count) {
  Floats values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i % 7) - 3;
  return values;
}

// Replaces the contents of a file in place.
void WriteFile(const std::string& path, std::span<const std::byte> bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

Status ResizeTo(Model& model, int64_t batch) { return model.Resize({{batch, 6}}); }

#ifndef _WIN32
TEST_F(ModelTest, AFileThatIsWrittenWhileItIsInUseIsAnError) {
  const std::string path = ::testing::TempDir() + "written_in_use.slg";
  const std::vector<std::byte> original = Resizable(8, /*dynamic=*/true).Write();
  std::vector<std::byte> other = original;
  for (size_t i = other.size() - 24; i < other.size(); ++i) other[i] ^= std::byte{0x40};
  WriteFile(path, original);
  Result<Model> model = Model::Load(*runtime_, path);
  ASSERT_TRUE(model.ok()) << model.status().message();
  ASSERT_TRUE(ResizeTo(*model, 3).ok());

  WriteFile(path, other);
  const Status changed = ResizeTo(*model, 5);
  EXPECT_EQ(changed.code(), StatusCode::kInvalidFile);
  EXPECT_THAT(changed.message(), HasSubstr("written_in_use.slg' was changed after it was opened"));
  std::filesystem::resize_file(path, 100);
  EXPECT_THAT(ResizeTo(*model, 2).message(), HasSubstr("bytes and has 100"));
  EXPECT_TRUE(ResizeTo(*model, 3).ok()) << "its constants are on the device";
}

TEST_F(ModelTest, AFileInUseCanBeReplacedByRenaming) {
  const std::string path = ::testing::TempDir() + "replaced_in_use.slg";
  WriteFile(path, Resizable(8, /*dynamic=*/true).Write());
  Result<Model> model = Model::Load(*runtime_, path);
  ASSERT_TRUE(model.ok()) << model.status().message();
  WriteFile(path + ".new", SmallGraph().Write());
  std::filesystem::rename(path + ".new", path);
  ASSERT_TRUE(ResizeTo(*model, 5).ok());
  EXPECT_EQ(*RunModel(*model, {Ramp(30)}),
            *LoadAndRun(Resizable(5, /*dynamic=*/false), {Ramp(30)}));
  std::filesystem::remove(path);
  EXPECT_TRUE(ResizeTo(*model, 4).ok());
}
#endif

TEST_F(ModelTest, ResultsEqualThoseOfAGraphOfFixedSize) {
  for (Storage storage : kStorages) {
    Result<Model> model = Load(Resizable(8, /*dynamic=*/true), storage);
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
      auto expected = LoadAndRun(Resizable(batch, /*dynamic=*/false), {x}, storage);
      auto outputs = RunModel(*model, {x});
      ASSERT_TRUE(expected.ok() && outputs.ok());
      EXPECT_EQ(*outputs, *expected) << "batch " << batch;
    }
  }
}

// y = table[:count] * count + x, with integer inputs before and after x of [6].
FileGraph WithInts() {
  FileGraph file;
  file.symbols = {{"count", 0, 8}, {"times", 0, 100}};
  file.sizes = {{{{1, {0}}}, 1}, {{{1, {1}}}, 1}};
  file.numbers = {{graph::NumberOp::kSize, 0, 1, {}}};
  const uint32_t x = AddInput(file, "x", {6});
  Floats rows(8 * 6);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(i);
  const uint32_t table = file.AddConstant("table", {8, 6}, 0, rows);
  graph::Arg end = IntArg(8);
  end.sizes = {1};
  const uint32_t slice = AddNode(file, "aten.slice.Tensor",
                                 {TensorArg(table), IntArg(0), IntArg(0), end, IntArg(1)}, {8, 6});
  file.tensors[slice].sizes = {1, 0};
  graph::Arg value = graph::FloatArg(100);
  value.number = 1;
  const uint32_t number =
      AddNode(file, "aten.full", {IntsArg({}), value, graph::StringArg("f32")}, {});
  const uint32_t product =
      AddNode(file, "aten.mul.Tensor", {TensorArg(slice), TensorArg(number)}, {8, 6});
  file.tensors[product].sizes = {1, 0};
  const uint32_t sum = AddNode(file, "aten.add.Tensor", AddArgs(product, x), {8, 6});
  file.tensors[sum].sizes = {1, 0};
  file.outputs = {sum};
  file.int_inputs = {{"count", 0, 0}, {"times", 1, 1}};
  file.required_features = {"numbers", "int_inputs"};
  return file;
}

TEST_F(ModelTest, IntInputsChangeShapesAndNumbers) {
  for (Storage storage : kStorages) {
    Result<Model> model = Load(WithInts(), storage);
    ASSERT_TRUE(model.ok()) << model.status().message();
    ASSERT_EQ(model->int_inputs().size(), 2u);
    EXPECT_EQ(model->int_inputs()[1].name, "times");
    EXPECT_EQ(model->int_inputs()[1].max, 100);
    EXPECT_EQ(model->int_inputs()[1].position, 1u);
    EXPECT_THAT(model->IntValues(), ElementsAre(8, 100));
    const Floats x = Ramp(6);
    for (const auto& [count, times] :
         {std::pair<int64_t, int64_t>{8, 100}, {3, 2}, {3, 0}, {0, 7}, {1, 1}, {3, 2}}) {
      const Status resized =
          model->Resize(std::vector<Shape>{{6}}, std::vector<int64_t>{count, times});
      ASSERT_TRUE(resized.ok()) << resized.message();
      EXPECT_EQ(model->outputs()[0].shape, (Shape{count, 6}));
      const auto outputs = RunModel(*model, {x});
      ASSERT_TRUE(outputs.ok()) << outputs.status().message();
      Floats expected(static_cast<size_t>(count) * 6);
      for (size_t i = 0; i < expected.size(); ++i) {
        expected[i] = static_cast<float>(i) * static_cast<float>(times) + x[i % 6];
      }
      EXPECT_EQ((*outputs)[0], expected) << count << " " << times;
    }
  }
}

TEST_F(ModelTest, SetIntSetsOneIntInput) {
  Model model = ValueOf(Load(WithInts()));
  EXPECT_EQ(model.SetInt("count", 2).message(), "");
  EXPECT_EQ(model.SetInt("times", 5).message(), "");
  EXPECT_THAT(model.IntValues(), ElementsAre(2, 5));
  EXPECT_EQ(model.outputs()[0].shape, (Shape{2, 6}));
  EXPECT_EQ(model.Resize(std::vector<Shape>{{6}}).message(), "");
  EXPECT_THAT(model.IntValues(), ElementsAre(2, 5)) << "the values remain";
  EXPECT_EQ(model.SetInt("n", 5).message(),
            "The model has no integer input 'n'. Integer inputs: 'count', 'times'.");
  const Status beyond = model.SetInt("count", 9);
  EXPECT_EQ(beyond.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(beyond.message(), HasSubstr("Integer input 'count' is 9, which is outside its "
                                          "bounds (0 to 8)."));
  EXPECT_THAT(model.IntValues(), ElementsAre(2, 5));
  model.FixShapes();
  EXPECT_EQ(model.SetInt("count", 2).message(), "");
  EXPECT_THAT(model.SetInt("count", 3).message(),
              HasSubstr("Integer input 'count' is 3; expected 2. The model's shapes have been "
                        "fixed."));
  EXPECT_EQ(ValueOf(Load(Resizable(2, false))).SetInt("n", 1).message(),
            "The model has no integer input 'n'. Integer inputs: none.");
}

TEST_F(ModelTest, SizesShareMemoryWeightsAndPipelines) {
  for (Storage storage : kStorages) {
    Result<Model> model = Load(Resizable(8, /*dynamic=*/true), storage);
    ASSERT_TRUE(model.ok());
    const uint64_t weights = model->stats().constant_bytes;
    const uint64_t first_pipelines = Counters().pipelines;
    const auto resize = [&](int64_t batch) {
      const Status status = model->Resize({{batch, 6}});
      ASSERT_TRUE(status.ok()) << status.message();
      ASSERT_TRUE(model->Run().ok());
    };
    resize(5);
    // New: the pipeline of the slice, and a scalar instead of a vec4 copy.
    EXPECT_LE(Counters().pipelines, first_pipelines + 2) << "weights are packed again";
    EXPECT_LE(model->stats().constant_bytes, 2 * weights) << "more than another slice of the table";
    const uint64_t allocations = Counters().memory_allocations;
    const uint64_t recordings = Counters().recordings;
    const uint64_t pipelines = Counters().pipelines;
    for (int64_t batch : {8, 5, 8, 5}) resize(batch);
    EXPECT_EQ(Counters().memory_allocations, allocations);
    EXPECT_EQ(Counters().recordings, recordings);
    EXPECT_EQ(Counters().pipelines, pipelines);
  }
}

// y = relu(x + x) + x, with x of [batch, 8].
FileGraph Elementwise(uint64_t batch, bool dynamic) {
  FileGraph file;
  const uint32_t x = AddInput(file, "x", {batch, 8});
  if (dynamic) {
    file.symbols = {{"batch", 1, static_cast<int64_t>(batch)}};
    file.sizes = {{{{1, {0}}}, 1}};
    file.tensors[x].sizes = {1, 0};
  }
  const uint32_t sum = AddNode(file, "aten.add.Tensor", AddArgs(x, x), {batch, 8});
  const uint32_t relu = AddNode(file, "aten.relu", {TensorArg(sum)}, {batch, 8});
  file.outputs = {AddNode(file, "aten.add.Tensor", AddArgs(relu, x), {batch, 8})};
  return file;
}

TEST_F(ModelTest, SizesOfOnePlanShareMemoryAndDescriptors) {
  ModelOptions options;
  options.max_cached_shapes = 2;
  Model model =
      ValueOf(Model::LoadFromMemory(*runtime_, Elementwise(64, /*dynamic=*/true).Write(), options));
  const uint64_t allocations = Counters().memory_allocations;
  const uint64_t updates = Counters().descriptor_updates;
  std::vector<std::vector<Floats>> results;
  const std::vector<int64_t> sizes{63, 1, 40, 64, 7, 33, 62, 40};
  for (const int64_t batch : sizes) {
    ASSERT_TRUE(model.Resize(std::vector<Shape>{{batch, 8}}).ok());
    EXPECT_EQ(model.outputs()[0].shape, (Shape{batch, 8}));
    results.push_back(ValueOf(RunModel(model, {Ramp(8 * static_cast<size_t>(batch))})));
  }
  EXPECT_EQ(Counters().memory_allocations, allocations);
  EXPECT_EQ(Counters().descriptor_updates, updates);
  for (size_t i = 0; i < sizes.size(); ++i) {
    const auto batch = static_cast<uint64_t>(sizes[i]);
    EXPECT_EQ(results[i],
              ValueOf(LoadAndRun(Elementwise(batch, /*dynamic=*/false), {Ramp(8 * batch)})));
  }
}

// A context that starts at small sizes allocates memory once it is resized to larger ones.
TEST_F(ModelTest, GrowingSizesAllocateMemory) {
  ModelOptions options;
  options.allow_exceeding_max = true;
  options.max_cached_shapes = 1;
  Model model =
      ValueOf(Model::LoadFromMemory(*runtime_, Elementwise(2, /*dynamic=*/true).Write(), options));
  for (const int64_t size : {4, 3, 300, 200, 4, 301}) {
    ASSERT_TRUE(model.Resize(std::vector<Shape>{{size, 8}}).ok());
    const auto batch = static_cast<uint64_t>(size);
    EXPECT_EQ(ValueOf(RunModel(model, {Ramp(8 * batch)})),
              ValueOf(LoadAndRun(Elementwise(batch, /*dynamic=*/false), {Ramp(8 * batch)})));
  }
}

// The statistics count the constants that exist: those of sizes that are no longer cached do not.
TEST_F(ModelTest, ConstantBytesAreThoseOfTheCachedSizes) {
  ModelOptions options;
  options.max_cached_shapes = 2;
  Model model =
      ValueOf(Model::LoadFromMemory(*runtime_, Resizable(8, /*dynamic=*/true).Write(), options));
  std::vector<uint64_t> bytes;
  for (int round = 0; round < 4; ++round) {
    for (const int64_t batch : {7, 6, 5}) {
      ASSERT_TRUE(model.Resize(std::vector<Shape>{{batch, 6}}).ok());
      bytes.push_back(model.stats().constant_bytes);
    }
  }
  EXPECT_EQ(std::vector(bytes.begin() + 3, bytes.begin() + 6),
            std::vector(bytes.end() - 3, bytes.end()));
}

TEST_F(ModelTest, TimesAreThoseOfTheSizesOfTheLastRun) {
  ModelOptions options;
  options.max_cached_shapes = 2;
  options.profile = true;
  Result<Model> model =
      Model::LoadFromMemory(*runtime_, Resizable(8, /*dynamic=*/true).Write(), options);
  ASSERT_TRUE(model.ok()) << model.status().message();
  const auto resize = [&](int64_t batch) {
    const Status status = model->Resize(std::vector<Shape>{{batch, 6}});
    ASSERT_TRUE(status.ok()) << status.message();
  };
  resize(5);
  Result<PendingRun> run = model->Submit();
  ASSERT_TRUE(run.ok() && run->Wait().ok());
  const auto ran = model->Profile();
  ASSERT_TRUE(ran.ok()) << ran.status().message();
  const uint64_t gpu_time = ValueOf(model->GpuTime());

  resize(3);
  const auto after = model->Profile();
  ASSERT_TRUE(after.ok()) << after.status().message();
  ASSERT_EQ(after->size(), ran->size());
  for (size_t i = 0; i < ran->size(); ++i) {
    EXPECT_EQ(after->at(i).gpu_ns, ran->at(i).gpu_ns);
    EXPECT_EQ(after->at(i).grid[0], ran->at(i).grid[0]);
  }
  EXPECT_EQ(ValueOf(model->GpuTime()), gpu_time);
  std::vector<std::byte> y(model->outputs()[0].size);
  const std::vector<std::span<std::byte>> outputs{y};
  Status unavailable = run->Wait(outputs);
  EXPECT_EQ(unavailable.code(), StatusCode::kBusy);
  EXPECT_EQ(unavailable.message(),
            "The results of run 1 are not available after Resize(). Read them before.");
  EXPECT_TRUE(run->Wait().ok());

  resize(4);
  unavailable = model->Profile().status();
  EXPECT_EQ(unavailable.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(unavailable.message(),
            "The times of run 1 are not available: its shapes are not among the 2 cached ones. "
            "Read them before Resize(), or raise ModelOptions::max_cached_shapes.");
  EXPECT_EQ(model->GpuTime().status().message(), unavailable.message());
}

TEST_F(ModelTest, OnlyTheLastSizesAreCached) {
  ModelOptions options;
  options.max_cached_shapes = 2;
  Result<Model> model =
      Model::LoadFromMemory(*runtime_, Resizable(8, /*dynamic=*/true).Write(), options);
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

TEST_F(ModelTest, AcceptsSizesAboveTheMaximumIfAllowed) {
  ModelOptions options;
  options.allow_exceeding_max = true;
  Result<Model> model =
      Model::LoadFromMemory(*runtime_, Resizable(4, /*dynamic=*/true).Write(), options);
  ASSERT_TRUE(model.ok());
  Result<Model> larger = Load(Resizable(8, /*dynamic=*/true));
  ASSERT_TRUE(larger.ok()) << larger.status().message();
  for (const int64_t batch : {8, 4, 8}) {
    ASSERT_TRUE(model->Resize(std::vector<Shape>{{batch, 6}}).ok());
    ASSERT_TRUE(larger->Resize(std::vector<Shape>{{batch, 6}}).ok());
    const auto input = Ramp(static_cast<size_t>(batch) * 6);
    EXPECT_EQ(ValueOf(RunModel(*model, {input})), ValueOf(RunModel(*larger, {input})));
  }
}

TEST_F(ModelTest, RejectedSizesLeaveTheModelUnchanged) {
  Result<Model> model = Load(Resizable(4, /*dynamic=*/true));
  ASSERT_TRUE(model.ok());
  EXPECT_THAT(model->Resize(std::vector<Shape>{{5, 6}}).message(),
              HasSubstr("Dimension 0 (5) of input 'x' is outside the bounds of 'batch' (1 to 4)."));
  EXPECT_THAT(model->Resize(std::vector<Shape>{{0, 6}}).message(),
              HasSubstr("(0) of input 'x' is outside the bounds of 'batch' (1 to 4)."));
  EXPECT_EQ(model->inputs()[0].shape, (Shape{4, 6}));
  EXPECT_TRUE(RunModel(*model, {Ramp(24)}).ok());
  PendingRun run = ValueOf(model->Submit());
  EXPECT_EQ(model->Resize(std::vector<Shape>{{2, 6}}).code(), StatusCode::kBusy);
  ASSERT_TRUE(run.Wait().ok());
  Result<Model> fixed = Load(Resizable(4, /*dynamic=*/false));
  ASSERT_TRUE(fixed.ok());
  EXPECT_TRUE(fixed->Resize(std::vector<Shape>{{4, 6}}).ok());
  EXPECT_EQ(fixed->Resize(std::vector<Shape>{{3, 6}}).message(),
            "Shape 0 is [3, 6]; expected [4, 6]. The model has no dynamic shapes. Import it with "
            "--dim NAME=MIN..MAX.\n - While resizing the model.");
}

// A graph whose constants are elsewhere in memory, also for later shapes.
TEST_F(ModelTest, LoadsSeparateConstants) {
  FileGraph file = Resizable(4, /*dynamic=*/true);
  Model complete = ValueOf(Load(file));
  const std::vector<Floats> expected = ValueOf(RunModel(complete, {Ramp(24)}));
  const std::vector<std::byte> section = std::exchange(file.constant_section, {});
  std::vector<std::span<const std::byte>> constants;
  for (const auto& constant : file.constants) {
    constants.push_back(std::span(section).subspan(constant.offset, constant.size));
  }
  ASSERT_FALSE(constants.empty());
  const auto owner = std::make_shared<const std::vector<std::byte>>(file.Write());
  Model model = ValueOf(Model::LoadFromMemory(*runtime_, owner, *owner, constants));
  EXPECT_EQ(ValueOf(RunModel(model, {Ramp(24)})), expected);
  ASSERT_TRUE(model.Resize(std::vector<Shape>{{3, 6}}).ok());
  EXPECT_TRUE(RunModel(model, {Ramp(18)}).ok());
  EXPECT_GT(owner.use_count(), 1);
  model.FixShapes();
  EXPECT_EQ(owner.use_count(), 1);
  constants.front() = constants.front().first(4);
  EXPECT_EQ(Model::LoadFromMemory(*runtime_, owner, *owner, constants).status().code(),
            StatusCode::kInvalidFile);
}

// The file is released although the graph has symbols; the shapes remain, also for other contexts.
TEST_F(ModelTest, FixedShapesNeedNoFile) {
  auto owner =
      std::make_shared<const std::vector<std::byte>>(Resizable(4, /*dynamic=*/true).Write());
  const std::weak_ptr<const void> file = owner;
  const std::span<const std::byte> bytes = *owner;
  Model model = ValueOf(Model::LoadFromMemory(*runtime_, std::move(owner), bytes));
  ASSERT_TRUE(model.Resize(std::vector<Shape>{{3, 6}}).ok());
  const std::vector<std::vector<float>> expected = ValueOf(RunModel(model, {Ramp(18)}));
  EXPECT_FALSE(file.expired());
  model.FixShapes();
  EXPECT_TRUE(file.expired());
  model.FixShapes();
  EXPECT_EQ(ValueOf(RunModel(model, {Ramp(18)})), expected);
  EXPECT_TRUE(model.Resize(std::vector<Shape>{{3, 6}}).ok());
  EXPECT_EQ(model.Resize(std::vector<Shape>{{4, 6}}).message(),
            "Shape 0 is [4, 6]; expected [3, 6]. The model's shapes have been "
            "fixed.\n - While resizing the model.");
  Model context = ValueOf(model.CreateContext());
  EXPECT_EQ(ValueOf(RunModel(context, {Ramp(18)})), expected);
}

}  // namespace
}  // namespace spirloom
