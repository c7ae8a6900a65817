// Models in the C API on the default device, with the validation layer.
#ifndef SPIRLOOM_TESTS_C_API_C_MODEL_FIXTURE_H_
#define SPIRLOOM_TESTS_C_API_C_MODEL_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tests/c_api/set_up.h"

namespace spirloom::c {

// y = relu(x + x) for x of shape [batch, 3]. If `dynamic`, batch is a symbol from 1 to `batch`.
inline graph::FileGraph Twice(uint64_t batch, bool dynamic) {
  graph::FileGraph file;
  const uint32_t x = AddInput(file, "x", {batch, 3});
  const uint32_t sum = AddNode(file, "aten.add.Tensor", AddArgs(x, x), {batch, 3});
  const uint32_t y = AddNode(file, "aten.relu", {graph::TensorArg(sum)}, {batch, 3});
  if (dynamic) {
    file.symbols = {{"batch", 1, static_cast<int64_t>(batch)}};
    file.sizes = {{{{1, {0}}}, 1}};
    for (const uint32_t tensor : {x, sum, y}) file.tensors[tensor].sizes = {1, 0};
  }
  file.outputs = {y};
  return file;
}

inline spirloom_const_bytes In(const Floats& values) {
  return {values.data(), values.size() * sizeof(float)};
}
inline spirloom_bytes Out(Floats& values) { return {values.data(), values.size() * sizeof(float)}; }

class CModelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!spirloom_is_available()) GTEST_SKIP() << "There is no Vulkan device.";
    spirloom_runtime_options options = SPIRLOOM_INIT(spirloom_runtime_options);
    options.validation = true;
    ASSERT_EQ(CreateRuntime(options, runtime_).message, "");
  }

  void TearDown() override {
    EXPECT_EQ(spirloom_runtime_validation_message_count(runtime_.get()), 0u);
  }

  OwnedModel Load(const graph::FileGraph& graph, const spirloom_model_options* options = nullptr) {
    return LoadModel(runtime_, graph, options);
  }

  // The index of an operator; SIZE_MAX, and a failure, if there is none of this name.
  size_t FindOp(std::string_view name) const {
    for (size_t i = 0; i < spirloom_runtime_operator_count(runtime_.get()); ++i) {
      if (spirloom_runtime_operator(runtime_.get(), i) == name) return i;
    }
    ADD_FAILURE() << name;
    return SIZE_MAX;
  }

  OwnedRuntime runtime_;
};

inline Outcome RunOnce(spirloom_model* model, const Floats& x, Floats& y) {
  const spirloom_const_bytes input = In(x);
  const spirloom_bytes output = Out(y);
  return Call(spirloom_model_run, model, &input, size_t{1}, &output, size_t{1});
}

}  // namespace spirloom::c

#endif  // SPIRLOOM_TESTS_C_API_C_MODEL_FIXTURE_H_
