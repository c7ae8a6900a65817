// Graphs with dynamic sizes: symbols in files, solving, and specialization.
#include "runtime/graph/file/specialize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <utility>

#include "runtime/graph/file/graph_loader.h"
#include "tests/support/graph_file_builder.h"
#include "tests/support/small_graph.h"
#include "tests/value_of.h"

namespace spirloom::graph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

SizeExpr SymbolSize(uint32_t symbol) { return {{{1, {symbol}}}, 1}; }

// y = view(x, [batch * seq, 3]), with x of [batch, seq, 3] and z of [(seq + 1) / 2].
FileGraph ViewGraph() {
  FileGraph file;
  file.symbols = {{"batch", 1, 4}, {"seq", 2, 10}};
  file.sizes = {SymbolSize(0), SymbolSize(1), {{{1, {0, 1}}}, 1}, {{{1, {1}}, {1, {}}}, 2}};
  const uint32_t x = file.AddTensor("x", {4, 10, 3});
  file.tensors[x].sizes = {1, 2, 0};
  const uint32_t z = file.AddTensor("z", {5});
  file.tensors[z].sizes = {4};
  const uint32_t y = file.AddTensor("y", {40, 3});
  Arg size = IntsArg({40, 3});
  size.sizes = {3, 0};
  file.nodes.push_back({"aten.view", {TensorArg(x), size}, {y}, "v"});
  file.inputs = {x, z};
  file.outputs = {y};
  return file;
}

Graph Parsed(const FileGraph& file) {
  static std::vector<std::byte> bytes;
  bytes = file.Write();
  return ValueOf(ParseGraph(bytes));
}

TEST(Sizes, AreSolvedAndSpecialized) {
  const Graph graph = Parsed(ViewGraph());
  const std::vector<Shape> shapes{{3, 7, 3}, {4}};
  const Result<std::vector<int64_t>> values = SolveSymbols(graph, shapes);
  ASSERT_TRUE(values.ok()) << values.status().message();
  EXPECT_THAT(*values, ElementsAre(3, 7));
  const Result<Graph> specialized = Specialize(graph, *values);
  ASSERT_TRUE(specialized.ok()) << specialized.status().message();
  EXPECT_EQ(specialized->tensors[0].shape, (Shape{3, 7, 3}));
  EXPECT_EQ(specialized->tensors[0].size, 3u * 7 * 3 * 4);
  EXPECT_EQ(specialized->tensors[1].shape, (Shape{4}));
  EXPECT_THAT(specialized->nodes[0].args[1].ints, ElementsAre(21, 3));
  EXPECT_TRUE(specialized->tensors[2].inferred);
  EXPECT_FALSE(specialized->tensors[0].inferred);
  EXPECT_THAT(DescribeDims(graph, graph.tensors[1]), ElementsAre("(seq + 1)/2"));
}

TEST(Sizes, OutsideTheBoundsAreErrors) {
  const Graph graph = Parsed(ViewGraph());
  const auto error = [&](std::vector<Shape> shapes) {
    const Status status = SolveSymbols(graph, shapes).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    return status.message();
  };
  EXPECT_EQ(error({{5, 7, 3}, {4}}),
            "Dimension 0 (5) of input 'x' is outside the bounds of 'batch' (1 to 4). Import the "
            "model with other bounds: --dim batch=MIN..MAX.");
  EXPECT_TRUE(SolveSymbols(graph, std::vector<Shape>{{5, 7, 3}, {4}}, true).ok());
  EXPECT_THAT(error({{1, 1, 3}, {1}}), HasSubstr("(1) of input 'x' is outside the bounds of "
                                                 "'seq' (2 to "));
  EXPECT_EQ(error({{1, 7, 4}, {4}}), "Dimension 2 (4) of input 'x' differs from the model's (3).");
  EXPECT_EQ(error({{1, 7, 3}, {5}}),
            "Dimension 0 (5) of input 'z' differs from the model's (4, (seq + 1)/2).");
  EXPECT_EQ(error({{1, 7}, {5}}), "Input 'x' has rank 2; expected 3.");
  EXPECT_EQ(error({{1, 7, 3}}), "Number of shapes is 1; expected 2, one per input.");
}

