// Plans graphs for simulated devices. An input is a device (device_bytes.h) and a graph file of the
// built-in operators. Structure-aware mutation makes most graphs valid, so that they reach
// lowering, dispatches, memory planning and barriers.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "runtime/graph/file/graph_loader.h"
#include "runtime/graph/file/specialize.h"
#include "runtime/graph/plan/limits.h"
#include "spirloom/library.h"
#include "tests/fuzz/device_bytes.h"
#include "tests/fuzz/fuzzing.h"
#include "tests/fuzz/graph_mutator.h"
#include "tests/fuzz/plan_stages.h"

namespace {

using namespace spirloom::fuzz;  // NOLINT: all functions are of this namespace
namespace graph = spirloom::graph;

const spirloom::ops::OpIndex& BuiltInOps() {
  static const auto index = [] {
    const std::array<const spirloom::ShaderLibrary*, 1> libraries = {&spirloom::AllShaders()};
    return spirloom::ops::OpIndex::Create(libraries);
  }();
  Require(index.ok(), "the built-in operators can be opened");
  return *index;
}

// Plans the graph for sizes within the symbols' bounds, as Model::Resize() does.
void TryOtherSizes(const graph::Graph& parsed, const FuzzedDevice& device) {
  std::vector<int64_t> values;
  for (const graph::Symbol& symbol : parsed.symbols) {
    const auto range = static_cast<uint64_t>(symbol.max - symbol.min) + 1;
    values.push_back(symbol.min + static_cast<int64_t>(device.symbol_choice % range));
  }
  const auto special = Specialize(parsed, values);
  if (!special.ok()) return;
  static Tally specialized("plans specialized, of those planned for other sizes");
  if (!RunStages(*special, BuiltInOps(), device, /*well_formed_ops=*/true)) return;
  specialized.Count(CheckSpecialization(parsed, *special, values, BuiltInOps(), device));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::array<uint8_t, kDeviceBytes> head{};
  std::memcpy(head.data(), data, std::min(size, kDeviceBytes));
  if (size <= kDeviceBytes) return 0;
  FuzzedDevice device = DecodeDevice(head, BuiltInOps());
  const AlignedCopy file(BytesOf(data + kDeviceBytes, size - kDeviceBytes));
  const auto parsed = graph::ParseGraph(file.bytes());
  static Tally read("graphs read");
  read.Count(parsed.ok());
  if (!parsed.ok()) return 0;
  device.options.max_dispatches = graph::Limits::Of(*parsed).dispatches;
  static Tally planned("graphs planned, of those read");
  planned.Count(RunStages(*parsed, BuiltInOps(), device, /*well_formed_ops=*/true));
  if (!parsed->symbols.empty()) TryOtherSizes(*parsed, device);
  return 0;
}

namespace {

// Writes the file after the device bytes; keeps the old bytes if it does not fit.
size_t Store(const GraphFile& file, uint8_t* data, size_t size, size_t max_size) {
  const std::vector<std::byte> bytes = WriteGraphFile(file);
  if (bytes.size() > max_size - kDeviceBytes) return size;
  std::memcpy(data + kDeviceBytes, bytes.data(), bytes.size());
  return kDeviceBytes + bytes.size();
}

GraphFile FileIn(const uint8_t* data, size_t size) {
  return ReadGraphFile(BytesOf(data, size).subspan(std::min(size, kDeviceBytes)));
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  if (max_size <= kDeviceBytes) return size;
  if (size < kDeviceBytes) {
    std::memset(data + size, 0, kDeviceBytes - size);
    size = kDeviceBytes;
  }
  if (seed % 16 == 0) return LLVMFuzzerMutate(data, size, max_size);
  if (seed % 4 == 0) LLVMFuzzerMutate(data, kDeviceBytes, kDeviceBytes);
  GraphFile file = FileIn(data, size);
  GraphMutator(BuiltInOps(), seed).Mutate(file);
  return Store(file, data, size, max_size);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* data1, size_t size1,
                                            const uint8_t* data2, size_t size2, uint8_t* out,
                                            size_t max_out_size, unsigned int seed) {
  if (size1 < kDeviceBytes || max_out_size < size1) return 0;
  std::memcpy(out, data1, size1);
  GraphFile file = FileIn(data1, size1);
  GraphMutator(BuiltInOps(), seed).Append(file, FileIn(data2, size2));
  return Store(file, out, size1, max_out_size);
}
