// Models in the C API, on the default device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/c_api/c_model_fixture.h"

namespace spirloom::c {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(CModelTest, RunsAfterItsRuntimeIsDestroyed) {
  const OwnedModel model = Load(Twice(2, /*dynamic=*/false));
  runtime_.reset();
  Floats y(6);
  EXPECT_EQ(RunOnce(model.get(), {1, -2, 3, -4, 5, -6}, y).message, "");
  EXPECT_THAT(y, ElementsAre(2, 0, 6, 0, 10, 0));
}

// Destroying gives back all that loading took, also for a model of several sizes that ran.
TEST_F(CModelTest, DestroyedModelLeavesNoDeviceMemory) {
  const auto in_use = [this] {
    spirloom_memory_stats memory = SPIRLOOM_INIT(spirloom_memory_stats);
    EXPECT_EQ(Call(spirloom_runtime_memory, runtime_.get(), &memory).message, "");
    return memory.in_use;
  };
  const uint64_t before = in_use();
  for (const bool dynamic : {false, true}) {
    OwnedModel model = Load(Twice(1 << 16, dynamic));
    Floats y(3 << 16);
    EXPECT_EQ(RunOnce(model.get(), Floats(3 << 16, 1), y).message, "");
    EXPECT_GT(in_use(), before);
    model.reset();
    EXPECT_EQ(in_use(), before);
  }
}

// A model at byte 67 of a file, as an asset of an Android package. The descriptor is closed before
// the model resizes, which reads the file again.
TEST_F(CModelTest, LoadsFromADescriptor) {
  const std::vector<std::byte> bytes = Twice(2, /*dynamic=*/true).Write();
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), std::fclose);
  ASSERT_NE(file, nullptr);
  const std::vector<char> before(67);
  std::fwrite(before.data(), 1, before.size(), file.get());
  std::fwrite(bytes.data(), 1, bytes.size(), file.get());
  std::fwrite(before.data(), 1, before.size(), file.get());
  ASSERT_EQ(std::fflush(file.get()), 0);
  const int descriptor = dup(fileno(file.get()));
  spirloom_model* loaded = nullptr;
  const spirloom_model_options* none = nullptr;
  const auto load = [&](int from, uint64_t offset, uint64_t size) {
    return Call(spirloom_model_load_from_descriptor, runtime_.get(), from, offset, size, none,
                &loaded);
  };
  EXPECT_EQ(load(descriptor, 67, bytes.size()).message, "");
  const OwnedModel model(loaded);
  close(descriptor);
  const std::array<int64_t, 2> sizes = {1, 3};
  const spirloom_shape shape = {sizes.data(), sizes.size()};
  ASSERT_EQ(Call(spirloom_model_resize, model.get(), &shape, size_t{1}).message, "");
  Floats y(3);
  EXPECT_EQ(RunOnce(model.get(), {1, -2, 3}, y).message, "");
  EXPECT_THAT(y, ElementsAre(2, 0, 6));

  const uint64_t total = bytes.size() + 134;
  const std::string exceeds =
      " is empty or exceeds the file of " + std::to_string(total) + " bytes.";
  EXPECT_EQ(load(fileno(file.get()), 67, total).message,
            "The range of " + std::to_string(total) + " bytes at offset 67" + exceeds);
  for (const auto& [offset, size] :
       {std::pair<uint64_t, uint64_t>{0, 0}, {UINT64_MAX, 1}, {total, 1}, {1, UINT64_MAX}}) {
    const Outcome outcome = load(fileno(file.get()), offset, size);
    EXPECT_EQ(outcome.status, SPIRLOOM_INVALID_ARGUMENT);
    EXPECT_THAT(outcome.message, HasSubstr(exceeds));
  }
  EXPECT_EQ(load(fileno(file.get()), 66, bytes.size()).status, SPIRLOOM_INVALID_FILE);
  EXPECT_EQ(load(-1, 0, 1).message, "File descriptor -1 cannot be read: Bad file descriptor.");
  std::array<int, 2> ends = {};
  ASSERT_EQ(pipe(ends.data()), 0);
  EXPECT_THAT(load(ends[0], 0, 1).message, HasSubstr("is not a regular file."));
  for (const int end : ends) close(end);
  EXPECT_EQ(loaded, nullptr);
}

