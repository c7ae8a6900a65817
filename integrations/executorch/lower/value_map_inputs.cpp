// Adds a program's inputs, tensors and ints, to the graph.
#include <algorithm>
#include <utility>

#include "integrations/executorch/lower/value_map.h"
#include "runtime/base/error.h"

namespace spirloom::delegate {

Status ValueMap::AddInputs() {
  for (size_t i = 0; i < program_.inputs.size(); ++i) {
    const uint32_t id = program_.inputs[i];
    if (tensors_.contains(id) || syms_.contains(id)) {
      return InvalidFile("{} occurs twice among the delegate's inputs.", DescribeValue(id));
    }
    if (tensor(id) == nullptr) {
      const uint32_t step = AddStep({SymKind::kInput, static_cast<int64_t>(i), 0});
      syms_[id] = {step, upper_bounds_.Of(id), std::nullopt};
      continue;
    }
    SPIRLOOM_TRY_WHILE(AddTensorInput(i, id), "reading input {}", i);
  }
  return Status();
}

// Every size above 1 is an upper bound, because the file does not mark the dynamic ones. Each is a
// separate symbol, as equal sizes may be unrelated, unless there are more than kMaxSymbols.
Status ValueMap::AddTensorInput(size_t input, uint32_t id) {
  const TensorValue& source = *tensor(id);
  if (source.constant.has_value()) {
    return InvalidFile("The input {} is a constant.", DescribeValue(id));
  }
  size_t dim_count = 0;
  for (const uint32_t other : program_.inputs) {
    const TensorValue* each = tensor(other);
    if (each == nullptr) continue;
    dim_count +=
        static_cast<size_t>(std::ranges::count_if(each->shape, [](int64_t n) { return n > 1; }));
  }
  const uint32_t staging =
      graph_.AddTensor(DescribeValue(id), DeviceType(source.staging_type), source.shape);
  graph_.AddInput(staging);
  inputs_[staging] = static_cast<uint32_t>(input);
  std::vector<uint32_t> entries(source.shape.size(), 0);
  std::vector<std::optional<uint32_t>> symbols(source.shape.size());
  for (size_t d = 0; d < source.shape.size(); ++d) {
    if (source.shape[d] <= 1) continue;
    if (dim_count > kMaxSymbols) {
      // Too many symbols: equal sizes share one.
      for (const auto& [known, other_symbols] : symbols_) {
        for (size_t k = 0; k < other_symbols.size() && !symbols[d]; ++k) {
          if (other_symbols[k] && graph_.shape(known)[k] == source.shape[d])
            symbols[d] = other_symbols[k];
        }
      }
      for (size_t k = 0; k < d && !symbols[d]; ++k) {
        if (source.shape[k] == source.shape[d]) symbols[d] = symbols[k];
      }
    }
    if (!symbols[d]) {
      if (graph_.symbols() >= kMaxSymbols) continue;  // fixed
      symbols[d] = graph_.AddSymbol(Format("dim {} of input {}", d, input), source.shape[d]);
    }
    entries[d] = graph_.SizeEntry(SymExpr::OfSymbol(*symbols[d]));
  }
  graph_.SetSizes(staging, entries);
  dims_[staging] = entries;
  symbols_[staging] = symbols;
  if (DeviceType(source.type) == DeviceType(source.staging_type)) return Define(id, staging);
  const uint32_t converted = Declare(id);
  graph_.AddNode("aten._to_copy", Concat("input ", input),
                 [&] {
                   std::vector<schema::ArgT> args;
                   args.push_back(TensorArg(staging));
                   args.push_back(TextArg(ShortName(DeviceType(source.type))));
                   return args;
                 }(),
                 {converted});
  inputs_[converted] = static_cast<uint32_t>(input);
  symbols_[converted] = symbols;
  dims_[converted] = entries;
  return Define(id, converted);
}

}  // namespace spirloom::delegate
