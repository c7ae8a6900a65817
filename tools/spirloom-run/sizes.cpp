#include "tools/spirloom-run/sizes.h"

#include <algorithm>
#include <string>

#include "runtime/base/error.h"
#include "runtime/base/text.h"
#include "runtime/graph/file/graph_loader.h"
#include "runtime/graph/file/specialize.h"

namespace spirloom::run {
namespace {

std::string ListOf(std::span<const SymbolInfo> symbols) {
  std::vector<std::string> texts;
  for (const SymbolInfo& symbol : symbols) {
    texts.push_back(Concat(symbol.name, " (", symbol.min, " to ", symbol.max, ")"));
  }
  return texts.empty() ? "none" : Join(texts, ", ");
}

}  // namespace

Result<std::vector<Shape>> ShapesOfSizes(const Options& options, const Model& model) {
  const std::span<const SymbolInfo> symbols = model.symbols();
  std::vector<int64_t> values;
  for (const SymbolInfo& symbol : symbols) values.push_back(symbol.max);
  for (const NamedInt& size : options.sizes) {
    const auto ints = model.int_inputs();
    if (std::ranges::find(ints, size.name, &IntInputInfo::name) != ints.end()) {
      return Error(StatusCode::kInvalidArgument,
                   "{} is an integer input. Set it with --int instead of --size.",
                   Quoted{size.name});
    }
    const auto found = std::ranges::find(symbols, size.name, &SymbolInfo::name);
    if (found == symbols.end()) {
      return Error(StatusCode::kInvalidArgument,
                   "The model has no dynamic size {}. Dynamic sizes: {}.", Quoted{size.name},
                   ListOf(symbols));
    }
    if (size.value < found->min || size.value > found->max) {
      return Error(StatusCode::kInvalidArgument, "Size {} is {}; its bounds are {} to {}.",
                   Quoted{size.name}, size.value, found->min, found->max);
    }
    values[static_cast<size_t>(found - symbols.begin())] = size.value;
  }
  SPIRLOOM_TRY_ASSIGN(const graph::LoadedGraph file,
                      graph::LoadGraphFile(options.model, options.method));
  SPIRLOOM_TRY_ASSIGN(const graph::Graph graph, graph::Specialize(file.graph, values));
  std::vector<Shape> shapes;
  for (const uint32_t input : graph.inputs) shapes.push_back(graph.tensors[input].shape);
  return shapes;
}

}  // namespace spirloom::run
