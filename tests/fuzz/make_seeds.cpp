// Writes the seeds of the fuzz targets: small files that reach many branches, one directory per
// target. With a case pack, also the graphs of its cases.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/cache_file.h"
#include "runtime/pack/image_types.h"
#include "runtime/pack/shader_pack.h"
#include "runtime/session/tuning_store.h"
#include "runtime/vulkan/vk.h"
#include "schema/cases_generated.h"
#include "spirloom/library.h"
#include "tests/fuzz/device_bytes.h"
#include "tests/ops/case_data.h"
#include "tests/ops/case_file.h"
#include "tests/support/graph_file_builder.h"
#include "tools/spirloom-run/npy.h"

namespace {

using namespace spirloom::graph;  // NOLINT: the graph builder

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
  file.constants_digest.emplace();  // zeros, as in the fuzzer's constants file
  file.constants = {{0, 12}, {64, 8}};
  return file;
}

FileGraph BadIndex() {
  FileGraph file = EveryArgument();
  file.nodes[0].args[0] = TensorArg(1000);
  return file;
}

// y = view(x, [6 * n]) with x of shape [n, 2, 3], and z of shape [(n + 1) / 2].
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

// y = x / sqrt(n) with x of shape [n].
FileGraph Numbers() {
  FileGraph file;
  file.symbols = {{"n", 1, 4}};
  file.sizes = {{{{1, {0}}}, 1}};
  file.numbers = {{.op = NumberOp::kSize, .operands = {}},
                  {.op = NumberOp::kSqrt, .operands = {0}}};
  const uint32_t x = file.AddTensor("x", {4});
  const uint32_t root = file.AddTensor("root", {}), y = file.AddTensor("y", {4});
  file.tensors[x].sizes = {1};
  file.tensors[y].sizes = {UINT32_MAX};
  Arg value = FloatArg(2);
  value.number = 2;
  file.nodes.push_back({"aten.full", {IntsArg({}), value, StringArg("f32")}, {root}, "sqrt"});
  file.nodes.push_back({"aten.div.Tensor", {TensorArg(x), TensorArg(root)}, {y}, "div"});
  file.inputs = {x};
  file.outputs = {y};
  return file;
}

// y = x[:min(n, 6), :max(n / 3, 1)] with x of shape [n, n].
FileGraph BoundedSizes() {
  FileGraph file;
  file.symbols = {{"n", 1, 9}};
  file.sizes = {{{{1, {0}}}, 1},
                {{{1, {0}}, {6, {}}}, 1, SizeOp::kMin},
                {{{1, {0}}}, 3},
                {{{1, {}, {2}}, {1, {}}}, 1, SizeOp::kMax}};
  const uint32_t x = file.AddTensor("x", {9, 9});
  const uint32_t rows = file.AddTensor("rows", {6, 9}), y = file.AddTensor("y", {6, 3});
  file.tensors[x].sizes = {1, 1};
  file.tensors[rows].sizes = file.tensors[y].sizes = {UINT32_MAX, UINT32_MAX};
  Arg first = IntArg(6), second = IntArg(3);
  first.sizes = {2};
  second.sizes = {4};
  file.nodes.push_back(
      {"aten.slice.Tensor", {TensorArg(x), IntArg(0), IntArg(0), first, IntArg(1)}, {rows}, "r"});
  file.nodes.push_back(
      {"aten.slice.Tensor", {TensorArg(rows), IntArg(1), IntArg(0), second, IntArg(1)}, {y}, "c"});
  file.inputs = {x};
  file.outputs = {y};
  return file;
}

// A sliding window over the last inputs, a state that copies another state, and a state with an
// initial value.
FileGraph States() {
  FileGraph file;
  const uint32_t x = file.AddTensor("x", {4});
  const uint32_t a = file.AddTensor("a", {4}), b = file.AddTensor("b", {4});
  const uint32_t c = file.AddTensor("c", {4});
  file.AddConstant<float>("start", {4}, 0, {1, 2, 3, 4});
  const uint32_t y = file.AddTensor("y", {4}), z = file.AddTensor("z", {4});
  file.nodes.push_back({"aten.maximum", {TensorArg(a), TensorArg(x)}, {y}, "m"});
  file.nodes.push_back({"aten.relu", {TensorArg(y)}, {z}, "r"});
  file.inputs = {x};
  file.outputs = {y};
  file.states = {{a, z, 0}, {b, a, -1}, {c, c, -1}};
  return file;
}

