#include "runtime/graph/file/graph_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>
#include <string>

#include "runtime/base/data_types.h"
#include "runtime/graph/file/file_access.h"
#include "runtime/graph/file/tensor_size.h"
#include "tests/support/graph_file_builder.h"
#include "tests/support/small_graph.h"

namespace spirloom::graph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(GraphLoader, ReadsAllFields) {
  const std::vector<std::byte> bytes = SmallGraph().Write();
  Result<Graph> graph = ParseGraph(bytes);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  ASSERT_EQ(graph->tensors.size(), 4u);
  EXPECT_EQ(graph->tensors[1].name, "w");
  EXPECT_EQ(graph->tensors[1].constant, 0);
  EXPECT_EQ(graph->tensors[1].size, 12u);
  EXPECT_EQ(graph->tensors[3].storage, Storage::kTexture3D);
  EXPECT_EQ(graph->tensors[0].shape, (Shape{2, 3}));
  ASSERT_EQ(graph->constants.size(), 1u);
  float value = 0;
  std::memcpy(&value, graph->constants[0].data() + 8, sizeof(value));
  EXPECT_EQ(value, 3.0f);
  ASSERT_EQ(graph->nodes.size(), 2u);
  EXPECT_EQ(graph->nodes[0].op, "aten.add.Tensor");
  EXPECT_EQ(graph->nodes[0].name, "a");
  EXPECT_EQ(graph->nodes[0].args[2].f, 0.5);
  EXPECT_EQ(graph->nodes[1].outputs, (std::vector<uint32_t>{3}));
  EXPECT_EQ(graph->inputs, (std::vector<uint32_t>{0}));
  EXPECT_EQ(graph->outputs, (std::vector<uint32_t>{3}));
}

TEST(GraphLoader, ReadsAnUnalignedCopy) {
  const std::vector<std::byte> bytes = SmallGraph().Write();
  std::vector<std::byte> shifted(bytes.size() + 1);
  std::copy(bytes.begin(), bytes.end(), shifted.begin() + 1);
  EXPECT_TRUE(ParseGraph(std::span(shifted).subspan(1)).ok());
}

TEST(GraphLoader, RejectsOtherFiles) {
  EXPECT_THAT(ParseGraph({}).status().message(),
              HasSubstr("The file has 0 bytes; a graph file has at least 12."));
  const std::vector<std::byte> zeros(100);
  EXPECT_EQ(ParseGraph(zeros).status().message(),
            "The file is not a Spirloom graph: the identifier 'SLG1' is missing.");
  const auto error = [](std::string start) {
    start.resize(100);
    return ParseGraph(std::as_bytes(std::span(start))).status().message();
  };
  EXPECT_THAT(error("GGUF"), HasSubstr("is missing. It is a GGUF file. Import it: spirloom import "
                                       "FILE.gguf -o MODEL.slg."));
  EXPECT_THAT(error("\x08\x09\x3a"), HasSubstr("It is an ONNX model. Import it: spirloom import"));
  EXPECT_THAT(error("1234ET12"), HasSubstr("It is an ExecuTorch program."));
  EXPECT_THAT(error("\x08\x09\x3b"), Not(HasSubstr("It is")));
}

TEST(GraphLoader, RejectsASizeBeyondTheFile) {
  std::vector<std::byte> bytes = SmallGraph().Write();
  bytes[3] = std::byte{0x7f};
  EXPECT_THAT(ParseGraph(bytes).status().message(), HasSubstr("exceeds the file"));
}

TEST(GraphLoader, RejectsAnotherVersion) {
  FileGraph file = SmallGraph();
  file.version = 1;
  ExpectError(
      file, "The graph has format version 1; this runtime reads version 2. Import the model again.",
      StatusCode::kUnsupported);
}

TEST(GraphLoader, RejectsUnknownFeatures) {
  FileGraph file = SmallGraph();
  file.required_features = {"numbers"};
  EXPECT_TRUE(ParseGraph(file.Write()).ok());
  file.required_features = {"sparse", "numbers", "loops\n"};
  ExpectError(
      file,
      "The graph requires 'sparse', 'loops?'; this runtime supports numbers, int_inputs. Use a "
      "newer runtime, or import the model with this release.",
      StatusCode::kUnsupported);
}

