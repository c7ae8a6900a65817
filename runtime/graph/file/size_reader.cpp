#include "runtime/graph/file/size_reader.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

namespace spirloom::graph {
namespace {

constexpr size_t kMaxSymbols = 64;
constexpr size_t kMaxIntInputs = 64;
constexpr size_t kMaxTerms = 16;
constexpr size_t kMaxFactors = 4;
constexpr size_t kMaxDepth = 8;
constexpr uint32_t kInferredEntry = UINT32_MAX;
constexpr int64_t kMaxSize = std::numeric_limits<int32_t>::max();

Status CheckCount(const char* items, size_t count, size_t max) {
  if (count <= max) return Status();
  return InvalidFile("Number of {} ({}) exceeds {}.", items, count, max);
}

Status ReadSymbol(const schema::Symbol& source, ReadBudget& budget, Symbol& symbol) {
  SPIRLOOM_TRY(budget.ReadString(source.name(), symbol.name, "the name"));
  symbol.min = source.min();
  symbol.max = source.max();
  if (symbol.name.empty()) return InvalidFile("The symbol has no name.");
  if (0 <= symbol.min && symbol.min <= symbol.max && symbol.max <= kMaxSize) {
    return Status();
  }
  return InvalidFile("Symbol {} has the bounds {} and {}; expected 0 <= min <= max <= {}.",
                     Quoted{symbol.name}, symbol.min, symbol.max, kMaxSize);
}

// Reads the expressions of a graph in order.
class SizeExprReader {
 public:
  SizeExprReader(size_t symbols, ReadBudget& budget) : symbols_(symbols), budget_(&budget) {}

  Status Read(const schema::SizeExpr& source, SizeExpr& size);

 private:
  Status ReadTerm(const schema::SizeTerm& source, SizeTerm& term);

