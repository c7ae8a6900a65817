// What a program is given, as inputs of the graph: tensors, and numbers.
#include <algorithm>
#include <utility>

#include "integrations/executorch/lower/greatest.h"
#include "integrations/executorch/lower/value_map.h"
#include "runtime/base/error.h"

namespace spirloom::delegate {

Status ValueMap::AddInputs() {
  for (size_t i = 0; i < program_.inputs.size(); ++i) {
    const uint32_t id = program_.inputs[i];
    if (tensors_.contains(id) || syms_.contains(id)) {
      return InvalidFile({"The delegate has ", DescribeValue(id), " as two of its inputs."});
    }
    if (tensor(id) == nullptr) {
      const uint32_t step = AddStep({SymKind::kInput, static_cast<int64_t>(i), 0});
      syms_[id] = {step, GreatestOf(program_, id), std::nullopt};
      continue;
    }
    SPIRLOOM_TRY_WHILE(AddTensorInput(i, id), {"reading input ", i});
  }
  return Status();
}

// Each size above 1 may vary up to itself: a file does not say which do. They are symbols of their
// own as long as there are enough of them, for one whose size is another's by chance must not tie
// it.
Status ValueMap::AddTensorInput(size_t input, uint32_t id) {
  const TensorValue& source = *tensor(id);
  if (source.constant.has_value()) {
    return InvalidFile({"The input ", DescribeValue(id), " is a constant."});
  }
  size_t wanted = 0;
  for (const uint32_t other : program_.inputs) {
    const TensorValue* each = tensor(other);
    if (each == nullptr) continue;
    wanted +=
        static_cast<size_t>(std::ranges::count_if(each->shape, [](int64_t n) { return n > 1; }));
  }
  const uint32_t outside =
      graph_.AddTensor(DescribeValue(id), DeviceType(source.outside), source.shape);
  graph_.AddInput(outside);
  inputs_[outside] = static_cast<uint32_t>(input);
  std::vector<uint32_t> entries(source.shape.size(), 0);
  std::vector<std::optional<uint32_t>> symbols(source.shape.size());
  for (size_t d = 0; d < source.shape.size(); ++d) {
    if (source.shape[d] <= 1) continue;
    if (wanted > kMaxSymbols) {
      // Too many for each: those of one size share one.
      for (const auto& [known, theirs] : symbols_) {
        for (size_t k = 0; k < theirs.size() && !symbols[d]; ++k) {
          if (theirs[k] && graph_.shape(known)[k] == source.shape[d]) symbols[d] = theirs[k];
        }
      }
      for (size_t k = 0; k < d && !symbols[d]; ++k) {
        if (source.shape[k] == source.shape[d]) symbols[d] = symbols[k];
      }
    }
    if (!symbols[d]) {
      if (graph_.symbols() >= kMaxSymbols) continue;  // fixed
      symbols[d] = graph_.AddSymbol(Concat({"dim ", d, " of input ", input}), source.shape[d]);
    }
    entries[d] = graph_.SizeEntry(SymExpr::OfSymbol(*symbols[d]));
  }
  graph_.SetSizes(outside, entries);
  dims_[outside] = entries;
  symbols_[outside] = symbols;
  if (DeviceType(source.type) == DeviceType(source.outside)) return Define(id, outside);
  const uint32_t inside = Declare(id);
  graph_.AddNode("aten._to_copy", Concat({"input ", input}),
                 [&] {
                   std::vector<schema::ArgT> args;
                   args.push_back(TensorArg(outside));
                   args.push_back(TextArg(ShortName(DeviceType(source.type))));
                   return args;
                 }(),
                 {inside});
  inputs_[inside] = static_cast<uint32_t>(input);
  symbols_[inside] = symbols;
  dims_[inside] = entries;
  return Define(id, inside);
}

}  // namespace spirloom::delegate