TEST(Sizes, OfOneSymbolMustBeEqual) {
  FileGraph file = ViewGraph();
  const uint32_t w = file.AddTensor("w", {10});
  file.tensors[w].sizes = {2};
  file.inputs.push_back(w);
  const std::vector<Shape> shapes{{1, 7, 3}, {4}, {8}};
  EXPECT_EQ(SolveSymbols(Parsed(file), shapes).status().message(),
            "Dimension 0 (8) of input 'w' is 'seq', which is 7 in another input.");
}

TEST(Sizes, ThatAreLinearDetermineTheirSymbol) {
  FileGraph file;
  file.symbols = {{"width", 1, 3}};
  file.sizes = {{{{32, {0}}}, 1}, {{{2, {0}}, {1, {}}}, 1}};
  const uint32_t x = file.AddTensor("x", {96, 7});
  file.tensors[x].sizes = {1, 2};
  const uint32_t y = file.AddTensor("y", {96, 7});
  file.nodes.push_back({"aten.relu", {TensorArg(x)}, {y}, "r"});
  file.inputs = {x};
  file.outputs = {y};
  const Graph graph = Parsed(file);
  const auto solved = [&](Shape shape) { return SolveSymbols(graph, std::vector<Shape>{shape}); };
  EXPECT_THAT(ValueOf(solved({64, 5})), ElementsAre(2));
  EXPECT_EQ(solved({65, 5}).status().message(),
            "Dimension 0 (65) of input 'x' is not '32*width' for any 'width'.");
  EXPECT_THAT(solved({128, 9}).status().message(),
              HasSubstr("Dimension 0 (128) of input 'x' is outside the bounds of '32*width' (32 to "
                        "96)."));
  EXPECT_EQ(solved({64, 7}).status().message(),
            "Dimension 1 (7) of input 'x' is '2*width + 1', which is 5 in another input.");
}

// y = x * full([], select(n - 4, 1 / sqrt(n), 7)), with x of [n].
FileGraph NumberGraph() {
  FileGraph file;
  file.symbols = {{"n", 1, 16}};
  file.sizes = {SymbolSize(0), {{{1, {0}}, {-4, {}}}, 1}};
  file.numbers = {{NumberOp::kSize, 0, 0, {}},         {NumberOp::kSize, 0, 1, {}},
                  {NumberOp::kSqrt, 0, 0, {0}},        {NumberOp::kConstant, 1, 0, {}},
                  {NumberOp::kDiv, 0, 0, {3, 2}},      {NumberOp::kConstant, 7, 0, {}},
                  {NumberOp::kSelect, 0, 0, {1, 4, 5}}};
  const uint32_t x = file.AddTensor("x", {16});
  file.tensors[x].sizes = {1};
  const uint32_t number = file.AddTensor("number", {}), y = file.AddTensor("y", {16});
  file.tensors[y].sizes = {UINT32_MAX};
  Arg value = FloatArg(0.25);
  value.number = 7;
  file.nodes.push_back({"aten.full", {IntsArg({}), value}, {number}, "f"});
  file.nodes.push_back({"aten.mul.Tensor", {TensorArg(x), TensorArg(number)}, {y}, "m"});
  file.inputs = {x};
  file.outputs = {y};
  return file;
}

TEST(Numbers, AreSpecialized) {
  const Graph graph = Parsed(NumberGraph());
  const auto at = [&](int64_t n) {
    const std::vector<int64_t> values{n};
    return ValueOf(Specialize(graph, values)).nodes[0].args[1].f;
  };
  EXPECT_EQ(at(16), 0.25);
  EXPECT_EQ(at(9), 1.0 / 3);
  EXPECT_EQ(at(4), 7);
  EXPECT_EQ(at(1), 1);
}