  size_t symbols_;
  ReadBudget* budget_;
  std::vector<size_t> depths_;  // of the expressions read
};

Status SizeExprReader::ReadTerm(const schema::SizeTerm& source, SizeTerm& term) {
  term.factor = source.factor();
  SPIRLOOM_TRY(CheckCount("symbols of a term", CountOf(source.symbols()), kMaxFactors));
  for (size_t i = 0; i < CountOf(source.symbols()); ++i) {
    const uint32_t symbol = ElementAt(*source.symbols(), i);
    if (symbol >= symbols_) {
      return InvalidFile("Symbol index ({}) is out of range of {} symbols.", symbol, symbols_);
    }
    term.symbols.push_back(symbol);
  }
  SPIRLOOM_TRY(CheckCount("sizes of a term", CountOf(source.sizes()), kMaxFactors));
  for (size_t i = 0; i < CountOf(source.sizes()); ++i) {
    const uint32_t size = ElementAt(*source.sizes(), i);
    if (size >= depths_.size()) {
      return InvalidFile("Size index ({}) is not less than {}, the index of the expression.", size,
                         depths_.size());
    }
    term.sizes.push_back(size);
  }
  return Status();
}

Status SizeExprReader::Read(const schema::SizeExpr& source, SizeExpr& size) {
  const size_t count = CountOf(source.terms());
  SPIRLOOM_TRY(CheckCount("terms", count, kMaxTerms));
  SPIRLOOM_TRY(budget_->Spend(count, sizeof(SizeTerm)));
  size.divisor = source.divisor();
  if (size.divisor < 1) {
    return InvalidFile("Divisor ({}) is less than 1.", size.divisor);
  }
  if (source.op() > schema::SizeOp::Max) {
    return InvalidFile("Operation {} of a size is unknown.", static_cast<int>(source.op()));
  }
  size.op = static_cast<SizeOp>(source.op());
  if (size.op != SizeOp::kSum && count == 0) {
    return InvalidFile("A minimum or maximum has no terms.");
  }
  size.terms.resize(count);
  size_t depth = 1;
  for (size_t i = 0; i < count; ++i) {
    const auto* term = source.terms()->Get(static_cast<flatbuffers::uoffset_t>(i));
    SPIRLOOM_TRY(ReadTerm(*term, size.terms[i]));
    for (uint32_t earlier : size.terms[i].sizes) depth = std::max(depth, depths_[earlier] + 1);
  }
  depths_.push_back(depth);
  return CheckCount("nested sizes", depth, kMaxDepth);
}

Status ReadIntInput(const schema::IntInput& source, size_t tensors, ReadBudget& budget,
                    Graph& graph) {
  IntInput input{.name = {}, .symbol = source.symbol(), .position = source.position()};
  SPIRLOOM_TRY(budget.ReadString(source.name(), input.name, "the name"));
  if (input.name.empty()) return InvalidFile("The integer input has no name.");
  if (input.symbol >= graph.symbols.size()) {
    return InvalidFile("Symbol index ({}) is out of range of {} symbols.", input.symbol,
                       graph.symbols.size());
  }
  const uint32_t first = graph.int_inputs.empty() ? 0 : graph.int_inputs.back().position;
  if (input.position < first || input.position > tensors) {
    return InvalidFile("Position ({}) is outside the bounds {} to {}.", input.position, first,
                       tensors);
  }
  graph.int_inputs.push_back(std::move(input));
  return Status();
}

// Reads number `index`, of which earlier ones are known.
Status ReadNumber(const schema::NumberExpr& source, size_t index, Graph& graph) {
  if (source.op() > schema::NumberOp::MAX) {
    return InvalidFile("Operation {} of a number is unknown.", static_cast<int>(source.op()));
  }
  NumberExpr& number = graph.numbers[index];
  number.op = static_cast<NumberOp>(source.op());
  number.value = source.value();
  number.size = source.size();
  if (number.op == NumberOp::kSize && number.size >= graph.sizes.size()) {
    return InvalidFile("Size index ({}) is out of range of {} sizes.", number.size,
                       graph.sizes.size());
  }
  const size_t count = CountOf(source.operands());
  if (count != OperandsOf(number.op)) {
    return InvalidFile("Number of operands is {}; expected {}.", count, OperandsOf(number.op));
  }
  for (size_t i = 0; i < count; ++i) {
    number.operands.push_back(ElementAt(*source.operands(), i));
    if (number.operands[i] < index) continue;
    return InvalidFile("Operand ({}) is not less than {}, the index of the number.",
                       number.operands[i], index);
  }
  return Status();
}

}  // namespace

Status ReadSymbols(const schema::Graph& source, ReadBudget& budget, Graph& graph) {
  SPIRLOOM_TRY(CheckCount("symbols", CountOf(source.symbols()), kMaxSymbols));
  graph.symbols.resize(CountOf(source.symbols()));
  std::set<std::string> names;
  for (size_t i = 0; i < graph.symbols.size(); ++i) {
    const auto* symbol = source.symbols()->Get(static_cast<flatbuffers::uoffset_t>(i));
    SPIRLOOM_TRY_WHILE(ReadSymbol(*symbol, budget, graph.symbols[i]), "reading symbol {}", i);
    if (names.insert(graph.symbols[i].name).second) continue;
    return InvalidFile("Name {} is used by two symbols.", Quoted{graph.symbols[i].name});
  }
  const size_t count = CountOf(source.sizes());
  SPIRLOOM_TRY(budget.Spend(count, sizeof(SizeExpr)));
  graph.sizes.resize(count);
  SizeExprReader reader(graph.symbols.size(), budget);
  for (size_t i = 0; i < count; ++i) {
    const auto* size = source.sizes()->Get(static_cast<flatbuffers::uoffset_t>(i));
    SPIRLOOM_TRY_WHILE(reader.Read(*size, graph.sizes[i]), "reading size {}", i);
  }
  return Status();
}

Status ReadIntInputs(const schema::Graph& source, ReadBudget& budget, Graph& graph) {
  const size_t count = CountOf(source.int_inputs());
  SPIRLOOM_TRY(CheckCount("integer inputs", count, kMaxIntInputs));
  for (size_t i = 0; i < count; ++i) {
    const auto* input = source.int_inputs()->Get(static_cast<flatbuffers::uoffset_t>(i));
    SPIRLOOM_TRY_WHILE(ReadIntInput(*input, CountOf(source.inputs()), budget, graph),
                       "reading integer input {}", i);
  }
  return Status();
}

Status ReadNumbers(const schema::Graph& source, ReadBudget& budget, Graph& graph) {
  const size_t count = CountOf(source.numbers());
  SPIRLOOM_TRY(budget.Spend(count, sizeof(NumberExpr)));
  graph.numbers.resize(count);
  for (size_t i = 0; i < count; ++i) {
    const auto* number = source.numbers()->Get(static_cast<flatbuffers::uoffset_t>(i));
    SPIRLOOM_TRY_WHILE(ReadNumber(*number, i, graph), "reading number {}", i);
  }
  return Status();
}

Result<SizeReader> SizeReader::Create(const Graph& graph, ReadBudget& budget) {
  const std::vector<int64_t> max = MaxValues(graph.symbols);
  SPIRLOOM_TRY_ASSIGN(std::vector<int64_t> values, Evaluate(graph.sizes, max));
  std::vector<double> numbers = Evaluate(graph.numbers, values);
  return SizeReader(std::move(values), std::move(numbers), budget);
}

Status SizeReader::ReadNumber(uint32_t entry, Arg& arg) const {
  if (entry == 0) return Status();
  if (entry > numbers_.size()) {
    return InvalidFile("Number index ({}) is out of range of {} numbers.", entry, numbers_.size());
  }
  arg.number = entry - 1;
  const double value = numbers_[arg.number];
  const bool same = value == arg.f || (std::isnan(value) && std::isnan(arg.f)) ||
                    std::abs(value - arg.f) <= 1e-9 * std::abs(value);
  if (same) return Status();
  return InvalidFile(
      "Value is {}; expected {}, the value of its expression at the maximum of all symbols.",
      std::to_string(arg.f), std::to_string(value));
}

Status SizeReader::Read(const flatbuffers::Vector<uint32_t>* source,
                        std::span<const int64_t> values, bool may_be_inferred,
                        std::vector<uint32_t>& sizes) const {
  const size_t count = CountOf(source);
  if (count == 0) return Status();
  if (count != values.size()) {
    return InvalidFile("Number of sizes is {}; expected {}.", count, values.size());
  }
  SPIRLOOM_TRY(budget_->Spend(count, sizeof(uint32_t)));
  for (size_t i = 0; i < count; ++i) {
    const uint32_t entry = ElementAt(*source, i);
    if (may_be_inferred && entry == kInferredEntry) {
      sizes.push_back(kInferredSize);
      continue;
    }
    if (entry > values_.size()) {
      return InvalidFile("Size index ({}) is out of range of {} sizes.", entry, values_.size());
    }
    sizes.push_back(entry == 0 ? kFixedSize : entry - 1);
    if (entry == 0 || values_[entry - 1] == values[i]) continue;
    return InvalidFile(
        "Value {} is {}; expected {}, the value of its size expression at the maximum of all "
        "symbols.",
        i, values[i], values_[entry - 1]);
  }
  return Status();
}

Status CheckSymbolsOfInputs(const Graph& graph) {
  std::vector<bool> found(graph.symbols.size());
  for (const IntInput& input : graph.int_inputs) found[input.symbol] = true;
  for (uint32_t input : graph.inputs) {
    for (uint32_t size : graph.tensors[input].sizes) {
      if (size == kFixedSize) continue;
      if (size == kInferredSize) {
        return InvalidFile("{} is an input, but its size is inferred.",
                           DescribeTensor(graph, input));
      }
      if (const auto linear = graph.sizes[size].AsLinear()) found[linear->symbol] = true;
    }
  }
  for (uint32_t i = 0; i < graph.symbols.size(); ++i) {
    if (found[i]) continue;
    return InvalidFile("Symbol {} is not determined by an input dimension or an integer input.",
                       Quoted{graph.symbols[i].name});
  }
  return Status();
}

}  // namespace spirloom::graph