TEST(GraphLoader, RejectsInvalidConstants) {
  FileGraph file = SmallGraph();
  file.constants[0].offset = 32;
  ExpectError(file, "Offset (32) of constant 0 is not a multiple of 64.");
  file = SmallGraph();
  file.constants[0].offset = ~uint64_t{63};
  ExpectError(file, "exceeds the constant section (12 bytes)");
  file = SmallGraph();
  file.constants[0].size = 13;
  ExpectError(file, "exceeds the constant section");
  file = SmallGraph();
  file.constants[0].size = 8;
  ExpectError(file, "Size of constant 0 (8) differs from the tensor's (12).");
  ExpectError(file, "While reading tensor 1 ('w').");
  file = SmallGraph();
  file.tensors[1].constant = 1;
  ExpectError(file, "Constant (1) is out of range of 1 constants.");
  file.tensors[1].constant = -2;
  ExpectError(file, "Constant (-2) is out of range");
}

TEST(GraphLoader, RejectsInvalidTensors) {
  FileGraph file = SmallGraph();
  file.tensors[2].shape.assign(9, 1);
  ExpectError(file, "Rank (9) exceeds 8.");
  file = SmallGraph();
  file.tensors[2].shape = {65536, 65536};
  ExpectError(file, "Shape has more than 2147483647 elements", StatusCode::kUnsupported);
  file.tensors[2].shape = {0, ~uint64_t{0}};
  ExpectError(file, "dim 1 is 18446744073709551615", StatusCode::kUnsupported);
  file = SmallGraph();
  const size_t unknown = kDTypes.size();
  file.tensors[2].dtype = static_cast<int>(unknown);
  ExpectError(file, "DType is " + std::to_string(unknown) + "; expected 0 to " +
                        std::to_string(unknown - 1) + ".");
  file = SmallGraph();
  file.tensors[2].storage = 4;
  ExpectError(file, "Storage is 4; expected 0 to 3.");
  file = SmallGraph();
  file.tensors[0].min = 5;
  file.tensors[0].max = 4;
  ExpectError(file, "Minimum value (5) exceeds the maximum (4).");
}

// Sizes beyond 32 bits, also on 32-bit hosts.
TEST(GraphLoader, SizesHave64Bits) {
  FileGraph file = SmallGraph();
  file.tensors[2].shape = {(uint64_t{1} << 30) + 3};
  const std::vector<std::byte> bytes = file.Write();
  const Result<Graph> graph = ParseGraph(bytes);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(graph->tensors[2].size, (uint64_t{1} << 32) + 12);
  file = SmallGraph();
  file.tensors[1].shape = {(uint64_t{1} << 30) + 3};  // the constant has 12 bytes
  ExpectError(file, "Size of constant 0 (12) differs from the tensor's (4294967308).");
}

TEST(TensorSize, Has64Bits) {
  ops::TensorDesc desc;
  desc.shape = ops::Ints(std::vector<int64_t>{(int64_t{1} << 30) + 3});
  const Result<uint64_t> size = DenseSize(desc);
  ASSERT_TRUE(size.ok());
  EXPECT_EQ(*size, (uint64_t{1} << 32) + 12);
}

TEST(TensorSize, IsLimitedToInt32MaxElements) {
  ops::TensorDesc desc;
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{65536, 32768}, {int64_t{1} << 31}, {-1}, {0, int64_t{1} << 31}}) {
    desc.shape = ops::Ints(shape);
    EXPECT_EQ(DenseSize(desc).status().code(), StatusCode::kUnsupported);
  }
}

// 2^33 bytes must not overflow to 0.
TEST(ReadBudget, CountsWith64Bits) {
  ReadBudget budget(/*file_size=*/100);
  EXPECT_EQ(budget.Spend(uint64_t{1} << 30, 8).code(), StatusCode::kInvalidFile);
  EXPECT_TRUE(budget.Spend(1000, 8).ok());
  EXPECT_TRUE(ReadBudget(/*file_size=*/uint64_t{1} << 26).Spend(uint64_t{1} << 29, 8).ok());
}

