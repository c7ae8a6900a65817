// Models with autotuned kernels, on the default device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <random>
#include <set>

#include "runtime/base/cache_file.h"
#include "runtime/session/runtime_state.h"
#include "spirloom/model.h"
#include "tests/support/graph_file_builder.h"
#include "tests/value_of.h"

namespace spirloom {
namespace {

using graph::BoolArg;
using graph::FileGraph;
using graph::FloatArg;
using graph::IntArg;
using graph::IntsArg;
using graph::NoneArg;
using graph::TensorArg;
using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Floats = std::vector<float>;

Floats Random(size_t count) {
  std::minstd_rand bits(7);
  Floats values(count);
  for (float& value : values) value = static_cast<float>(bits() % 2001) / 1000 - 1;
  return values;
}

// Two equal consecutive 3x3 convolutions of 16 channels and 12x12 elements.
std::vector<std::byte> TwoConvolutions() {
  FileGraph file;
  uint32_t x = file.AddTensor("x", {1, 16, 12, 12});
  file.inputs = {x};
  const uint32_t w = file.AddConstant<float>("w", {16, 16, 3, 3}, 0, Random(2304));
  for (const char* name : {"first", "second"}) {
    const uint32_t y = file.AddTensor(name, {1, 16, 12, 12});
    file.nodes.push_back({"aten.convolution",
                          {TensorArg(x), TensorArg(w), NoneArg(), IntsArg({1, 1}), IntsArg({1, 1}),
                           IntsArg({1, 1}), BoolArg(false), IntsArg({0, 0}), IntArg(1), IntArg(0),
                           FloatArg(0), FloatArg(0), NoneArg()},
                          {y},
                          name});
    x = y;
  }
  file.outputs = {x};
  return file.Write();
}

class TunedModelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!IsAvailable()) GTEST_SKIP() << "There is no Vulkan device.";
    directory_ = ::testing::TempDir() + "spirloom_tuned_" +
                 ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(directory_);
    Restart();
    if (runtime_->state()->device->physical().timestamp_valid_bits == 0) {
      GTEST_SKIP() << "The device has no timestamps.";
    }
  }

  void TearDown() override {
    if (runtime_ == nullptr) return;
    EXPECT_EQ(runtime_->validation_message_count(), 0u) << "validation messages";
    runtime_.reset();
    std::filesystem::remove_all(directory_);
  }

  // Creates another runtime, as in another process.
  void Restart() {
    RuntimeOptions options;
    options.libraries = {&AllShaders()};
    options.cache_dir = directory_;
    options.validation = true;
    runtime_ = std::make_unique<Runtime>(ValueOf(Runtime::Create(options)));
  }

  Model Load(const ModelOptions& options = {}) {
    return ValueOf(Model::LoadFromMemory(*runtime_, TwoConvolutions(), options));
  }

  // Loads the model with the autotuner; returns the tuned calls.
  std::vector<TunedCall> Tune(ModelOptions options = {}) {
    std::vector<TunedCall> calls;
    options.tune = KernelAutotuner();
    options.on_tuned = [&](const TunedCall& call, size_t done, size_t total) {
      calls.push_back(call);
      EXPECT_EQ(done, calls.size());
      EXPECT_LE(done, total);
    };
    Load(options);
    return calls;
  }

  static Floats Run(Model& model) {
    const Floats x = Random(2304);
    Floats y(2304);
    const std::span<const std::byte> input = std::as_bytes(std::span(x));
    const std::span<std::byte> output = std::as_writable_bytes(std::span(y));
    EXPECT_TRUE(model.Run({&input, 1}, {&output, 1}).ok());
    return y;
  }

  static std::set<std::string> VariantsOf(const Model& model) {
    std::set<std::string> variants;
    for (const DispatchProfile& dispatch : ValueOf(model.Profile())) {
      variants.insert(dispatch.variant);
    }
    return variants;
  }

  const std::string& path() const { return runtime_->state()->tuning->path(); }

  void WriteFile(const std::string& text) {
    ASSERT_TRUE(WriteCacheFile(path(), std::as_bytes(std::span(text))));
    Restart();
  }

  std::string directory_;
  std::unique_ptr<Runtime> runtime_;
};

