// Plans of small graphs over the fake library (tests/support/fake_library/).
#ifndef SPIRLOOM_TESTS_RUNTIME_GRAPH_PLAN_LOWERING_FIXTURE_H_
#define SPIRLOOM_TESTS_RUNTIME_GRAPH_PLAN_LOWERING_FIXTURE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/graph/file/graph_loader.h"
#include "runtime/graph/plan/compile.h"
#include "tests/support/fake_library/fake_library.h"
#include "tests/support/graph_file_builder.h"
#include "tests/value_of.h"

namespace spirloom::graph {

using ::spirloom::testing::FakeIndex;

inline constexpr int kBuffer = static_cast<int>(Storage::kBuffer);
inline constexpr int kTexture3D = static_cast<int>(Storage::kTexture3D);

inline Result<Plan> LowerFile(const FileGraph& file, Storage storage = Storage::kAuto,
                              const DeviceTraits& device = {},
                              const std::vector<std::string>& kernels = {},
                              uint64_t max_dispatches = 100) {
  const std::vector<std::byte> bytes = file.Write();
  SPIRLOOM_TRY_ASSIGN(const Graph graph, ParseGraph(bytes));
  return Compile(graph, FakeIndex(), device,
                 {.storage = storage, .kernels = kernels, .max_dispatches = max_dispatches});
}

inline constexpr int kTexture2D = static_cast<int>(Storage::kTexture2D);

// The nodes in order, e.g. "add@buffer"; constant nodes in parentheses.
inline std::vector<std::string> NodesOf(const Plan& plan) {
  std::vector<std::string> texts;
  for (const PlanNode& node : plan.nodes) {
    std::string text = node.op == nullptr ? "bytes" : node.kernel->name;
    text += "@" + std::string(Name(node.storage));
    texts.push_back(node.is_constant ? "(" + text + ")" : text);
  }
  return texts;
}

class Builder {
 public:
  uint32_t Input(const std::string& name, std::vector<uint64_t> shape, int dtype = 0) {
    const uint32_t tensor = file.AddTensor(name, std::move(shape), dtype);
    file.inputs.push_back(tensor);
    return tensor;
  }
  uint32_t Weight(const std::string& name, std::vector<uint64_t> shape) {
    size_t count = 1;
    for (uint64_t dim : shape) count *= static_cast<size_t>(dim);
    return file.AddConstant<float>(name, std::move(shape), 0, std::vector<float>(count));
  }
  uint32_t Call(const std::string& op, std::vector<Arg> args, std::vector<uint64_t> shape,
                int storage = 0, int dtype = 0) {
    const std::string name = "t" + std::to_string(file.tensors.size());
    const uint32_t y = file.AddTensor(name, std::move(shape), dtype, storage);
    file.nodes.push_back({op, std::move(args), {y}, name});
    return y;
  }
  uint32_t Add(uint32_t a, uint32_t b, std::vector<uint64_t> shape, int storage = 0) {
    return Call("test.add", {TensorArg(a), TensorArg(b)}, std::move(shape), storage);
  }
  FileGraph file;
};

}  // namespace spirloom::graph

#endif  // SPIRLOOM_TESTS_RUNTIME_GRAPH_PLAN_LOWERING_FIXTURE_H_