TEST(GraphLoader, ReadsEmptyTensorsAndScalars) {
  FileGraph file = SmallGraph();
  file.tensors[2].shape = {0, 7};
  file.tensors[3].shape = {};
  Result<Graph> graph = ParseGraph(file.Write());
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph->tensors[2].size, 0u);
  EXPECT_EQ(graph->tensors[3].size, 4u);
}

TEST(GraphLoader, RejectsInvalidArguments) {
  FileGraph file = SmallGraph();
  file.nodes[0].args[0].tensors = {9};
  ExpectError(file, "Tensor index (9) is out of range of 4 tensors.");
  ExpectError(file, "While reading argument 0.");
  ExpectError(file, "While reading node 0 ('a', aten.add.Tensor).");
  file.nodes[0].source = "net.py:12";
  ExpectError(file, "While reading node 0 ('a at net.py:12', aten.add.Tensor).");
  file.nodes[0].args[0].tensors = {0, 0};
  ExpectError(file, "Argument of kind tensor has 2 tensors; expected 1.");
  file.nodes[0].args[0] = IntArg(1);
  file.nodes[0].args[0].ints = {};
  ExpectError(file, "Argument of kind int has 0 ints; expected 1.");
  file.nodes[0].args[0] = BoolArg(true);
  file.nodes[0].args[0].ints = {2};
  ExpectError(file, "Value of a bool is 2; expected 0 or 1.");
  file.nodes[0].args[0] = IntsArg(std::vector<int64_t>(65));
  ExpectError(file, "Argument of kind int list has 65 ints; expected at most 64.");
  file.nodes[0].args[0].kind = static_cast<ArgKind>(8);
  ExpectError(file, "Argument kind is 8; expected 0 to 7.");
}

TEST(GraphLoader, RejectsNodesOutOfOrder) {
  FileGraph file = SmallGraph();
  std::swap(file.nodes[0], file.nodes[1]);
  ExpectError(file, "tensor 2 ('sum') is read before it is defined");
  file = SmallGraph();
  file.nodes[0].args[0] = TensorArg(2);
  ExpectError(file, "tensor 2 ('sum') is read before it is defined");
}

TEST(GraphLoader, RejectsTwoProducers) {
  FileGraph file = SmallGraph();
  file.nodes[1].outputs = {2};
  ExpectError(file, "tensor 2 ('sum') is already an input, a constant or another node's output.");
  file.nodes[1].outputs = {1};
  ExpectError(file, "tensor 1 ('w') is already");
  file.nodes[1].outputs = {0};
  ExpectError(file, "tensor 0 ('x') is already");
  file.nodes[1].outputs = {77};
  ExpectError(file, "Tensor index (77)");
}

TEST(GraphLoader, RejectsAnEmptyOperatorName) {
  FileGraph file = SmallGraph();
  file.nodes[0].op = "";
  ExpectError(file, "The name of the operator is empty.");
}

TEST(GraphLoader, RejectsInvalidInputsAndOutputs) {
  FileGraph file = SmallGraph();
  file.inputs = {1};
  ExpectError(file, "tensor 1 ('w') is a constant.");
  file.inputs = {0, 0};
  ExpectError(file, "Name 'x' is used by two tensors.");
  file.inputs = {4};
  ExpectError(file, "While reading input 0.");
  file = SmallGraph();
  file.tensors[0].name = "";
  ExpectError(file, "Tensor 0 has no name.");
  file = SmallGraph();
  file.AddTensor("undefined", {1});
  file.outputs = {4};
  ExpectError(file, "No input, constant, state or node defines tensor 4 ('undefined').");
  file = SmallGraph();
  file.tensors[2].name = "y";
  file.outputs = {2, 3};
  ExpectError(file, "Name 'y' is used by two tensors.");
}

TEST(GraphLoader, AcceptsRepeatedInputAndConstantOutputs) {
  FileGraph file = SmallGraph();
  file.outputs = {3, 3, 0, 1};
  EXPECT_TRUE(ErrorOf(file).ok()) << ErrorOf(file).message();
}

TEST(GraphLoader, RejectsLongNames) {
  FileGraph file = SmallGraph();
  file.tensors[2].name = std::string(5000, 'n');
  ExpectError(file, "Length (5000) of the name exceeds 4096.");
}

