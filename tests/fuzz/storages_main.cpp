// Runs small graphs on the device in buffers, 3-D textures and layered 2-D textures, and compares
// the results: they must not depend on the storage. The mutator of the target graph_plan changes
// each graph until it loads. The validation layers are enabled and must report nothing.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "runtime/ops/op_index.h"
#include "spirloom/model.h"
#include "spirloom/runtime.h"
#include "tests/fuzz/device_bytes.h"
#include "tests/fuzz/fuzzing.h"
#include "tests/fuzz/graph_file.h"
#include "tests/fuzz/graph_mutator.h"
#include "tests/ops/compare.h"

namespace {

using namespace spirloom;        // NOLINT: an application
using namespace spirloom::fuzz;  // NOLINT: of fuzzing

using Bytes = std::vector<std::byte>;

constexpr uint64_t kMaxElements = 1 << 14;  // of a tensor
constexpr MutatorLimits kLimits{
    .nodes = 4, .tensors = 16, .constant_bytes = 4096, .hostile = false};

// Multiples of 1/4 between -2 and 2, which are exact in fp16; integers are 0 or 1.
void FillElements(DType dtype, std::span<std::byte> bytes, std::mt19937_64& random) {
  const size_t width = ElementSize(dtype);
  for (size_t at = 0; at + width <= bytes.size(); at += width) {
    const auto quarters = static_cast<int>(random() % 17) - 8;
    const float value = static_cast<float>(quarters) / 4;
    const auto integer = static_cast<int32_t>(random() % 2);
    // The fp16 bits of 0, 1/4, 1/2 … 2.
    constexpr std::array<uint16_t, 9> kHalves = {0,      0x3400, 0x3800, 0x3a00, 0x3c00,
                                                 0x3d00, 0x3e00, 0x3f00, 0x4000};
    const auto sign = static_cast<uint16_t>(quarters < 0 ? 0x8000 : 0);
    const auto half =
        static_cast<uint16_t>(sign | kHalves[static_cast<size_t>(std::abs(quarters))]);
    const void* from = &integer;
    if (dtype == DType::kF32) from = &value;
    if (dtype == DType::kF16) from = &half;
    std::memcpy(&bytes[at], from, width);
  }
}

bool IsSmall(const schema::GraphT& graph) {
  return std::ranges::all_of(graph.tensors, [](const auto& tensor) {
    uint64_t count = 1;
    for (uint64_t dim : tensor->shape) {
      if (dim > kMaxElements) return false;
      count *= std::max<uint64_t>(dim, 1);
    }
    return count <= kMaxElements;
  });
}

// Replaces the constants, so that none is NaN.
void FillConstants(GraphFile& file, std::mt19937_64& random) {
  for (const auto& tensor : file.graph.tensors) {
    if (tensor->constant < 0) continue;
    const schema::Constant& range = file.graph.constants[static_cast<size_t>(tensor->constant)];
    FillElements(static_cast<DType>(tensor->dtype),
                 std::span(file.constants).subspan(range.offset(), range.size()), random);
  }
}

struct Outcome {
  bool ran = false;
  std::vector<TensorInfo> infos;
  std::vector<Bytes> outputs;
};

Outcome RunIn(const Runtime& runtime, const Bytes& file, Storage storage, uint64_t seed) {
  Outcome outcome;
  auto model = Model::LoadFromMemory(runtime, file, {.storage = storage, .kernels = {}});
  if (!model.ok()) return outcome;
  std::mt19937_64 random(seed);
  std::vector<Bytes> inputs;
  for (const TensorInfo& info : model->inputs()) {
    FillElements(info.dtype, inputs.emplace_back(info.size), random);
  }
  for (const TensorInfo& info : model->outputs()) {
    outcome.infos.push_back(info);
    outcome.outputs.emplace_back(info.size, std::byte{0xff});
  }
  const std::vector<std::span<const std::byte>> from(inputs.begin(), inputs.end());
  const std::vector<std::span<std::byte>> to(outcome.outputs.begin(), outcome.outputs.end());
  const Status status = model->Run(from, to);
  Require(status.ok(), status.message().c_str());
  outcome.ran = true;
  return outcome;
}

bool IsFinite(const TensorInfo& info, const Bytes& bytes) {
  const Shape& shape = info.shape;
  const Bytes zeros(bytes.size());
  const bool is_float = info.dtype == DType::kF32 || info.dtype == DType::kF16;
  const double most = info.dtype == DType::kF16 ? 1e3 : 1e6;
  return !is_float ||
         testing::Compare(info.dtype, shape, bytes, zeros, {.rtol = 0, .atol = most}).empty();
}

// A description of the difference; "" if the outcomes are equal.
std::string Difference(const Outcome& buffer, const Outcome& texture) {
  if (buffer.ran != texture.ran) return "Only one of the two models loads.";
  for (size_t i = 0; i < buffer.outputs.size(); ++i) {
    const TensorInfo& info = buffer.infos[i];
    if (info.shape != texture.infos[i].shape) return "The shapes differ.";
    if (!IsFinite(info, buffer.outputs[i])) continue;
    testing::Tolerance tolerance{.rtol = 0, .atol = 0};
    if (info.dtype == DType::kF32) tolerance = {.rtol = 2e-3, .atol = 2e-3};
    if (info.dtype == DType::kF16) tolerance = {.rtol = 3e-2, .atol = 3e-2};
    const std::string text =
        testing::Compare(info.dtype, info.shape, texture.outputs[i], buffer.outputs[i], tolerance);
    if (!text.empty()) return info.name + ": " + text;
  }
  return "";
}

std::vector<Bytes> SeedsOf(int argc, char** argv, int first) {
  std::vector<Bytes> seeds;
  std::vector<std::filesystem::path> paths;
  for (int i = first; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      paths.push_back(entry.path());
    }
  }
  std::ranges::sort(paths);
  for (const std::filesystem::path& path : paths) {
    std::ifstream file(path, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)),
                           std::istreambuf_iterator<char>());
    if (text.size() <= kDeviceBytes) continue;
    const auto bytes = std::as_bytes(std::span(text)).subspan(kDeviceBytes);
    seeds.emplace_back(bytes.begin(), bytes.end());
  }
  return seeds;
}

