#include "tests/faults/fault_fixture.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <span>
#include <string_view>

#include "runtime/base/guarded.h"
#include "runtime/graph/file/graph_loader.h"
#include "runtime/graph/model/execution_context.h"
#include "runtime/graph/model/states.h"
#include "tests/support/model_fixture.h"

namespace spirloom::faults {
namespace {

using graph::FileGraph;
using graph::NoneArg;

constexpr int64_t kMaxBatch = 4;
constexpr int64_t kWidth = 6;

}  // namespace

std::vector<std::byte> GraphFile() {
  FileGraph file;
  file.symbols = {{"batch", 1, kMaxBatch}};
  file.sizes = {{{{1, {0}}}, 1}};
  const std::vector<uint64_t> shape = {kMaxBatch, kWidth};
  const uint32_t x = AddInput(file, "x", shape);
  file.tensors[x].sizes = {1, 0};
  Floats weight(kWidth * kWidth);
  for (size_t i = 0; i < weight.size(); ++i) weight[i] = static_cast<float>(i % 5) - 2;
  const uint32_t w = file.AddConstant("w", {kWidth, kWidth}, 0, weight);
  const uint32_t product = AddNode(file, "aten.linear", LinearArgs(x, w, NoneArg()), shape);
  const uint32_t relu = AddNode(file, "aten.relu", {graph::TensorArg(product)}, shape);
  file.outputs = {AddNode(file, "aten.add.Tensor", AddArgs(relu, x), shape)};
  const uint32_t bias = file.AddConstant("bias", {kWidth}, 0, Floats(kWidth, 2));
  const uint32_t state = file.AddTensor("state", {kWidth});
  const uint32_t update = AddNode(file, "aten.add.Tensor", AddArgs(state, bias), {kWidth});
  file.states = {{state, update, /*initial=*/1}};
  return file.Write();
}

namespace {

// The input and output data of one run.
class Exchange {
 public:
  explicit Exchange(int64_t batch) : shapes_{{batch, kWidth}} {
    x_.resize(static_cast<size_t>(batch * kWidth));
    for (size_t i = 0; i < x_.size(); ++i) x_[i] = static_cast<float>(i % 7) - 3;
    y_.resize(x_.size());
    inputs_ = {std::as_bytes(std::span(x_))};
    outputs_ = {std::as_writable_bytes(std::span(y_))};
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  const std::vector<Shape>& shapes() const { return shapes_; }
  std::span<const std::span<const std::byte>> inputs() const { return inputs_; }
  std::span<const std::span<std::byte>> outputs() const { return outputs_; }
  void AppendOutputTo(std::vector<float>& all) {
    all.insert(all.end(), y_.begin(), y_.end());
    y_.assign(y_.size(), -77);
  }

 private:
  std::vector<Shape> shapes_;
  std::vector<float> x_;
  std::vector<float> y_;
  std::vector<std::span<const std::byte>> inputs_;
  std::vector<std::span<std::byte>> outputs_;
};

// Appends the state to `all`, writes it and resets it.
template <typename Read, typename Write, typename Reset>
Status UseState(std::vector<float>& all, const Read& read, const Write& write, const Reset& reset) {
  Floats state(kWidth);
  const std::span bytes = std::as_writable_bytes(std::span(state));
  SPIRLOOM_TRY(read(bytes));
  all.insert(all.end(), state.begin(), state.end());
  SPIRLOOM_TRY(write(bytes));
  return reset();
}

Status UseSize(Model& model, int64_t batch, std::vector<float>& all) {
  Exchange exchange(batch);
  SPIRLOOM_TRY(model.Resize(exchange.shapes()));
  SPIRLOOM_TRY(model.Run(exchange.inputs(), exchange.outputs()));
  exchange.AppendOutputTo(all);
  SPIRLOOM_TRY_ASSIGN(PendingRun run, model.Submit(exchange.inputs()));
  SPIRLOOM_TRY(run.IsDone().status());
  SPIRLOOM_TRY(run.Wait(exchange.outputs()));
  exchange.AppendOutputTo(all);
  SPIRLOOM_TRY(UseState(
      all, [&](auto bytes) { return model.ReadState(0, bytes); },
      [&](auto bytes) { return model.WriteState(0, bytes); }, [&] { return model.ResetStates(); }));
  SPIRLOOM_TRY(model.Profile().status());
  return model.GpuTime().status();
}

Result<std::vector<float>> UseStaged(const Runtime& runtime, const ModelOptions& options) {
  const std::vector<std::byte> file = GraphFile();
  const graph::GraphSource source{/*owner=*/nullptr, file};
  SPIRLOOM_TRY_ASSIGN(auto graph, source.Parse());
  internal::DeviceConfig config = internal::DeviceConfig::Of(*runtime.state());
  config.access = {.direct = false, .piece_bytes = 64};
  SPIRLOOM_TRY_ASSIGN(auto state, internal::LoadContext(runtime.state(), source, std::move(graph),
                                                        options, config));
  std::vector<float> all;
  for (const int64_t batch : {kMaxBatch, int64_t{2}}) {
    Exchange exchange(batch);
    SPIRLOOM_TRY(internal::ResizeContext(*state, exchange.shapes()));
    SPIRLOOM_TRY(internal::RunModel(*state, exchange.inputs(), exchange.outputs()));
    exchange.AppendOutputTo(all);
    SPIRLOOM_TRY(UseState(
        all, [&](auto bytes) { return internal::ReadState(*state, 0, bytes); },
        [&](auto bytes) { return internal::WriteState(*state, 0, bytes); },
        [&] { return internal::ResetStates(*state); }));
  }
  return all;
}

}  // namespace

const VulkanFaults& Faults() {
  static const VulkanFaults* const faults = [] {
    void* loader = dlopen(VULKAN_FAULTS, RTLD_NOW | RTLD_LOCAL);
    if (loader == nullptr) ADD_FAILURE() << dlerror();
    using Get = decltype(&spirloom_vulkan_faults);
    return reinterpret_cast<Get>(dlsym(loader, "spirloom_vulkan_faults"))();
  }();
  return *faults;
}

bool TryAll() {
  const char* value = std::getenv("SPIRLOOM_SAMPLE");
  return value != nullptr && std::string_view(value) == "all";
}

Result<Runtime> MakeRuntime(const std::string& cache_dir, bool validation) {
  RuntimeOptions options;
  options.libraries = {&AllShaders()};
  options.cache_dir = cache_dir;
  options.verdicts = "none";  // a pipeline that cannot be created is an error
  options.validation = validation;
  return Runtime::Create(options);
}

Result<std::vector<float>> UseModel(const Runtime& runtime, const Use& use) {
  ModelOptions options;
  options.storage = use.storage;
  options.profile = true;
  if (use.tune) options.tune = KernelAutotuner();
  options.retune = true;
  if (use.staged) {  // internal functions, which do not catch exceptions as the public API does
    return Guarded([&] { return UseStaged(runtime, options); });
  }
  SPIRLOOM_TRY_ASSIGN(Model model, Model::LoadFromMemory(runtime, GraphFile(), options));
  std::vector<float> all;
  for (const int64_t batch : {kMaxBatch, int64_t{2}}) SPIRLOOM_TRY(UseSize(model, batch, all));
  return all;
}

}  // namespace spirloom::faults

int main(int argc, char** argv) {
  (void)spirloom::faults::Faults();  // loads the replacement before the runtime opens a loader
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