TEST(GraphLoader, MessagesAreSafeToPrint) {
  FileGraph file = SmallGraph();
  file.tensors[2].name = "a\n\x1b[2J" + std::string(200, 'b');
  file.tensors[2].dtype = 99;
  const std::string message = ErrorOf(file).message();
  EXPECT_THAT(message, HasSubstr("('a??[2Jbb"));
  EXPECT_LT(message.size(), 300u);
}

// s += x, initially s = [1, 2, 3], with x of [3]; a second state that no node updates.
FileGraph StatefulGraph() {
  FileGraph file;
  const uint32_t x = file.AddTensor("x", {3});
  file.AddConstant<float>("start", {3}, 0, {1, 2, 3});
  const uint32_t s = file.AddTensor("s", {3});
  const uint32_t sum = file.AddTensor("sum", {3});
  const uint32_t other = file.AddTensor("other", {2}, 2);
  file.nodes.push_back({"aten.add.Tensor", {TensorArg(s), TensorArg(x), FloatArg(1)}, {sum}, "a"});
  file.inputs = {x};
  file.states = {{s, sum, 0}, {other, other}};
  return file;
}

TEST(GraphLoader, ReadsStates) {
  const std::vector<std::byte> bytes = StatefulGraph().Write();
  Result<Graph> graph = ParseGraph(bytes);
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_THAT(graph->states, ElementsAre(2, 4));
  EXPECT_THAT(graph->updates, ElementsAre(3, 4));
  EXPECT_EQ(graph->tensors[2].initial, 0);
  EXPECT_EQ(graph->tensors[4].initial, -1);
}

TEST(GraphLoader, RejectsInvalidStates) {
  const auto expect_error = [](const FileState& state, const std::string& message) {
    FileGraph file = StatefulGraph();
    file.states[0] = state;
    ExpectError(file, message);
  };
  expect_error({9, 3}, "Tensor index (9) is out of range of 5 tensors.");
  expect_error({9, 3}, "While reading state 0.");
  expect_error({2, 9}, "Tensor index (9) is out of range of 5 tensors.");
  expect_error({2, 9}, "While reading the updates of states.");
  expect_error({1, 3}, "tensor 1 ('start') is a constant.");
  expect_error({0, 3}, "Name 'x' is used by two tensors.");
  expect_error({4, 3}, "Name 'other' is used by two tensors.");
  expect_error({3, 3}, "is read before it is defined");
  expect_error({2, 3, 1}, "Constant (1) is out of range of 1 constants.");
  expect_error({2, 3, -2}, "Constant (-2) is out of range of 1 constants.");
  FileGraph file = StatefulGraph();
  file.tensors[2].name = "";
  ExpectError(file, "Tensor 2 has no name.");
  file = StatefulGraph();
  file.states[1].initial = 0;
  ExpectError(file, "Size of constant 0 (12) differs from the tensor's (8).");
  file = StatefulGraph();
  file.states[1].tensor = file.AddTensor("unused", {2});
  ExpectError(file, "No input, constant, state or node defines tensor 4 ('other').");
  file = StatefulGraph();
  file.symbols = {{"n", 1, 3}};
  file.sizes = {{{{1, {0}}}, 1}};
  file.tensors[0].sizes = {1};
  file.tensors[2].sizes = {1};
  ExpectError(file, "A state has dynamic sizes; expected a fixed shape.");
  file = StatefulGraph();
  file.nodes[0].outputs = {2};
  ExpectError(file, "is already an input, a constant or another node's output.");
}

TEST(GraphLoader, SurvivesTruncationAnywhere) {
  const std::vector<std::byte> bytes = SmallGraph().Write();
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(ParseGraph(std::span(bytes).first(size)).ok()) << size;
  }
}

TEST(GraphLoader, SurvivesRandomDamage) {
  const std::array files = {SmallGraph().Write(), StatefulGraph().Write()};
  std::mt19937 random(3);
  for (size_t round = 0; round < 40000; ++round) {
    std::vector<std::byte> damaged = files[round % files.size()];
    for (size_t k = 0; k < 1 + round % 3; ++k) {
      damaged[random() % damaged.size()] = static_cast<std::byte>(random());
    }
    Result<Graph> graph = ParseGraph(damaged);
    if (!graph.ok()) {
      EXPECT_FALSE(graph.status().message().empty());
    }
  }
}

}  // namespace
}  // namespace spirloom::graph