class Campaign {
 public:
  Campaign(Runtime runtime, const ops::OpIndex& index, std::string findings)
      : runtime_(std::move(runtime)), index_(index), findings_(std::move(findings)) {}

  // Runs the graph mutated from `source` with `seed` in every storage.
  void Try(const Bytes& source, uint64_t seed) {
    GraphFile file = ReadGraphFile(source);
    GraphMutator(index_, seed, kLimits).Mutate(file);
    ++tried_;
    if (file.graph.nodes.empty() || file.graph.nodes.size() > kLimits.nodes) return;
    if (!IsSmall(file.graph)) return;
    std::mt19937_64 random(seed);
    FillConstants(file, random);
    Compare(WriteGraphFile(file), seed);
  }

  void Compare(const Bytes& graph, uint64_t seed) {
    const uint64_t messages = runtime_.validation_message_count();
    const Outcome buffer = RunIn(runtime_, graph, Storage::kBuffer, seed);
    for (Storage storage : {Storage::kTexture3D, Storage::kTexture2D}) {
      const Outcome texture = RunIn(runtime_, graph, storage, seed);
      const std::string text = Difference(buffer, texture);
      if (!text.empty()) Report(graph, seed, std::string(Name(storage)) + ": " + text);
    }
    if (runtime_.validation_message_count() != messages) Report(graph, seed, "validation");
    if (buffer.ran) ++ran_;
  }

  int Finish() const {
    std::printf("%zu graphs tried, %zu ran in every storage, %zu findings\n", tried_, ran_, found_);
    return found_ == 0 ? 0 : 1;
  }

 private:
  void Report(const Bytes& graph, uint64_t seed, const std::string& text) {
    ++found_;
    std::filesystem::create_directories(findings_);
    const std::string path = findings_ + "/" + std::to_string(seed) + ".slg";
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(graph.data()),
               static_cast<std::streamsize>(graph.size()));
    std::printf("%s: %s\n", path.c_str(), text.c_str());
    std::fflush(stdout);
  }

  Runtime runtime_;
  const ops::OpIndex& index_;
  const std::string findings_;
  size_t tried_ = 0;
  size_t ran_ = 0;
  size_t found_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: %s SECONDS SEED FINDINGS FOLDER...\n", argv[0]);
    return 2;
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(std::stoi(argv[1]));
  const std::array<const ShaderLibrary*, 1> libraries = {&AllShaders()};
  const auto index = ops::OpIndex::Create(libraries);
  Require(index.ok(), "the built-in operators can be opened");
  RuntimeOptions options;
  options.libraries = {&AllShaders()};
  options.validation = true;
  auto runtime = Runtime::Create(options);
  if (!runtime.ok()) {
    std::fprintf(stderr, "%s\n", runtime.status().message().c_str());
    return 2;
  }
  const std::vector<Bytes> seeds = SeedsOf(argc, argv, 4);
  Require(!seeds.empty(), "there are seeds");
  Campaign campaign(std::move(runtime).value(), *index, argv[3]);
  const uint64_t first = std::stoull(argv[2]);
  for (uint64_t seed = first; std::chrono::steady_clock::now() < end; ++seed) {
    campaign.Try(seeds[std::mt19937_64(seed)() % seeds.size()], seed);
  }
  return campaign.Finish();
}
