#include "tests/ops/guarded_runner.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/graph/file/graph_loader.h"
#include "runtime/graph/model/execution_context.h"
#include "tests/ops/case_data.h"

namespace spirloom::testing {
namespace {

Status Run(const Runtime& runtime, const schema::Case& test, const graph::Graph& graph,
           graph::TensorWatch* watch, CaseOutputs& outputs) {
  const ModelOptions options = OptionsOf(test);
  internal::DeviceConfig config = internal::DeviceConfig::Of(*runtime.state());
  config.watch = watch;
  config.traits.properties.is_cpu = !config.traits.properties.is_cpu;
  config.traits.large_grid_per_core = 0;  // large workgroups for grids of any size
  SPIRLOOM_TRY_ASSIGN(
      const auto context,
      internal::LoadContext(runtime.state(), /*source=*/{},
                            std::make_unique<const graph::Graph>(graph), options, config));
  return internal::RunModel(*context, InputsOf(test), outputs.spans());
}

// Describes the first byte that differs between two results; "" if there is none.
std::string FirstDifference(const schema::Case& test, const CaseOutputs& a, const CaseOutputs& b) {
  for (size_t i = 0; i < a.bytes().size(); ++i) {
    const auto [differs, other] = std::ranges::mismatch(a.bytes()[i], b.bytes()[i]);
    if (differs == a.bytes()[i].end()) continue;
    const auto& output = *test.expected()->Get(static_cast<flatbuffers::uoffset_t>(i));
    return "Output " + output.name()->str() + " depends on bytes outside of its tensors: byte " +
           std::to_string(differs - a.bytes()[i].begin()) + " is " +
           std::to_string(std::to_integer<int>(*differs)) + " with ones and " +
           std::to_string(std::to_integer<int>(*other)) + " with zeros around the tensors.";
  }
  return "";
}

}  // namespace

Result<GuardedRunner> GuardedRunner::Create(const std::vector<const ShaderLibrary*>& libraries) {
  RuntimeOptions options;
  options.libraries = libraries;
  SPIRLOOM_TRY_ASSIGN(Runtime runtime, Runtime::Create(options));
  auto scratch = std::make_unique<Scratch>(*runtime.state()->device);
  return GuardedRunner(std::move(runtime), std::move(scratch));
}

Status GuardedRunner::Run(const schema::Case& test) const {
  SPIRLOOM_TRY_ASSIGN(const graph::Graph graph, graph::ParseGraph(GraphOf(test)));
  GuardedMemory ones(*scratch_, std::byte{0xFF});
  GuardedMemory zeros(*scratch_, std::byte{0});
  CaseOutputs with_ones(test);
  CaseOutputs with_zeros(test);
  SPIRLOOM_TRY(testing::Run(runtime_, test, graph, &ones, with_ones));
  SPIRLOOM_TRY(testing::Run(runtime_, test, graph, &zeros, with_zeros));
  const std::string errors = ones.errors() + zeros.errors();
  if (!errors.empty()) return CaseFailure(errors);
  if (std::string text = FirstDifference(test, with_ones, with_zeros); !text.empty()) {
    return CaseFailure(std::move(text));
  }
  return with_ones.Compare();
}

}  // namespace spirloom::testing
