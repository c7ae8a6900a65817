// Plans of random graphs are executed on symbolic elements, and must compute what the graph says:
// tensors that share bytes do not overwrite each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/graph/file/specialize.h"
#include "runtime/graph/plan/verify_plan.h"
#include "tests/runtime/graph/plan/lowering_fixture.h"
#include "tests/support/random_graph.h"

namespace spirloom::graph {
namespace {

using ::spirloom::testing::kMaxSymbol;
using ::spirloom::testing::RandomGraph;

// Elements are identified by a hash of the formula that computes them.
using Elements = std::vector<uint64_t>;

constexpr uint64_t kElementBytes = 4;

uint64_t Hash(uint64_t a, uint64_t b) {
  uint64_t x = a * 0x9e3779b97f4a7c15 + b + 1;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

uint64_t HashOf(const Elements& elements) {
  uint64_t hash = elements.size();
  for (const uint64_t element : elements) hash = Hash(hash, element);
  return hash;
}

Elements Source(const std::string& kind, size_t index, uint64_t count) {
  Elements elements;
  for (uint64_t i = 0; i < count; ++i) {
    elements.push_back(Hash(Hash(std::hash<std::string>()(kind), index), i));
  }
  return elements;
}

// y of a call with these tensors. All but concatenations and slices: each element depends on that
// of the first tensor with the same index, and on all elements of the others.
Elements Compute(const std::string& op, const std::vector<Elements>& tensors,
                 const std::vector<int64_t>& ints) {
  Elements result;
  if (op == "test.concat") {
    for (const Elements& part : tensors) result.insert(result.end(), part.begin(), part.end());
  } else if (op == "test.slice") {
    for (int64_t i = 0; i < ints[1]; ++i) {
      result.push_back(tensors[0].at(static_cast<size_t>(ints[0] + i * ints[2])));
    }
  } else if (op == "test.view") {
    result = tensors[0];
  } else {
    uint64_t others = std::hash<std::string>()(op);
    for (const int64_t value : ints) others = Hash(others, static_cast<uint64_t>(value));
    for (size_t i = 1; i < tensors.size(); ++i) others = Hash(others, HashOf(tensors[i]));
    for (size_t i = 0; i < tensors[0].size(); ++i) {
      result.push_back(Hash(Hash(others, i), tensors[0][i]));
    }
  }
  return result;
}

std::vector<int64_t> IntsOf(const std::vector<Arg>& args) {
  std::vector<int64_t> ints;
  for (const Arg& arg : args) ints.insert(ints.end(), arg.ints.begin(), arg.ints.end());
  return ints;
}

// The values of all tensors of a graph.
std::map<uint32_t, Elements> ValuesOf(const Graph& graph) {
  std::map<uint32_t, Elements> values;
  const auto add_source = [&](const std::string& kind, size_t index, uint32_t tensor) {
    values[tensor] = Source(kind, index, static_cast<uint64_t>(graph.tensors[tensor].shape[0]));
  };
  for (size_t i = 0; i < graph.inputs.size(); ++i) add_source("input", i, graph.inputs[i]);
  for (size_t i = 0; i < graph.states.size(); ++i) add_source("state", i, graph.states[i]);
  for (uint32_t i = 0; i < graph.tensors.size(); ++i) {
    const int32_t constant = graph.tensors[i].constant;
    if (constant >= 0) add_source("constant", static_cast<size_t>(constant), i);
  }
  for (const Node& node : graph.nodes) {
    std::vector<Elements> tensors;
    for (const Arg& arg : node.args) {
      for (const uint32_t tensor : arg.tensors) tensors.push_back(values.at(tensor));
    }
    const std::vector<int64_t> ints = IntsOf(node.args);
    if (node.op == "test.normalize") tensors.push_back(Compute("test.pack", tensors, {}));
    if (node.op == "test.linear") tensors[1] = Compute("test.pack", {tensors[1]}, {});
    if (node.op == "test.group") {
      const auto count = static_cast<int64_t>(tensors[0].size());
      tensors.push_back(Compute("test.pack_by", tensors, {std::min(count, ints[0])}));
    }
    values[node.outputs[0]] = Compute(node.op, tensors, ints);
  }
  return values;
}

// The memory of a plan.
class Execution {
 public:
  explicit Execution(const Plan& plan) : plan_(plan), memory_(plan.tensors.size()) {
    for (uint32_t i = 0; i < plan.tensors.size(); ++i) {
      const PlanTensor& tensor = plan.tensors[i];
      const uint64_t count = tensor.size / kElementBytes;
      memory_[i] = Source("unwritten", i, count);
      if (tensor.constant >= 0) memory_[i] = Source("constant", Index(tensor.constant), count);
      if (tensor.input >= 0) memory_[i] = Source("input", Index(tensor.input), count);
      if (tensor.state >= 0) memory_[i] = Source("state", Index(tensor.state), count);
    }
  }

  void Run() {
    for (const PlanNode& node : plan_.nodes) {
      if (node.op == nullptr) {
        Copy(node.operands[0][0], node.operands[1][0]);
      } else if (node.op->op->name == std::string("test.concat")) {
        Concatenate(node);
      } else {
        Call(node);
      }
    }
  }

  Elements Read(uint32_t tensor) const {
    const auto begin = memory_[plan_.Root(tensor)].begin() + Begin(tensor);
    return {begin, begin + static_cast<ptrdiff_t>(plan_.tensors[tensor].size / kElementBytes)};
  }

 private:
  static size_t Index(int32_t index) { return static_cast<size_t>(index); }

  ptrdiff_t Begin(uint32_t tensor) const {
    return static_cast<ptrdiff_t>(plan_.tensors[tensor].alias_offset / kElementBytes);
  }
  void Write(uint32_t tensor, const Elements& elements, ptrdiff_t offset = 0) {
    Elements& memory = memory_[plan_.Root(tensor)];
    const ptrdiff_t begin = Begin(tensor) + offset;
    ASSERT_LE(begin + std::ssize(elements), std::ssize(memory)) << "tensor " << tensor;
    std::ranges::copy(elements, memory.begin() + begin);
  }
  // Invocations run in any order: what they write, no other reads.
  Elements ReadWhileWriting(uint32_t source, uint32_t target, size_t count, ptrdiff_t offset = 0) {
    Write(target, Source("being written", target, count), offset);
    return Read(source);
  }

  void Copy(uint32_t source, uint32_t target) {
    if (plan_.HaveSameAddress(source, target)) return;
    const auto count = static_cast<size_t>(plan_.tensors[source].size / kElementBytes);
    Write(target, ReadWhileWriting(source, target, count));
  }
  void Concatenate(const PlanNode& node) {
    ptrdiff_t offset = 0;
    for (size_t i = 0; i < node.operands[0].size(); ++i) {
      const uint32_t part = node.operands[0][i];
      const auto count = static_cast<size_t>(plan_.tensors[part].size / kElementBytes);
      if (i >= node.in_place.size() || !node.in_place[i]) {
        Write(node.outputs[0], ReadWhileWriting(part, node.outputs[0], count, offset), offset);
      }
      offset += static_cast<ptrdiff_t>(count);
    }
  }
  void Call(const PlanNode& node) {
    const uint32_t output = node.outputs[0];
    const std::string op = node.op->op->name;
    std::vector<Elements> tensors;
    if (op == "test.update") tensors.push_back(Read(output));  // which a copy has filled
    const auto count = static_cast<size_t>(plan_.tensors[output].size / kElementBytes);
    for (size_t k = 0; k < node.operands.size(); ++k) {
      if (node.kernel->operands[k].access != ops::Access::kRead) continue;
      for (const uint32_t tensor : node.operands[k]) {
        tensors.push_back(ReadWhileWriting(tensor, output, count));
      }
    }
    Write(output, Compute(op, tensors, IntsOf(node.args)));
  }

  const Plan& plan_;
  std::vector<Elements> memory_;  // by root
};

// Compares outputs, states and inputs after a run.
void CheckRun(const Graph& graph, const Plan& plan) {
  std::map<uint32_t, Elements> values = ValuesOf(graph);
  Execution run(plan);
  run.Run();
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    EXPECT_EQ(run.Read(plan.outputs[i]), values[graph.outputs[i]]) << "output " << i;
  }
  for (size_t i = 0; i < graph.states.size(); ++i) {
    EXPECT_EQ(run.Read(plan.states[i]), values[graph.updates[i]]) << "state " << i;
  }
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    EXPECT_EQ(run.Read(plan.inputs[i]), values[graph.inputs[i]]) << "input " << i;
  }
}

TEST(PlanExecution, ComputesTheGraph) {
  size_t aliases = 0;
  for (uint32_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::vector<std::byte> bytes = RandomGraph(seed).Write();
    const Graph graph = ValueOf(ParseGraph(bytes));
    const std::vector<int64_t> symbols = {seed % 2 == 0 ? kMaxSymbol : seed % (kMaxSymbol + 1)};
    const Graph special = ValueOf(Specialize(graph, symbols));
    DeviceTraits device;
    device.buffer_offset_alignment = seed % 3 == 0 ? 16 : 32;
    const Plan plan = ValueOf(Compile(special, FakeIndex(), device, {.max_dispatches = 1000}));
    EXPECT_EQ(VerifyPlan(plan, device).message(), "");
    for (const PlanTensor& tensor : plan.tensors) {
      aliases += tensor.alias_of != kNoTensor;
      EXPECT_EQ(tensor.alias_offset % device.buffer_offset_alignment, 0u);
    }
    CheckRun(special, plan);
    if (HasFailure()) break;
  }
  EXPECT_GT(aliases, 400u);
}

TEST(PlanExecution, ViewsFollowATensorThatIsUpdatedTwice) {
  Builder b;
  const uint32_t x = b.Input("x", {16});
  uint32_t y = b.Call("test.sum", {TensorArg(x)}, {16});
  for (int i = 0; i < 2; ++i) y = b.Call("test.update", {TensorArg(y), TensorArg(x)}, {16});
  const uint32_t view = b.Call("test.view", {TensorArg(y), IntsArg({16})}, {16});
  b.file.outputs = {b.Call("test.sum", {TensorArg(view)}, {16})};
  const std::vector<std::byte> bytes = b.file.Write();
  CheckRun(ValueOf(ParseGraph(bytes)), ValueOf(LowerFile(b.file)));
}

}  // namespace
}  // namespace spirloom::graph
