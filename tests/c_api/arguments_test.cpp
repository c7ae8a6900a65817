// Arguments of the C API that are not initialized or not consistent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "spirloom/spirloom_vulkan.h"
#include "tests/c_api/set_up.h"

namespace spirloom::c {
namespace {

using ::testing::HasSubstr;

constexpr size_t kHuge = size_t{1} << 40;

class CArgumentsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!spirloom_is_available()) GTEST_SKIP() << "There is no Vulkan device.";
    ASSERT_EQ(CreateRuntime(SPIRLOOM_INIT(spirloom_runtime_options), runtime_).message, "");
    model_ = LoadModel(runtime_, Graph());
  }

  // y = relu(x) of shape [2].
  static graph::FileGraph Graph() {
    graph::FileGraph graph;
    const uint32_t x = AddInput(graph, "x", {2});
    graph.outputs = {AddNode(graph, "aten.relu", {graph::TensorArg(x)}, {2})};
    return graph;
  }

  spirloom_model* model() const { return model_.get(); }

  OwnedRuntime runtime_;
  OwnedModel model_;
  float x_[2] = {1, 1};
  float y_[2] = {};
  const spirloom_const_bytes in_{x_, sizeof(x_)};
  const spirloom_bytes out_{y_, sizeof(y_)};
};

// An uninitialized struct: its members beyond the known size are neither read nor written.
TEST_F(CArgumentsTest, RejectHugeStructs) {
  for (const size_t size : {SIZE_MAX, size_t{4097}}) {
    spirloom_load_stats stats = SPIRLOOM_INIT(spirloom_load_stats);
    stats.struct_size = size;
    EXPECT_THAT(Call(spirloom_model_stats, model(), &stats).message,
                HasSubstr("of the spirloom_load_stats exceeds 4096. Initialize it with"));
    spirloom_submit_options options = SPIRLOOM_INIT(spirloom_submit_options);
    options.struct_size = size;
    spirloom_pending_run* run = nullptr;
    EXPECT_THAT(Call(spirloom_model_submit_with, model(), &options, &run).message,
                HasSubstr("exceeds 4096"));
  }
}

TEST_F(CArgumentsTest, RejectHugeShapes) {
  const int64_t two = 2;
  const spirloom_shape shape{&two, size_t{1} << 60};
  EXPECT_EQ(Call(spirloom_model_resize, model(), &shape, size_t{1}).message,
            "Rank (1152921504606846976) of shape 0 exceeds 8.");
  EXPECT_EQ(Call(spirloom_model_resize, model(), &shape, kHuge).message,
            "Number of shapes is 1099511627776; the model has 1 inputs.");
}

// Counts are compared before the arrays are read.
TEST_F(CArgumentsTest, RejectHugeCounts) {
  EXPECT_EQ(Call(spirloom_model_run, model(), &in_, kHuge, &out_, size_t{1}).message,
            "Number of inputs is 1099511627776; the model has 1.");
  EXPECT_EQ(Call(spirloom_model_run, model(), &in_, size_t{1}, &out_, kHuge).message,
            "Number of outputs is 1099511627776; the model has 1.");
  spirloom_pending_run* run = nullptr;
  EXPECT_EQ(Call(spirloom_model_submit, model(), &in_, kHuge, &run).message,
            "Number of inputs is 1099511627776; the model has 1.");
  ASSERT_EQ(Call(spirloom_model_submit, model(), &in_, size_t{1}, &run).message, "");
  const OwnedRun owned(run);
  EXPECT_EQ(Call(spirloom_pending_run_wait, run, &out_, kHuge).message,
            "Number of outputs is 1099511627776; the model has 1.");
  EXPECT_EQ(Call(spirloom_pending_run_wait, run, &out_, size_t{1}).message, "");
}

TEST_F(CArgumentsTest, SizesBeyondTheMaximumOnRequest) {
  graph::FileGraph graph;
  const uint32_t x = AddInput(graph, "x", {2});
  const uint32_t y = AddNode(graph, "aten.relu", {graph::TensorArg(x)}, {2});
  graph.symbols = {{"n", 1, 2}};
  graph.sizes = {{{{1, {0}}}, 1}};
  for (const uint32_t tensor : {x, y}) graph.tensors[tensor].sizes = {1};
  graph.outputs = {y};
  const int64_t four = 4;
  const spirloom_shape shape{&four, 1};
  spirloom_model_options options = SPIRLOOM_INIT(spirloom_model_options);
  for (const uint64_t allowed : {uint64_t{0}, uint64_t{1}}) {
    options.allow_exceeding_max = allowed;
    const OwnedModel model = LoadModel(runtime_, graph, &options);
    EXPECT_EQ(Call(spirloom_model_resize, model.get(), &shape, size_t{1}).status,
              allowed == 1 ? SPIRLOOM_OK : SPIRLOOM_INVALID_ARGUMENT);
  }
}

TEST_F(CArgumentsTest, AttachmentsOfAFile) {
  graph::FileGraph graph = Graph();
  graph.attachments = {{"words", "one two"}};
  const std::string path = ::testing::TempDir() + "spirloom_attachments.slg";
  const std::vector<std::byte> bytes = graph.Write();
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  spirloom_attachments* read = nullptr;
  ASSERT_EQ(Call(spirloom_attachments_read, path.c_str(), &read).message, "");
  const Owned<spirloom_attachments, spirloom_attachments_destroy> attachments(read);
  ASSERT_EQ(spirloom_attachments_count(read), 1u);
  spirloom_attachment_info info = SPIRLOOM_INIT(spirloom_attachment_info);
  ASSERT_EQ(Call(spirloom_attachments_get, read, size_t{0}, &info).message, "");
  EXPECT_STREQ(info.name, "words");
  EXPECT_EQ(std::string(static_cast<const char*>(info.data), info.size), "one two");
  EXPECT_THAT(Call(spirloom_attachments_get, read, size_t{1}, &info).message,
              HasSubstr("the number of attachments is 1"));
  EXPECT_EQ(Call(spirloom_attachments_read, "/no/such.slg", &read).status, SPIRLOOM_NOT_FOUND);
  EXPECT_EQ(spirloom_attachments_count(nullptr), 0u);
}

TEST_F(CArgumentsTest, AFileInMemoryCanBeBorrowed) {
  const std::vector<std::byte> file = Graph().Write();
  spirloom_model* loaded = nullptr;
  ASSERT_EQ(Call(spirloom_model_load_from_borrowed_memory, runtime_.get(), file.data(), file.size(),
                 nullptr, &loaded)
                .message,
            "");
  const OwnedModel model(loaded);
  EXPECT_EQ(spirloom_model_input_count(model.get()), 1u);
  const std::byte* none = nullptr;
  EXPECT_THAT(Call(spirloom_model_load_from_borrowed_memory, runtime_.get(), none, size_t{8},
                   nullptr, &loaded)
                  .message,
              HasSubstr("`file` of spirloom_model_load_from_borrowed_memory() is NULL"));
}

}  // namespace
}  // namespace spirloom::c
