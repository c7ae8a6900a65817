// Reads arbitrary bytes as a delegate of ExecuTorch's Vulkan backend and parses the lowered graph.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "integrations/executorch/blob/blob.h"
#include "integrations/executorch/blob/program.h"
#include "integrations/executorch/lower/lowering.h"
#include "tests/executorch/program_builder.h"
#include "tests/fuzz/fuzzing.h"

namespace {

using spirloom::Result;
using spirloom::Shape;
using spirloom::delegate::IoSpec;
using spirloom::delegate::Lowered;
using spirloom::delegate::NameTable;
using spirloom::delegate::Program;
using spirloom::delegate::ProgramBuilder;
using spirloom::fuzz::Require;

const NameTable& Names() {
  static const NameTable names = spirloom::delegate::AllNames();
  return names;
}

Result<Lowered> Lower(std::span<const std::byte> blob) {
  static const std::vector<std::byte> named(1 << 16);
  SPIRLOOM_TRY_ASSIGN(const auto parts, spirloom::delegate::SplitBlob(blob));
  SPIRLOOM_TRY_ASSIGN(const Program program,
                      spirloom::delegate::ReadProgram(
                          parts, [](std::string_view) { return std::optional(std::span(named)); }));
  return spirloom::delegate::Lower(program, Names());
}

// Evaluates the symbolic ints, as a run does before it resizes the model.
void Evaluate(const Lowered& lowered) {
  std::vector<Shape> shapes;
  for (const IoSpec& spec : lowered.inputs) shapes.push_back(spec.bounds);
  const auto values = spirloom::delegate::Evaluate(
      lowered.steps, {shapes, [](size_t, int64_t) { return Result<int64_t>(3); }});
  if (values.ok()) Require(values->size() == lowered.steps.size(), "each step has a value");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Result<Lowered> lowered = Lower(spirloom::fuzz::BytesOf(data, size));
  static spirloom::fuzz::Tally read("delegates lowered");
  read.Count(lowered.ok());
  if (!lowered.ok()) {
    Require(!lowered.status().message().empty(), "an error has a message");
    return 0;
  }
  Evaluate(*lowered);
  static spirloom::fuzz::Tally parsed("lowered graphs parsed");
  parsed.Count(spirloom::delegate::Parse(lowered->graph).ok());
  return 0;
}

namespace {

namespace vk = spirloom::delegate::vk;

// Changes values and calls of a program. Most results are valid graphs with extreme numbers.
class Mutator {
 public:
  Mutator(vk::GraphT& graph, uint64_t seed) : graph_(graph), random_(seed) {}

  void Mutate() {
    if (graph_.values.empty()) return;
    for (uint64_t changes = 1 + Below(3); changes > 0; --changes) {
      if (Below(3) == 0) {
        ChangeCall();
      } else {
        ChangeValue(*graph_.values[Below(graph_.values.size())]);
      }
    }
  }

 private:
  uint64_t Below(uint64_t count) { return random_() % count; }

  int64_t SomeInt() {
    constexpr std::array kInts = {
        INT64_MIN,  INT64_MIN + 1, INT64_MAX,     int64_t{INT32_MIN}, int64_t{-1},     int64_t{0},
        int64_t{1}, int64_t{2},    int64_t{4096}, int64_t{1} << 31,   int64_t{1} << 62};
    return kInts[Below(kInts.size())];
  }

  double SomeDouble() {
    constexpr std::array kDoubles = {0.0,
                                     -1.0,
                                     0.5,
                                     1e300,
                                     -1e300,
                                     5e-324,
                                     std::numeric_limits<double>::infinity(),
                                     std::numeric_limits<double>::quiet_NaN()};
    return kDoubles[Below(kDoubles.size())];
  }

  uint32_t SomeSize() {
    constexpr std::array kSizes = {0U, 1U, 2U, 3U, 4096U, 65536U, 1U << 20, 1U << 31, UINT32_MAX};
    return kSizes[Below(kSizes.size())];
  }

  void ChangeValue(vk::ValueT& value) {
    if (auto* integer = value.value.AsInt()) {
      integer->value = SomeInt();
    } else if (auto* real = value.value.AsDouble()) {
      real->value = SomeDouble();
    } else if (auto* ints = value.value.AsInts(); ints != nullptr && !ints->items.empty()) {
      ints->items[Below(ints->items.size())] = SomeInt();
    } else if (auto* tensor = value.value.AsTensor()) {
      if (tensor->sizes.empty() || Below(8) == 0) {
        tensor->type = static_cast<vk::ElementType>(Below(8));
      } else {
        tensor->sizes[Below(tensor->sizes.size())] = SomeSize();
      }
    }
  }

  // Another name or argument: of a call of the graph, or a symbolic or extreme int.
  void ChangeCall() {
    if (graph_.calls.empty()) return;
    vk::CallT& call = *graph_.calls[Below(graph_.calls.size())];
    if (Below(3) == 0) {
      constexpr std::array kNames = {"add",
                                     "sub",
                                     "mul",
                                     "floordiv",
                                     "sym_size.int",
                                     "et_vk.grid_priors",
                                     "aten.split_with_sizes_copy",
                                     "aten.arange.start_step",
                                     "aten.clamp"};
      call.name = Below(2) == 0 ? kNames[Below(kNames.size())]
                                : graph_.calls[Below(graph_.calls.size())]->name;
      return;
    }
    if (call.args.empty()) return;
    int32_t& arg = call.args[Below(call.args.size())];
    arg = static_cast<int32_t>(Below(graph_.values.size()));
    if (Below(2) == 0) return;
    auto value = std::make_unique<vk::ValueT>();
    if (Below(2) == 0) {
      value->value.Set(vk::SymIntT());
    } else {
      vk::IntT integer;
      integer.value = SomeInt();
      value->value.Set(std::move(integer));
    }
    arg = static_cast<int32_t>(graph_.values.size());
    graph_.values.push_back(std::move(value));
  }

  vk::GraphT& graph_;
  std::mt19937_64 random_;
};

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  const auto parts = spirloom::delegate::SplitBlob(spirloom::fuzz::BytesOf(data, size));
  if (seed % 4 == 0 || !parts.ok()) return LLVMFuzzerMutate(data, size, max_size);
  const spirloom::fuzz::AlignedCopy graph(parts->graph);
  const auto* bytes = reinterpret_cast<const uint8_t*>(graph.bytes().data());
  flatbuffers::Verifier verifier(bytes, graph.bytes().size());
  if (graph.bytes().size() < 8 || !vk::VerifyGraphBuffer(verifier)) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  ProgramBuilder builder;
  vk::GetGraph(bytes)->UnPackTo(&builder.graph);
  for (const auto& value : builder.graph.values) {
    if (value->value.value == nullptr) value->value.Reset();  // a kind without a table
  }
  Mutator(builder.graph, seed).Mutate();
  const std::vector<std::byte> blob =
      builder.Blob({parts->constants.begin(), parts->constants.end()});
  if (blob.size() > max_size) return size;
  std::memcpy(data, blob.data(), blob.size());
  return blob.size();
}
