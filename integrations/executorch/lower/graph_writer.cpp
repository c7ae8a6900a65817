#include "integrations/executorch/lower/graph_writer.h"

#include <algorithm>
#include <string>
#include <utility>

#include "runtime/base/error.h"

namespace spirloom::delegate {
namespace {

constexpr uint32_t kInferred = UINT32_MAX;

schema::ArgT ArgOf(schema::ArgKind kind) {
  schema::ArgT arg;
  arg.kind = kind;
  return arg;
}

}  // namespace

schema::ArgT TensorArg(uint32_t tensor) {
  schema::ArgT arg = ArgOf(schema::ArgKind::Tensor);
  arg.tensors = {tensor};
  return arg;
}

schema::ArgT TensorsArg(std::span<const uint32_t> tensors) {
  schema::ArgT arg = ArgOf(schema::ArgKind::TensorList);
  arg.tensors.assign(tensors.begin(), tensors.end());
  return arg;
}

schema::ArgT IntArg(SizedInt value) {
  schema::ArgT arg = ArgOf(schema::ArgKind::Int);
  arg.ints = {value.value};
  if (value.size != 0) arg.sizes = {value.size};
  return arg;
}

schema::ArgT IntsArg(std::span<const SizedInt> values) {
  schema::ArgT arg = ArgOf(schema::ArgKind::Ints);
  for (const SizedInt& value : values) arg.ints.push_back(value.value);
  if (std::ranges::any_of(values, [](const SizedInt& value) { return value.size != 0; })) {
    for (const SizedInt& value : values) arg.sizes.push_back(value.size);
  }
  return arg;
}

schema::ArgT FloatArg(double value) {
  schema::ArgT arg = ArgOf(schema::ArgKind::Float);
  arg.float_value = value;
  return arg;
}

schema::ArgT BoolArg(bool value) {
  schema::ArgT arg = ArgOf(schema::ArgKind::Bool);
  arg.ints = {value ? 1 : 0};
  return arg;
}

schema::ArgT TextArg(std::string value) {
  schema::ArgT arg = ArgOf(schema::ArgKind::String);
  arg.string_value = std::move(value);
  return arg;
}

uint32_t GraphWriter::AddTensor(std::string name, DType dtype, const Shape& shape) {
  auto tensor = std::make_unique<schema::TensorT>();
  // Outputs require a name.
  tensor->name = name.empty() ? "tensor " + std::to_string(shapes_.size()) : std::move(name);
  tensor->dtype = static_cast<schema::DType>(dtype);
  tensor->shape.assign(shape.begin(), shape.end());
  graph_.tensors.push_back(std::move(tensor));
  shapes_.push_back(shape);
  return static_cast<uint32_t>(shapes_.size() - 1);
}

int32_t GraphWriter::IndexOf(std::span<const std::byte> bytes) {
  const auto [found, is_new] = constant_of_.emplace(std::pair(bytes.data(), bytes.size()),
                                                    static_cast<int32_t>(constants_.size()));
  if (is_new) constants_.push_back(bytes);
  return found->second;
}

uint32_t GraphWriter::AddConstant(std::string name, DType dtype, const Shape& shape,
                                  std::span<const std::byte> bytes) {
  const uint32_t tensor = AddTensor(std::move(name), dtype, shape);
  graph_.tensors[tensor]->constant = IndexOf(bytes);
  return tensor;
}

Result<std::span<std::byte>> GraphWriter::Allocate(uint64_t bytes) {
  if (bytes > budget_ - allocated_) {
    return Error(StatusCode::kUnsupported,
                 "Constants that the program does not contain have {} + {} bytes; a program of its "
                 "size may have {} bytes of them.",
                 allocated_, bytes, budget_);
  }
  allocated_ += bytes;
  return std::span(buffers_.emplace_back(static_cast<size_t>(bytes)));
}

void GraphWriter::AddState(uint32_t tensor, uint32_t update, std::span<const std::byte> initial) {
  auto state = std::make_unique<schema::StateT>();
  state->tensor = tensor;
  state->update = update;
  if (std::ranges::any_of(initial, [](std::byte byte) { return byte != std::byte{0}; })) {
    state->initial = IndexOf(initial);
  }
  graph_.states.push_back(std::move(state));
}

void GraphWriter::AddNode(std::string op, std::string name, std::vector<schema::ArgT> args,
                          std::vector<uint32_t> outputs) {
  auto node = std::make_unique<schema::NodeT>();
  node->op = std::move(op);
  node->name = std::move(name);
  for (schema::ArgT& arg : args) {
    node->args.push_back(std::make_unique<schema::ArgT>(std::move(arg)));
  }
  node->outputs = std::move(outputs);
  graph_.nodes.push_back(std::move(node));
}

void GraphWriter::AddIntInput(std::string name, uint32_t symbol) {
  if (graph_.int_inputs.empty()) graph_.required_features.emplace_back("int_inputs");
  auto input = std::make_unique<schema::IntInputT>();
  input->name = std::move(name);
  input->symbol = symbol;
  input->position = static_cast<uint32_t>(graph_.inputs.size());
  graph_.int_inputs.push_back(std::move(input));
}

uint32_t GraphWriter::AddSymbol(std::string name, int64_t max) {
  auto symbol = std::make_unique<schema::SymbolT>();
  symbol->name = std::move(name);
  symbol->max = max;
  graph_.symbols.push_back(std::move(symbol));
  return static_cast<uint32_t>(graph_.symbols.size() - 1);
}

uint32_t GraphWriter::SizeEntry(const SymExpr& expr) {
  auto size = std::make_unique<schema::SizeExprT>();
  size->divisor = expr.divisor;
  for (const auto& [symbols, factor] : expr.terms) {
    auto term = std::make_unique<schema::SizeTermT>();
    term->factor = factor;
    term->symbols = symbols;
    size->terms.push_back(std::move(term));
  }
  graph_.sizes.push_back(std::move(size));
  return static_cast<uint32_t>(graph_.sizes.size());
}

void GraphWriter::SetSizes(uint32_t tensor, std::vector<uint32_t> entries) {
  graph_.tensors[tensor]->sizes = std::move(entries);
}

DType GraphWriter::dtype(uint32_t tensor) const {
  return static_cast<DType>(graph_.tensors[tensor]->dtype);
}

std::optional<std::span<const std::byte>> GraphWriter::ConstantOf(uint32_t tensor) const {
  const int32_t constant = graph_.tensors[tensor]->constant;
  if (constant < 0) return std::nullopt;
  return constants_[static_cast<size_t>(constant)];
}

bool GraphWriter::is_computed(uint32_t tensor) const {
  return graph_.tensors[tensor]->constant < 0 &&
         std::ranges::find(graph_.inputs, tensor) == graph_.inputs.end();
}

GraphParts GraphWriter::Write() && {
  graph_.version = static_cast<uint32_t>(schema::FormatVersion::Current);
  graph_.producer = "ExecuTorch's Vulkan delegate";
  if (!graph_.symbols.empty()) {
    for (const auto& node : graph_.nodes) {
      for (const uint32_t output : node->outputs) {
        SetSizes(output, std::vector<uint32_t>(shapes_[output].size(), kInferred));
      }
    }
  }
  for (const auto& bytes : constants_) graph_.constants.emplace_back(/*offset=*/0, bytes.size());
  flatbuffers::FlatBufferBuilder builder;
  schema::FinishSizePrefixedGraphBuffer(builder, schema::Graph::Pack(builder, &graph_));
  const auto file = std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize()));
  return {{file.begin(), file.end()}, std::move(constants_), std::move(buffers_)};
}

}  // namespace spirloom::delegate
