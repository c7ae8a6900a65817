// Reads arbitrary bytes as a delegate of ExecuTorch's Vulkan backend and parses the lowered graph.
#include <array>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <optional>
#include <vector>

#include "integrations/executorch/blob/blob.h"
#include "integrations/executorch/blob/program.h"
#include "integrations/executorch/lower/lowering.h"
#include "runtime/graph/file/graph_loader.h"
#include "tests/fuzz/fuzzing.h"

namespace {

using spirloom::Result;
using spirloom::Shape;
using spirloom::delegate::IoSpec;
using spirloom::delegate::Lowered;
using spirloom::delegate::NameTable;
using spirloom::delegate::Program;
using spirloom::fuzz::Require;

const NameTable& Names() {
  static const NameTable names = [] {
    std::ifstream file(SPIRLOOM_EXECUTORCH_NAMES, std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    return NameTable::Read(std::as_bytes(std::span(bytes))).value();
  }();
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
  parsed.Count(spirloom::graph::ParseGraph(lowered->graph, std::nullopt).ok());
  return 0;
}