// Two methods that share a constant, with separate symbols or states.
FileGraph Methods() {
  FileGraph file = Symbols();
  file.method = "open";
  file.AddConstant<float>("start", {4}, 0, {1, 2, 3, 4});
  FileGraph states = States();
  states.method = "states";
  states.constants.clear();
  states.constant_section.clear();
  file.methods = {states};
  return file;
}

FileGraph OtherVersion() {
  FileGraph file = Chain();
  file.version = 7;
  return file;
}

std::map<std::string, FileGraph> Graphs() {
  return {{"bad_index", BadIndex()},
          {"chain", Chain()},
          {"empty", FileGraph()},
          {"every_argument", EveryArgument()},
          {"external_constants", ExternalConstants()},
          {"odd_shapes", OddShapes()},
          {"other_version", OtherVersion()},
          {"symbols", Symbols()},
          {"bounded_sizes", BoundedSizes()},
          {"numbers", Numbers()},
          {"states", States()},
          {"methods", Methods()}};
}

// The directories of seeds.
class Seeds {
 public:
  explicit Seeds(std::filesystem::path folder) : folder_(std::move(folder)) {}

  std::string PathOf(const std::string& target, const std::string& name) const {
    std::filesystem::create_directories(folder_ / target);
    return folder_ / target / name;
  }
  void Add(const std::string& target, const std::string& name,
           std::span<const std::byte> bytes) const {
    std::ofstream file(PathOf(target, name), std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }

 private:
  std::filesystem::path folder_;
};

std::vector<std::byte> WithDevice(std::span<const std::byte> graph, spirloom::Storage storage) {
  std::vector<std::byte> bytes(spirloom::fuzz::kDeviceBytes + graph.size());
  bytes[0] = static_cast<std::byte>(storage);
  bytes[1] = bytes[2] = std::byte{0xff};  // all optional features
  std::ranges::copy(graph, bytes.begin() + spirloom::fuzz::kDeviceBytes);
  return bytes;
}

void AddGraphs(const Seeds& seeds) {
  for (const auto& [name, graph] : Graphs()) {
    const std::vector<std::byte> bytes = graph.Write();
    seeds.Add("graph_loader", name + ".slg", bytes);
    seeds.Add("graph_plan", name, WithDevice(bytes, spirloom::Storage::kBuffer));
  }
}

// Small graphs of the pack's cases, at most `kMaxPerOp` for each operator.
bool AddCases(const Seeds& seeds, const char* path) {
  constexpr size_t kLargest = 3000;
  constexpr int kMaxPerOp = 12;
  const auto cases = spirloom::testing::CaseFile::Open(path);
  if (!cases.ok()) return false;
  std::map<std::string, int> count;
  for (const auto* test : cases->cases()) {
    const std::span<const std::byte> graph = spirloom::testing::GraphOf(*test);
    int& of_op = count[test->op()->str()];
    if (graph.size() > kLargest || of_op == kMaxPerOp) continue;
    std::string name = test->id()->str();
    std::replace(name.begin(), name.end(), '/', '-');
    const auto storage = static_cast<spirloom::Storage>(test->storage());
    seeds.Add("graph_plan", name, WithDevice(graph, storage));
    ++of_op;
  }
  return true;
}

void AddCacheFiles(const Seeds& seeds) {
  const std::string tuning = spirloom::session::FormatTuning(
      {{"aten.relu(f32[2,3]) in buffer", "relu"}, {"aten.mm(f32[2,3], f32[3,4])", "matmul"}});
  spirloom::WriteCacheFile(seeds.PathOf("cache_file", "tuning"), std::as_bytes(std::span(tuning)));
  const VkPipelineCacheHeaderVersionOne header{
      sizeof(header), VK_PIPELINE_CACHE_HEADER_VERSION_ONE, /*vendorID=*/0, /*deviceID=*/0, {}};
  spirloom::WriteCacheFile(seeds.PathOf("cache_file", "pipelines"),
                           std::as_bytes(std::span(&header, 1)));
}

void AddArrays(const Seeds& seeds) {
  using spirloom::DType;
  for (DType dtype : {DType::kF32, DType::kF16, DType::kI32, DType::kI8, DType::kB8}) {
    const std::vector<std::byte> bytes(6 * spirloom::ElementSize(dtype));
    const std::string name = std::string(spirloom::ShortName(dtype)) + ".npy";
    const spirloom::run::Array array{dtype, {2, 3}, bytes};
    if (!WriteNpy(seeds.PathOf("npy", name), array).ok()) std::abort();
  }
}

void AddCasePack(const Seeds& seeds) {
  flatbuffers::FlatBufferBuilder builder;
  const std::vector<uint64_t> shape = {2, 3};
  const std::vector<uint8_t> data(24, 1);
  std::vector<flatbuffers::Offset<spirloom::schema::CaseTensor>> tensors;
  builder.ForceVectorAlignment(data.size(), 1, 64);
  const auto elements = builder.CreateVector(data);
  const auto shape_vector = builder.CreateVector(shape);
  const auto name = builder.CreateString("x");
  tensors.push_back(
      spirloom::schema::CreateCaseTensor(builder, name, /*dtype=*/0, shape_vector, elements));
  const auto inputs = builder.CreateVector(tensors);
  builder.ForceVectorAlignment(data.size(), 1, 64);
  const auto graph = builder.CreateVector(data);
  const auto text = builder.CreateString("relu_f32_buffer/one");
  const std::vector<spirloom::schema::Tolerance> close{{1e-5, 1e-5, /*signed_zero=*/false}};
  const auto tolerances = builder.CreateVectorOfStructs(close);
  const std::vector<flatbuffers::Offset<spirloom::schema::Case>> cases = {
      spirloom::schema::CreateCase(builder, text, text, text, text, /*storage=*/1, graph, inputs,
                                   inputs, tolerances)};
  const auto list = builder.CreateVector(cases);
  FinishSizePrefixedCasePackBuffer(builder,
                                   spirloom::schema::CreateCasePack(builder, /*version=*/1, list));
  const auto* bytes = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  seeds.Add("op_cases", "one.slcases", {bytes, builder.GetSize()});
}

// Small modules of the built-in kernels, one per set of bindings.
void AddModules(const Seeds& seeds) {
  using namespace spirloom::pack;  // NOLINT: pack formats
  constexpr uint32_t kLargest = 4096;
  const auto pack = ShaderPack::Open(spirloom::AllShaders().pack, PackCheck::kStructure);
  if (!pack.ok()) std::abort();
  std::map<std::string, const VariantRow*> smallest;
  for (const VariantRow& row : pack->variants()) {
    const uint32_t size = pack->Module(row).raw_size;
    std::string bindings;
    for (BindingType type : BindingTypesOf(row)) bindings += std::to_string(static_cast<int>(type));
    const VariantRow*& best = smallest[bindings];
    if (size > kLargest || (best != nullptr && pack->Module(*best).raw_size <= size)) continue;
    best = &row;
  }
  for (const auto& [bindings, row] : smallest) {
    if (row == nullptr) continue;
    const auto words = pack->ReadSpirv(*row);
    if (!words.ok()) std::abort();
    const auto module = std::as_bytes(std::span(*words));
    constexpr size_t kHeadBytes = 1 + kMaxBindings + 3;
    std::vector<std::byte> bytes(kHeadBytes + module.size());
    bytes[0] = static_cast<std::byte>(row->binding_count);
    std::memcpy(&bytes[1], row->bindings, row->binding_count);
    std::ranges::copy(module, bytes.begin() + kHeadBytes);
    seeds.Add("spirv_words", std::string(pack->Name(*row)), bytes);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    std::fprintf(stderr, "usage: %s FOLDER [CASES.slcases]\n", argv[0]);
    return 2;
  }
  const Seeds seeds(argv[1]);
  AddGraphs(seeds);
  AddCacheFiles(seeds);
  AddArrays(seeds);
  AddCasePack(seeds);
  AddModules(seeds);
  if (argc == 3 && !AddCases(seeds, argv[2])) {
    std::fprintf(stderr, "%s is not a case pack\n", argv[2]);
    return 1;
  }
  return 0;
}