TEST_F(CModelTest, ReportsInputsAndSymbols) {
  const OwnedModel model = Load(Twice(2, /*dynamic=*/true));
  ASSERT_EQ(spirloom_model_input_count(model.get()), 1u);
  ASSERT_EQ(spirloom_model_output_count(model.get()), 1u);
  spirloom_tensor_info x = SPIRLOOM_INIT(spirloom_tensor_info);
  ASSERT_EQ(Call(spirloom_model_input, model.get(), size_t{0}, &x).message, "");
  EXPECT_STREQ(x.name, "x");
  EXPECT_EQ(x.dtype, SPIRLOOM_F32);
  EXPECT_EQ(x.size, 24u);
  ASSERT_EQ(x.rank, 2u);
  EXPECT_THAT(std::span(x.shape, 2), ElementsAre(2, 3));
  EXPECT_STREQ(x.dims[0], "batch");
  EXPECT_STREQ(x.dims[1], "3");
  ASSERT_EQ(spirloom_model_symbol_count(model.get()), 1u);
  spirloom_symbol_info batch = SPIRLOOM_INIT(spirloom_symbol_info);
  ASSERT_EQ(Call(spirloom_model_symbol, model.get(), size_t{0}, &batch).message, "");
  EXPECT_STREQ(batch.name, "batch");
  EXPECT_EQ(batch.min, 1);
  EXPECT_EQ(batch.max, 2);
  spirloom_load_stats stats = SPIRLOOM_INIT(spirloom_load_stats);
  ASSERT_EQ(Call(spirloom_model_stats, model.get(), &stats).message, "");
  EXPECT_GT(stats.load_ns, 0u);
  EXPECT_GE(stats.dispatches, 1u);
}

TEST_F(CModelTest, ReportsShapesAfterResize) {
  const OwnedModel model = Load(Twice(4, /*dynamic=*/true));
  const std::array<int64_t, 2> sizes = {1, 3};
  const spirloom_shape shape = {sizes.data(), sizes.size()};
  ASSERT_EQ(Call(spirloom_model_resize, model.get(), &shape, size_t{1}).message, "");
  spirloom_tensor_info y = SPIRLOOM_INIT(spirloom_tensor_info);
  ASSERT_EQ(Call(spirloom_model_output, model.get(), size_t{0}, &y).message, "");
  EXPECT_THAT(std::span(y.shape, 2), ElementsAre(1, 3));
  EXPECT_STREQ(y.dims[0], "batch");
  Floats values(3);
  EXPECT_EQ(RunOnce(model.get(), {1, -2, 3}, values).message, "");
  EXPECT_THAT(values, ElementsAre(2, 0, 6));

  const std::array<int64_t, 2> beyond = {5, 3};
  const spirloom_shape wrong = {beyond.data(), beyond.size()};
  const Outcome outcome = Call(spirloom_model_resize, model.get(), &wrong, size_t{1});
  EXPECT_EQ(outcome.status, SPIRLOOM_INVALID_ARGUMENT);
  EXPECT_THAT(outcome.message, HasSubstr("batch"));
}

TEST_F(CModelTest, FixedShapesNeedNoFile) {
  std::vector<std::byte> file = Twice(4, /*dynamic=*/true).Write();
  spirloom_model* loaded = nullptr;
  ASSERT_EQ(Call(spirloom_model_load_from_borrowed_memory, runtime_.get(), file.data(), file.size(),
                 static_cast<const spirloom_model_options*>(nullptr), &loaded)
                .message,
            "");
  const OwnedModel model(loaded);
  const std::array<int64_t, 2> sizes = {1, 3};
  const spirloom_shape shape = {sizes.data(), sizes.size()};
  ASSERT_EQ(Call(spirloom_model_resize, model.get(), &shape, size_t{1}).message, "");
  ASSERT_EQ(Call(spirloom_model_fix_shapes, model.get()).message, "");
  file = {};
  Floats values(3);
  EXPECT_EQ(RunOnce(model.get(), {1, -2, 3}, values).message, "");
  EXPECT_THAT(values, ElementsAre(2, 0, 6));
  const std::array<int64_t, 2> other = {2, 3};
  const spirloom_shape wrong = {other.data(), other.size()};
  const Outcome outcome = Call(spirloom_model_resize, model.get(), &wrong, size_t{1});
  EXPECT_EQ(outcome.status, SPIRLOOM_INVALID_ARGUMENT);
  EXPECT_THAT(outcome.message, HasSubstr("expected [1, 3]. The model's shapes have been fixed."));
}

