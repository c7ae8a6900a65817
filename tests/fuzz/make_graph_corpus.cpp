// Writes the seeds of the graph loader's corpus: small graph files that reach its branches.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "tests/unit/graph_file_builder.h"

namespace {

using namespace spirloom::graph;  // NOLINT: the builder's vocabulary

FileGraph EveryArgument() {
  FileGraph file;
  const uint32_t x = file.AddTensor("x", {2, 3});
  const uint32_t w = file.AddConstant<float>("w", {3}, 0, {1, 2, 3});
  const uint32_t i = file.AddConstant<int32_t>("i", {2}, 2, {7, 8});
  const uint32_t y = file.AddTensor("y", {2, 3}, 0, 2);
  file.nodes.push_back({"aten.op",
                        {TensorArg(x), TensorsArg({w, i}), IntArg(-1), FloatArg(0.5), BoolArg(true),
                         IntsArg({1, 2, 3}), StringArg("f16"), NoneArg()},
                        {y},
                        "node"});
  file.inputs = {x};
  file.outputs = {y};
  return file;
}

FileGraph Chain() {
  FileGraph file;
  uint32_t tensor = file.AddTensor("x", {1, 3, 4, 4}, 1);
  file.inputs = {tensor};
  for (int k = 0; k < 4; ++k) {
    const uint32_t next = file.AddTensor("t" + std::to_string(k), {1, 3, 4, 4}, 1);
    file.nodes.push_back({"aten.relu", {TensorArg(tensor)}, {next}, ""});
    tensor = next;
  }
  file.outputs = {tensor, tensor, file.inputs[0]};
  return file;
}

FileGraph OddShapes() {
  FileGraph file;
  file.inputs = {file.AddTensor("scalar", {}), file.AddTensor("empty", {0, 5}, 3),
                 file.AddTensor("deep", {1, 1, 1, 1, 1, 1, 1, 2}, 5)};
  file.outputs = {file.inputs[0]};
  return file;
}

FileGraph ExternalConstants() {
  FileGraph file = EveryArgument();
  file.constants_file = "weights.data";
  file.constants_digest.emplace();  // zeros, as the fuzzer's file of constants has
  file.constants = {{0, 12}, {64, 8}};
  return file;
}

FileGraph BadIndex() {
  FileGraph file = EveryArgument();
  file.nodes[0].args[0] = TensorArg(1000);
  return file;
}

// y = view(x, [6 * n]) of an x of [n, 2, 3] and a z of [(n + 1) / 2].
FileGraph Symbols() {
  FileGraph file;
  file.symbols = {{"n", 1, 4}};
  file.sizes = {{{{1, {0}}}, 1}, {{{6, {0}}}, 1}, {{{1, {0}}, {1, {}}}, 2}};
  const uint32_t x = file.AddTensor("x", {4, 2, 3});
  const uint32_t z = file.AddTensor("z", {2});
  const uint32_t y = file.AddTensor("y", {24});
  file.tensors[x].sizes = {1, 0, 0};
  file.tensors[z].sizes = {3};
  file.tensors[y].sizes = {UINT32_MAX};
  Arg size = IntsArg({24});
  size.sizes = {2};
  file.nodes.push_back({"aten.view", {TensorArg(x), size}, {y}, "v"});
  file.inputs = {x, z};
  file.outputs = {y};
  return file;
}

FileGraph OtherVersion() {
  FileGraph file = Chain();
  file.version = 7;
  return file;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  const std::map<std::string, FileGraph> seeds{{"bad_index", BadIndex()},
                                               {"chain", Chain()},
                                               {"empty", FileGraph()},
                                               {"every_argument", EveryArgument()},
                                               {"external_constants", ExternalConstants()},
                                               {"odd_shapes", OddShapes()},
                                               {"other_version", OtherVersion()},
                                               {"symbols", Symbols()}};
  std::filesystem::create_directories(argv[1]);
  for (const auto& [name, seed] : seeds) {
    const std::vector<std::byte> bytes = seed.Write();
    std::ofstream file(std::filesystem::path(argv[1]) / (name + ".slg"), std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  return 0;
}