TEST(Numbers, OfEveryOperationAreEvaluated) {
  const std::vector<int64_t> sizes{5};
  const auto value = [&](NumberOp op, double a, double b = 0, double c = 0) {
    std::vector<NumberExpr> numbers;
    for (double x : {a, b, c}) numbers.push_back({NumberOp::kConstant, x, 0, {}});
    std::vector<uint32_t> operands{0, 1, 2};
    operands.resize(OperandsOf(op));
    numbers.push_back({op, a, 0, operands});
    return Evaluate(numbers, sizes).back();
  };
  EXPECT_EQ(value(NumberOp::kConstant, 2.5), 2.5);
  EXPECT_EQ(value(NumberOp::kSize, 0), 5);
  EXPECT_EQ(value(NumberOp::kSqrt, 9), 3);
  EXPECT_EQ(value(NumberOp::kExp, 0), 1);
  EXPECT_EQ(value(NumberOp::kLog, 1), 0);
  EXPECT_EQ(value(NumberOp::kFloor, -1.5), -2);
  EXPECT_EQ(value(NumberOp::kCeil, -1.5), -1);
  EXPECT_EQ(value(NumberOp::kRound, 2.5), 2);
  EXPECT_EQ(value(NumberOp::kFloat32, 0.1), static_cast<double>(0.1f));
  EXPECT_EQ(value(NumberOp::kFloat32, -1e300), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(value(NumberOp::kAdd, 1, 2), 3);
  EXPECT_EQ(value(NumberOp::kSub, 1, 2), -1);
  EXPECT_EQ(value(NumberOp::kMul, 3, 2), 6);
  EXPECT_EQ(value(NumberOp::kDiv, 3, 2), 1.5);
  EXPECT_EQ(value(NumberOp::kPow, 2, 10), 1024);
  EXPECT_EQ(value(NumberOp::kMin, 3, 2), 2);
  EXPECT_EQ(value(NumberOp::kMax, 3, 2), 3);
  EXPECT_EQ(value(NumberOp::kSelect, 0, 1, 2), 2);
}

TEST(Numbers, OfDamagedFilesAreRefused) {
  const auto error = [](auto change) {
    FileGraph file = NumberGraph();
    change(file);
    return ErrorOf(file).message();
  };
  EXPECT_THAT(error([](FileGraph& f) { f.numbers[0].op = static_cast<NumberOp>(17); }),
              HasSubstr("Operation 17 of a number is unknown."));
  EXPECT_THAT(error([](FileGraph& f) { f.numbers[1].size = 2; }),
              HasSubstr("Size index (2) is out of range of 2 sizes."));
  EXPECT_THAT(error([](FileGraph& f) { f.numbers[2].operands = {}; }),
              HasSubstr("Number of operands is 0; expected 1."));
  EXPECT_THAT(error([](FileGraph& f) { f.numbers[2].operands = {2}; }),
              HasSubstr("Operand (2) is not less than 2, the index of the number."));
  EXPECT_THAT(error([](FileGraph& f) { f.nodes[0].args[1].number = 8; }),
              HasSubstr("Number index (8) is out of range of 7 numbers."));
  EXPECT_THAT(error([](FileGraph& f) { f.nodes[0].args[1].f = 0.5; }),
              HasSubstr("Value is 0.500000; expected 0.250000, the value of its expression"));
}

// As ViewGraph(), with z of [(min(seq, 6) * max(seq / 3, 1) + 2 * batch) / 2].
FileGraph BoundedGraph() {
  FileGraph file = ViewGraph();
  file.sizes.push_back({{{1, {1}}, {6, {}}}, 1, SizeOp::kMin});      // 4
  file.sizes.push_back({{{1, {1}}}, 3});                             // 5
  file.sizes.push_back({{{1, {}, {5}}, {1, {}}}, 1, SizeOp::kMax});  // 6
  file.sizes.push_back({{{1, {}, {4, 6}}, {2, {0}}}, 2});            // 7
  file.tensors[1].shape = {13};
  file.tensors[1].sizes = {8};
  return file;
}

TEST(Sizes, OfMinimaAndMaximaAreNested) {
  const Graph graph = Parsed(BoundedGraph());
  EXPECT_THAT(DescribeDims(graph, graph.tensors[1]),
              ElementsAre("(min(seq, 6)*max(((seq)/3), 1) + 2*batch)/2"));
  const auto solved = [&](int64_t seq, int64_t z) {
    return SolveSymbols(graph, std::vector<Shape>{{3, seq, 3}, {z}});
  };
  EXPECT_TRUE(solved(10, 12).ok());  // (6 * 3 + 6) / 2
  EXPECT_TRUE(solved(7, 9).ok());    // (6 * 2 + 6) / 2
  EXPECT_TRUE(solved(2, 4).ok());    // (2 * 1 + 6) / 2
  EXPECT_EQ(solved(2, 5).status().message(),
            "Dimension 0 (5) of input 'z' differs from the model's (4, "
            "(min(seq, 6)*max(((seq)/3), 1) + 2*batch)/2).");
}

TEST(Sizes, OfInvalidExpressionsAreErrors) {
  FileGraph file = BoundedGraph();
  file.sizes[6].terms[0].sizes = {6};
  EXPECT_THAT(ErrorOf(file).message(),
              HasSubstr("Size index (6) is not less than 6, the index of the expression."));
  file = BoundedGraph();
  file.sizes[4].terms.clear();
  EXPECT_THAT(ErrorOf(file).message(), HasSubstr("A minimum or maximum has no terms."));
  file = BoundedGraph();
  file.sizes[4].op = static_cast<SizeOp>(3);
  EXPECT_THAT(ErrorOf(file).message(), HasSubstr("Operation 3 of a size is unknown."));
  file = BoundedGraph();
  file.sizes[7].terms[0].sizes = {4, 4, 4, 4, 4};
  EXPECT_THAT(ErrorOf(file).message(), HasSubstr("Number of sizes of a term (5) exceeds 4."));
  file = BoundedGraph();
  for (uint32_t i = 8; i < 14; ++i) file.sizes.push_back({{{1, {}, {i - 1}}}, 1});
  EXPECT_THAT(ErrorOf(file).message(), HasSubstr("Number of nested sizes (9) exceeds 8."));
}

TEST(Sizes, OfInvalidFilesAreErrors) {
  FileGraph file = ViewGraph();
  file.symbols[1].name = "batch";
  EXPECT_THAT(ErrorOf(file).message(), HasSubstr("Name 'batch' is used by two symbols."));
  file = ViewGraph();
  file.symbols[0].min = 5;
  EXPECT_THAT(ErrorOf(file).message(),
              HasSubstr("Symbol 'batch' has the bounds 5 and 4; expected 0 <= min <= max"));
  file = ViewGraph();
  file.symbols[0].max = int64_t{1} << 31;
  EXPECT_THAT(ErrorOf(file).message(), HasSubstr("expected 0 <= min <= max <= 2147483647."));
  file = ViewGraph();
  file.sizes[2].terms[0].symbols = {0, 2};
  EXPECT_THAT(ErrorOf(file).message(), HasSubstr("Symbol index (2) is out of range of 2 symbols."));
  file = ViewGraph();
  file.sizes[2].divisor = 0;
  EXPECT_THAT(ErrorOf(file).message(), HasSubstr("Divisor (0) is less than 1."));
  file = ViewGraph();
  file.sizes[2].terms[0].factor = INT64_MAX;
  EXPECT_THAT(ErrorOf(file).message(), HasSubstr("overflows int64."));
  file = ViewGraph();
  file.tensors[0].sizes = {1, 9, 0};
  EXPECT_THAT(ErrorOf(file).message(), HasSubstr("Size index (9) is out of range of 4 sizes."));
  file = ViewGraph();
  file.tensors[0].sizes = {1, 2};
  EXPECT_THAT(ErrorOf(file).message(), HasSubstr("Number of sizes is 2; expected 3."));
  file = ViewGraph();
  file.nodes[0].args[1].sizes = {1, 0};
  EXPECT_THAT(ErrorOf(file).message(), HasSubstr("Value 0 is 40; expected 4, the value of its size "
                                                 "expression at the maximum of all symbols."));
  file = ViewGraph();
  file.tensors[0].sizes = {0, 2, 0};
  EXPECT_THAT(ErrorOf(file).message(),
              HasSubstr("Symbol 'batch' is not determined by an input dimension or an integer "
                        "input."));
}

// y = x[:count], with x of [n]; the order of arguments is x, count.
FileGraph IntGraph() {
  FileGraph file;
  file.symbols = {{"n", 1, 8}, {"count", 0, 5}};
  file.sizes = {SymbolSize(0), SymbolSize(1)};
  const uint32_t x = file.AddTensor("x", {8});
  file.tensors[x].sizes = {1};
  const uint32_t y = file.AddTensor("y", {5});
  file.tensors[y].sizes = {UINT32_MAX};
  Arg end = IntArg(5);
  end.sizes = {2};
  file.nodes.push_back(
      {"aten.slice.Tensor", {TensorArg(x), IntArg(0), IntArg(0), end, IntArg(1)}, {y}, "s"});
  file.inputs = {x};
  file.outputs = {y};
  file.int_inputs = {{"count", 1, 1}};
  file.required_features = {"int_inputs"};
  return file;
}

TEST(IntInputs, SetTheirSymbols) {
  const Graph graph = Parsed(IntGraph());
  const auto solved = [&](std::vector<int64_t> ints, bool allow_exceeding_max = false) {
    return SolveSymbols(graph, std::vector<Shape>{{7}}, ints, allow_exceeding_max);
  };
  EXPECT_THAT(ValueOf(solved({0})), ElementsAre(7, 0));
  EXPECT_THAT(ValueOf(solved({6}, /*allow_exceeding_max=*/true)), ElementsAre(7, 6));
  EXPECT_THAT(ValueOf(SolveSymbols(graph, std::vector<Shape>{{7}})), ElementsAre(7, 5));
  EXPECT_EQ(solved({6}).status().message(),
            "Integer input 'count' is 6, which is outside its bounds (0 to 5). Import the model "
            "with other bounds: --dim count=MIN..MAX.");
  EXPECT_EQ(solved({-1}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(solved({}).status().message(),
            "Number of integers is 0; expected 1, one per integer input.");
}

TEST(IntInputs, MustEqualTheSizesOfTheirSymbol) {
  FileGraph file = IntGraph();
  file.int_inputs = {{"k", 1, 0}, {"length", 0, 1}, {"count", 1, 1}};
  const Graph graph = Parsed(file);
  const auto error = [&](std::vector<int64_t> ints) {
    return SolveSymbols(graph, std::vector<Shape>{{7}}, ints).status().message();
  };
  EXPECT_EQ(error({3, 7, 3}), "");
  EXPECT_EQ(error({3, 7, 4}),
            "Integer input 'count' is 4, but 'count' is 3 in another integer input.");
  EXPECT_EQ(error({3, 6, 3}), "Dimension 0 (7) of input 'x' is 'n', which is 6 in another input.");
}

TEST(IntInputs, OfDamagedFilesAreRefused) {
  const auto error = [](IntInput input) {
    FileGraph file = IntGraph();
    file.int_inputs = {{"count", 1, 1}, std::move(input)};
    return ErrorOf(file).message();
  };
  EXPECT_THAT(error({"", 1, 1}), HasSubstr("The integer input has no name."));
  EXPECT_THAT(error({"k", 2, 1}), HasSubstr("Symbol index (2) is out of range of 2 symbols."));
  EXPECT_THAT(error({"k", 1, 0}), HasSubstr("Position (0) is outside the bounds 1 to 1."));
  EXPECT_THAT(error({"k", 1, 2}), HasSubstr("Position (2) is outside the bounds 1 to 1."));
  EXPECT_THAT(error({"x", 1, 1}),
              HasSubstr("Name 'x' is used by an integer input and by another input or state."));
  FileGraph file = IntGraph();
  file.int_inputs.assign(65, {"k", 1, 1});
  EXPECT_THAT(ErrorOf(file).message(), HasSubstr("Number of integer inputs (65) exceeds 64."));
}

}  // namespace
}  // namespace spirloom::graph