TEST_F(TunedModelTest, MeasuresEachDistinctCallOnce) {
  const std::vector<TunedCall> calls = Tune();
  ASSERT_THAT(calls, SizeIs(1));
  EXPECT_EQ(calls[0].call,
            "aten.convolution(f32[1,16,12,12], const f32[16,16,3,3], none, [1,1], [1,1], [1,1], "
            "0, [0,0], 1, 0, 0, 0, none) in buffer");
  EXPECT_EQ(calls[0].node, "first");
  EXPECT_GT(calls[0].default_ns, 0u);
  EXPECT_GT(calls[0].ns, 0u);
  EXPECT_LE(calls[0].ns, calls[0].default_ns);
  EXPECT_TRUE(calls[0].kernel == calls[0].default_kernel || calls[0].ns < calls[0].default_ns);
}

TEST_F(TunedModelTest, MeasuresOnlyCallsThatTheStoreLacks) {
  const std::vector<TunedCall> calls = Tune();
  ASSERT_THAT(calls, SizeIs(1));
  EXPECT_THAT(Tune(), IsEmpty()) << "in the same runtime";
  Restart();
  EXPECT_THAT(Tune(), IsEmpty()) << "from the file";
  ModelOptions again;
  again.retune = true;
  EXPECT_THAT(Tune(again), SizeIs(1));
  WriteFile(session::FormatTuning({{calls[0].call, "no_such"}}));
  EXPECT_THAT(Tune(), SizeIs(1)) << "a kernel that does not exist";
}

TEST_F(TunedModelTest, TunedModelsComputeEqualResults) {
  for (Storage storage : {Storage::kBuffer, Storage::kTexture3D, Storage::kTexture2D}) {
    ModelOptions options;
    options.storage = storage;
    Model plain = Load(options);
    const Floats expected = Run(plain);
    EXPECT_THAT(Tune(options), SizeIs(1));
    Model tuned = Load(options);
    const Floats results = Run(tuned);
    for (size_t i = 0; i < results.size(); ++i) {
      ASSERT_NEAR(results[i], expected[i], 1e-3f * (1 + std::abs(expected[i]))) << "element " << i;
    }
  }
}

TEST_F(TunedModelTest, SelectedKernelsAreNotMeasured) {
  ModelOptions options;
  options.kernels = {"conv2d_direct"};
  EXPECT_THAT(Tune(options), IsEmpty());
}

TEST_F(TunedModelTest, LaterRuntimesUseTheFile) {
  const std::vector<TunedCall> calls = Tune();
  ASSERT_THAT(calls, SizeIs(1));
  const session::TunedKernels expected{{calls[0].call, calls[0].kernel}};
  EXPECT_EQ(*runtime_->state()->tuning->kernels(), expected);
  Restart();
  EXPECT_EQ(*runtime_->state()->tuning->kernels(), expected);
  for (const char* kernel : {"conv2d_direct", "conv2d_tiled_64x64"}) {
    WriteFile(session::FormatTuning({{calls[0].call, kernel}}));
    EXPECT_THAT(VariantsOf(Load()), Contains(std::string(kernel) + "_f32_buffer"));
  }
}

TEST_F(TunedModelTest, WithoutACacheTheRuntimeStoresTheKernels) {
  directory_ = "none";
  Restart();
  EXPECT_EQ(path(), "");
  EXPECT_THAT(Tune(), SizeIs(1));
  EXPECT_THAT(*runtime_->state()->tuning->kernels(), SizeIs(1));
}

TEST_F(TunedModelTest, InvalidFilesAreIgnored) {
  const std::set<std::string> plain = VariantsOf(Load());
  const std::string call = Tune()[0].call;
  for (const char* kernel :
       {"no_such", "", "relu", "conv2d_depthwise", "conv2d_direct_f32_buffer"}) {
    WriteFile(session::FormatTuning({{call, kernel}}));
    EXPECT_EQ(VariantsOf(Load()), plain) << kernel;
  }
  WriteFile("garbled");
  EXPECT_EQ(VariantsOf(Load()), plain);
  std::filesystem::resize_file(path(), 5);
  Restart();
  EXPECT_EQ(VariantsOf(Load()), plain);
}

}  // namespace
}  // namespace spirloom