// y = table[:count], with an integer input and no tensors.
graph::FileGraph FirstRows() {
  graph::FileGraph file;
  file.symbols = {{"count", 0, 4}};
  file.sizes = {{{{1, {0}}}, 1}};
  const uint32_t table = file.AddConstant("table", {4}, 0, Floats{1, 2, 3, 4});
  const uint32_t y = file.AddTensor("y", {4});
  file.tensors[y].sizes = {1};
  graph::Arg end = graph::IntArg(4);
  end.sizes = {1};
  file.nodes.push_back(
      {"aten.slice.Tensor",
       {graph::TensorArg(table), graph::IntArg(0), graph::IntArg(0), end, graph::IntArg(1)},
       {y},
       "slice"});
  file.outputs = {y};
  file.int_inputs = {{"count", 0, 0}};
  file.required_features = {"int_inputs"};
  return file;
}

TEST_F(CModelTest, SetsIntInputs) {
  const OwnedModel model = Load(FirstRows());
  ASSERT_EQ(spirloom_model_int_input_count(model.get()), 1u);
  EXPECT_EQ(spirloom_model_int_input_count(nullptr), 0u);
  spirloom_int_input_info count = SPIRLOOM_INIT(spirloom_int_input_info);
  ASSERT_EQ(Call(spirloom_model_int_input, model.get(), size_t{0}, &count).message, "");
  EXPECT_STREQ(count.name, "count");
  EXPECT_EQ(count.min, 0);
  EXPECT_EQ(count.max, 4);
  EXPECT_EQ(count.value, 4);
  EXPECT_EQ(count.position, 0u);
  EXPECT_THAT(Call(spirloom_model_int_input, model.get(), size_t{1}, &count).message,
              HasSubstr("integer inputs"));

  ASSERT_EQ(Call(spirloom_model_set_int, model.get(), "count", int64_t{3}).message, "");
  ASSERT_EQ(Call(spirloom_model_int_input, model.get(), size_t{0}, &count).message, "");
  EXPECT_EQ(count.value, 3);
  spirloom_tensor_info y = SPIRLOOM_INIT(spirloom_tensor_info);
  ASSERT_EQ(Call(spirloom_model_output, model.get(), size_t{0}, &y).message, "");
  EXPECT_THAT(std::span(y.shape, 1), ElementsAre(3));
  EXPECT_EQ(Call(spirloom_model_set_int, model.get(), "count", int64_t{5}).status,
            SPIRLOOM_INVALID_ARGUMENT);
  EXPECT_EQ(Call(spirloom_model_set_int, model.get(), "n", int64_t{1}).message,
            "The model has no integer input 'n'. Integer inputs: 'count'.");

  const int64_t two = 2;
  const spirloom_shape* none = nullptr;
  ASSERT_EQ(
      Call(spirloom_model_resize_with_ints, model.get(), none, size_t{0}, &two, size_t{1}).message,
      "");
  ASSERT_EQ(Call(spirloom_model_output, model.get(), size_t{0}, &y).message, "");
  EXPECT_THAT(std::span(y.shape, 1), ElementsAre(2));
  EXPECT_THAT(
      Call(spirloom_model_resize_with_ints, model.get(), none, size_t{0}, &two, size_t{0}).message,
      HasSubstr("Number of integers is 0; expected 1"));
}

TEST_F(CModelTest, SubmitsAndWaits) {
  OwnedModel model = Load(Twice(1, /*dynamic=*/false));
  const Floats x = {1, 2, -3};
  const spirloom_const_bytes input = In(x);
  spirloom_pending_run* run = nullptr;
  ASSERT_EQ(Call(spirloom_model_submit, model.get(), &input, size_t{1}, &run).message, "");
  const OwnedRun owned(run);
  spirloom_pending_run* second = run;
  EXPECT_EQ(Call(spirloom_model_submit, model.get(), &input, size_t{1}, &second).status,
            SPIRLOOM_BUSY);
  EXPECT_EQ(second, nullptr);
  model.reset();  // the run keeps the model's memory
  Floats y(3);
  const spirloom_bytes output = Out(y);
  ASSERT_EQ(Call(spirloom_pending_run_wait, run, &output, size_t{1}).message, "");
  EXPECT_THAT(y, ElementsAre(2, 4, 0));
  bool done = false;
  EXPECT_EQ(Call(spirloom_pending_run_wait_for, run, UINT64_MAX, &done).message, "");
  EXPECT_TRUE(done);
  EXPECT_EQ(Call(spirloom_pending_run_is_done, run, &done).message, "");
  EXPECT_TRUE(done);
}

