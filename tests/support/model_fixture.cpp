#include "tests/support/model_fixture.h"

#include <utility>

namespace spirloom {

using graph::FileGraph;
using graph::FloatArg;
using graph::IntArg;
using graph::NoneArg;
using graph::TensorArg;

std::vector<graph::Arg> AddArgs(uint32_t a, uint32_t b, double alpha) {
  return {TensorArg(a), TensorArg(b), FloatArg(alpha), IntArg(0), FloatArg(0), FloatArg(0)};
}

std::vector<graph::Arg> LinearArgs(uint32_t x, uint32_t weight, graph::Arg bias) {
  return {TensorArg(x), TensorArg(weight), std::move(bias), IntArg(0),
          FloatArg(0),  FloatArg(0),       NoneArg()};
}

uint32_t AddNode(FileGraph& file, const std::string& op, std::vector<graph::Arg> args,
                 std::vector<uint64_t> shape, int storage) {
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

Result<std::shared_ptr<internal::ExecutionContext>> LoadContext(const Runtime& runtime,
                                                                std::span<const std::byte> file,
                                                                internal::HostAccess access,
                                                                const ModelOptions& options) {
  const graph::GraphSource source{/*owner=*/nullptr, file};
  SPIRLOOM_TRY_ASSIGN(auto graph, source.Parse(options.method));
  internal::DeviceConfig config = internal::DeviceConfig::Of(*runtime.state());
  config.access = access;
  return internal::LoadContext(runtime.state(), source, std::move(graph), options, config);
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

std::unique_ptr<Runtime> ModelTest::runtime_;

FileGraph SmallGraph() {
  FileGraph file;
  const uint32_t x = AddInput(file, "x", {2, 3});
  const uint32_t w = file.AddConstant<float>("w", {3}, 0, {1, 2, 3});
  const uint32_t sum = AddNode(file, "aten.add.Tensor", AddArgs(x, w, 2), {2, 3});
  file.outputs = {AddNode(file, "aten.relu", {TensorArg(sum)}, {2, 3})};
  return file;
}

}  // namespace spirloom
