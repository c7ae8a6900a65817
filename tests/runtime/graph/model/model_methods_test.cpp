// Methods of one file, and contexts of a model, which share the weights.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/model_fixture.h"
#include "tests/value_of.h"

namespace spirloom {
namespace {

using graph::FileGraph;
using graph::NoneArg;
using graph::TensorArg;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint64_t kColumns = 64;

// total += the sum of the rows of x w^T, with `rows` rows; y = relu(total). The constant w is twice
// the identity.
FileGraph Method(const std::string& name, uint64_t rows, bool with_constants) {
  FileGraph file;
  file.method = name;
  const uint32_t x = AddInput(file, "x", {rows, kColumns});
  uint32_t w = 0;
  if (with_constants) {
    Floats values(kColumns * kColumns);
    for (size_t i = 0; i < kColumns; ++i) values[i * kColumns + i] = 2;
    w = file.AddConstant<float>("w", {kColumns, kColumns}, 0, values);
    file.constants_digest.emplace();
  } else {
    w = file.AddTensor("w", {kColumns, kColumns});
    file.tensors[w].constant = 0;
  }
  const uint32_t total = file.AddTensor("total", {1, kColumns});
  file.states.push_back({total, total});
  const uint32_t product =
      AddNode(file, "aten.linear", LinearArgs(x, w, NoneArg()), {rows, kColumns});
  const uint32_t sum =
      AddNode(file, "aten.sum.dim_IntList",
              {TensorArg(product), graph::IntsArg({0}), graph::BoolArg(true)}, {1, kColumns});
  file.states[0].update = AddNode(file, "aten.add.Tensor", AddArgs(total, sum), {1, kColumns});
  file.outputs = {AddNode(file, "aten.relu", {TensorArg(file.states[0].update)}, {1, kColumns})};
  return file;
}

FileGraph TwoMethods() {
  FileGraph file = Method("many", 2, true);
  file.methods = {Method("one", 1, false)};
  return file;
}

class MethodsTest : public ModelTest {
 protected:
  static Result<Model> LoadMethod(const FileGraph& file, const std::string& method = "") {
    ModelOptions options;
    options.method = method;
    return Model::LoadFromMemory(*runtime_, file.Write(), options);
  }
  // Another method of the file, which shares the states.
  static Result<Model> Sharing(const Model& model, const std::string& method) {
    return model.CreateContext({.method = method, .share_states = true});
  }
  // The first element of y.
  static float First(Model& model, float x) {
    const auto outputs = ValueOf(RunModel(model, {Floats(model.inputs()[0].size / 4, x)}));
    return outputs[0][0];
  }
};

TEST_F(MethodsTest, ShareWeightsAndStates) {
  const FileGraph file = TwoMethods();
  Model many = ValueOf(LoadMethod(file));
  EXPECT_THAT(many.methods(), ElementsAre("many", "one"));
  EXPECT_EQ(many.method(), "many");
  const uint64_t pipelines = Counters().pipelines;
  Model one = ValueOf(Sharing(many, "one"));
  EXPECT_EQ(one.method(), "one");
  EXPECT_EQ(one.stats().state_bytes, 0u);  // shared with `many`
  EXPECT_LE(one.stats().constant_bytes, many.stats().constant_bytes);
  EXPECT_EQ(First(many, 1), 4);
  EXPECT_EQ(First(one, 1), 6);
  EXPECT_EQ(First(many, 0), 6);
  ASSERT_TRUE(one.ResetStates().ok());
  EXPECT_EQ(First(many, 1), 4);
  Model again = ValueOf(Sharing(many, "one"));
  EXPECT_EQ(again.stats().constant_bytes, 0u);
  EXPECT_LE(Counters().pipelines - pipelines, one.stats().pipelines);
  EXPECT_EQ(First(again, 1), 6);
}

TEST_F(MethodsTest, OutliveTheModelTheyShareWith) {
  const FileGraph file = TwoMethods();
  Result<Model> one = Status(StatusCode::kInternal, "none");
  {
    Model many = ValueOf(LoadMethod(file));
    one = Sharing(many, "one");
    ASSERT_TRUE(one.ok()) << one.status().message();
    EXPECT_EQ(First(many, 1), 4);
  }
  EXPECT_EQ(First(*one, 1), 6);
}

TEST_F(MethodsTest, ContextsHaveSeparateStates) {
  const FileGraph file = TwoMethods();
  Model first = ValueOf(LoadMethod(file));
  EXPECT_EQ(First(first, 1), 4);
  Model second = ValueOf(first.CreateContext());
  EXPECT_EQ(second.stats().constant_bytes, 0u);
  EXPECT_GT(second.stats().state_bytes, 0u);
  EXPECT_EQ(First(second, 0), 0);
  EXPECT_EQ(First(first, 1), 8);
  Model one = ValueOf(Sharing(second, "one"));
  EXPECT_EQ(First(one, 1), 2);
  EXPECT_EQ(First(second, 0), 2);
}

TEST_F(MethodsTest, RunsOfBothAreExecutedInOrder) {
  const FileGraph file = TwoMethods();
  Model many = ValueOf(LoadMethod(file));
  Model one = ValueOf(Sharing(many, "one"));
  const Floats x(2 * kColumns, 1);
  const std::vector<std::span<const std::byte>> two_rows{std::as_bytes(std::span(x))};
  const std::vector<std::span<const std::byte>> one_row{two_rows[0].first(4 * kColumns)};
  for (int i = 0; i < 3; ++i) {
    PendingRun first = ValueOf(many.Submit(two_rows));
    PendingRun second = ValueOf(one.Submit(one_row));
    EXPECT_EQ(one.ResetStates().code(), StatusCode::kBusy);
    ASSERT_TRUE(second.Wait().ok());
    EXPECT_THAT(one.ResetStates().message(), HasSubstr("shares the states is in flight"));
    ASSERT_TRUE(first.Wait().ok());
  }
  Floats total(kColumns);
  ASSERT_TRUE(one.ReadState(0, std::as_writable_bytes(std::span(total))).ok());
  EXPECT_EQ(total[0], 18);
}

TEST_F(MethodsTest, UnknownMethodsAreListed) {
  const Model many = ValueOf(LoadMethod(TwoMethods()));
  const Status status = many.CreateContext({.method = "two"}).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_EQ(status.message(), "The file has no method 'two'. Methods: 'many', 'one'.");
  const Model relu = ValueOf(Load(SmallGraph()));
  EXPECT_EQ(relu.CreateContext({.method = "two"}).status().message(),
            "The file has no method 'two', only one without a name.");
}

TEST_F(MethodsTest, StatesOfAnotherTypeAreSeparate) {
  FileGraph file = TwoMethods();
  file.methods[0].tensors[2].shape = {kColumns};
  file.methods[0].states[0].update = file.methods[0].states[0].tensor;
  Model many = ValueOf(LoadMethod(file));
  Model one = ValueOf(Sharing(many, "one"));
  EXPECT_GT(one.stats().state_bytes, 0u);
}

}  // namespace
}  // namespace spirloom