TEST_F(CModelTest, RunsInMemorySharedWithTheDevice) {
  const OwnedModel model = Load(Twice(1, /*dynamic=*/false));
  spirloom_bytes x = {};
  ASSERT_EQ(Call(spirloom_model_input_bytes, model.get(), size_t{0}, &x).message, "");
  ASSERT_EQ(x.size, 12u);
  std::ranges::copy(Floats{4, -5, 6}, static_cast<float*>(x.data));
  ASSERT_EQ(Call(spirloom_model_run, model.get(), nullptr, size_t{0}, nullptr, size_t{0}).message,
            "");
  spirloom_const_bytes y = {};
  ASSERT_EQ(Call(spirloom_model_output_bytes, model.get(), size_t{0}, &y).message, "");
  EXPECT_THAT(std::span(static_cast<const float*>(y.data), 3), ElementsAre(8, 0, 12));
  EXPECT_EQ(Call(spirloom_model_input_bytes, model.get(), size_t{1}, &x).message,
            "Index 1 is out of range; the number of inputs is 1.");
  EXPECT_EQ(x.data, nullptr);
}

TEST_F(CModelTest, RefusesWrongSizesAndNull) {
  const OwnedModel model = Load(Twice(1, /*dynamic=*/false));
  Floats y(3);
  EXPECT_THAT(RunOnce(model.get(), {1, 2}, y).message, HasSubstr("The input 'x' has 8 bytes"));
  Floats small(1);
  EXPECT_THAT(RunOnce(model.get(), {1, 2, 3}, small).message,
              HasSubstr("has 4 bytes; expected 12 bytes"));
  const spirloom_const_bytes null = {nullptr, 12};
  EXPECT_EQ(Call(spirloom_model_run, model.get(), &null, size_t{1}, nullptr, size_t{0}).message,
            "`inputs[0].data` is NULL; expected 12 bytes.");
  EXPECT_EQ(Call(spirloom_model_run, model.get(), nullptr, size_t{1}, nullptr, size_t{0}).message,
            "`inputs` is NULL; expected an array of 1 elements.");
  const spirloom_bytes nowhere = {nullptr, 12};
  const Floats x = {1, 2, 3};
  const spirloom_const_bytes input = In(x);
  EXPECT_EQ(Call(spirloom_model_run, model.get(), &input, size_t{1}, &nowhere, size_t{1}).message,
            "`outputs[0].data` is NULL; expected 12 bytes.");
}

TEST_F(CModelTest, ProfilesARun) {
  spirloom_model_options options = SPIRLOOM_INIT(spirloom_model_options);
  options.storage = SPIRLOOM_STORAGE_BUFFER;
  options.profile = true;
  const OwnedModel model = Load(Twice(1, /*dynamic=*/false), &options);
  Floats y(3);
  ASSERT_EQ(RunOnce(model.get(), {1, 2, 3}, y).message, "");
  spirloom_profile* profile = nullptr;
  ASSERT_EQ(Call(spirloom_model_profile, model.get(), &profile).message, "");
  const Profile owned(profile);
  ASSERT_EQ(spirloom_profile_count(profile), 2u);
  spirloom_dispatch_info info = SPIRLOOM_INIT(spirloom_dispatch_info);
  ASSERT_EQ(Call(spirloom_profile_get, profile, size_t{1}, &info).message, "");
  EXPECT_STREQ(info.op, "aten.relu");
  EXPECT_STREQ(info.variant, "relu_f32_buffer");
  EXPECT_GT(info.grid[0], 0u);
  EXPECT_GT(info.workgroup[0], 0u);
  EXPECT_THAT(Call(spirloom_profile_get, profile, size_t{2}, &info).message,
              HasSubstr("number of dispatches is 2"));
}

TEST_F(CModelTest, TimesARun) {
  spirloom_model_options options = SPIRLOOM_INIT(spirloom_model_options);
  options.time_runs = 1;
  const OwnedModel timed = Load(Twice(1, /*dynamic=*/false), &options);
  uint64_t ns = 77;
  ASSERT_EQ(Call(spirloom_model_gpu_time, timed.get(), &ns).message, "");
  EXPECT_EQ(ns, 0u);
  Floats y(3);
  ASSERT_EQ(RunOnce(timed.get(), {1, 2, 3}, y).message, "");
  ASSERT_EQ(Call(spirloom_model_gpu_time, timed.get(), &ns).message, "");
  EXPECT_GT(ns, 0u);
  EXPECT_THAT(Call(spirloom_model_gpu_time, timed.get(), nullptr).message, HasSubstr("`ns`"));

  // With the struct_size of a version without time_runs, the member is ignored.
  options.struct_size = offsetof(spirloom_model_options, time_runs);
  const OwnedModel untimed = Load(Twice(1, /*dynamic=*/false), &options);
  ns = 77;
  EXPECT_EQ(Call(spirloom_model_gpu_time, untimed.get(), &ns).status, SPIRLOOM_INVALID_ARGUMENT);
  EXPECT_EQ(ns, 77u);
}

TEST_F(CModelTest, OptionsAreChecked) {
  spirloom_model_options options = SPIRLOOM_INIT(spirloom_model_options);
  options.storage = static_cast<spirloom_storage>(77);
  const std::vector<std::byte> file = Twice(1, /*dynamic=*/false).Write();
  char sentinel = 0;
  auto* model = reinterpret_cast<spirloom_model*>(&sentinel);
  const auto load = [&] {
    return Call(spirloom_model_load_from_memory, runtime_.get(), file.data(), file.size(), &options,
                &model);
  };
  EXPECT_EQ(load().message,
            "The value 77 of `storage` in the spirloom_model_options is not a spirloom_storage.");
  EXPECT_EQ(model, nullptr);
  options = SPIRLOOM_INIT(spirloom_model_options);
  options.max_dispatches = 1;
  EXPECT_THAT(load().message, HasSubstr("max_dispatches"));
  options = SPIRLOOM_INIT(spirloom_model_options);
  options.max_device_bytes = 1;
  EXPECT_THAT(load().message, HasSubstr("max_device_bytes"));
  options = SPIRLOOM_INIT(spirloom_model_options);
  const char* kernels[] = {"relu", nullptr};
  options.kernels = kernels;
  options.kernel_count = 2;
  EXPECT_EQ(load().message, "`kernels[1]` of the spirloom_model_options is NULL.");
  EXPECT_EQ(Call(spirloom_model_load, runtime_.get(), "/nowhere.slg", nullptr, &model).status,
            SPIRLOOM_NOT_FOUND);
}

// Arguments of on_tuned.
struct TunedCalls {
  size_t calls = 0;
  size_t total = 0;
  std::string kernel;
};

TEST_F(CModelTest, CallsBackForTunedCalls) {
  graph::FileGraph file;
  const uint32_t x = AddInput(file, "x", {8, 64});
  const uint32_t w = file.AddConstant("w", {64, 64}, 0, Floats(64 * 64, 1));
  file.outputs = {AddNode(file, "aten.linear", LinearArgs(x, w, graph::NoneArg()), {8, 64})};
  TunedCalls tuned;
  spirloom_model_options options = SPIRLOOM_INIT(spirloom_model_options);
  options.tune = spirloom_kernel_autotuner();
  options.on_tuned_data = &tuned;
  options.on_tuned = [](const spirloom_tuned_call* call, size_t, size_t total, void* data) {
    auto& tuned_calls = *static_cast<TunedCalls*>(data);
    ++tuned_calls.calls;
    tuned_calls.total = total;
    tuned_calls.kernel = call->kernel;
  };
  const OwnedModel model = Load(file, &options);
  EXPECT_EQ(tuned.calls, 1u);
  EXPECT_EQ(tuned.total, 1u);
  EXPECT_THAT(tuned.kernel, HasSubstr("linear"));
}

TEST_F(CModelTest, ReturnsAttachments) {
  EXPECT_EQ(spirloom_model_attachment_count(nullptr), 0u);
  graph::FileGraph graph = Twice(1, false);
  graph.attachments = {{"words", "one two"}};
  OwnedModel model = Load(graph);
  ASSERT_EQ(spirloom_model_attachment_count(model.get()), 1u);
  spirloom_attachment_info info = SPIRLOOM_INIT(spirloom_attachment_info);
  ASSERT_EQ(Call(spirloom_model_attachment, model.get(), 0u, &info).message, "");
  EXPECT_STREQ(info.name, "words");
  EXPECT_EQ(std::string(static_cast<const char*>(info.data), info.size), "one two");
  EXPECT_THAT(Call(spirloom_model_attachment, model.get(), 1u, &info).message,
              HasSubstr("attachments"));
}

}  // namespace
}  // namespace spirloom::c
