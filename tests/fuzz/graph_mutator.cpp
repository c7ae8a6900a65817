#include "tests/fuzz/graph_mutator.h"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <utility>

#include "tests/fuzz/graph_repair.h"

namespace spirloom::fuzz {
namespace {

using schema::ArgKind;

template <typename List>
void EraseAt(List& list, size_t i) {
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
}

std::unique_ptr<schema::NodeT> CopyOf(const schema::NodeT& node) {
  auto copy = std::make_unique<schema::NodeT>();
  copy->op = node.op;
  copy->name = node.name;
  copy->outputs = node.outputs;
  for (const auto& arg : node.args) copy->args.push_back(std::make_unique<schema::ArgT>(*arg));
  return copy;
}

}  // namespace

int64_t GraphMutator::SomeInt() {
  constexpr std::array<int64_t, 14> kEdges = {INT64_MIN,        INT64_MAX,    INT32_MIN, INT32_MAX,
                                              int64_t{1} << 31, 65535,        65536,     65537,
                                              int64_t{1} << 62, -65536,       255,       -128,
                                              1 << 20,          (1 << 24) + 1};
  if (limits_.hostile && OneIn(8)) return kEdges[Below(kEdges.size())];
  const auto small = static_cast<int64_t>(Below(9));
  return OneIn(4) ? -small : small;
}

uint64_t GraphMutator::SomeDim() {
  constexpr std::array<uint64_t, 10> kEdges = {65535, 65536, 2147483647, 4096, 4097,
                                               16384, 1025,  257,        1024, 131072};
  if (limits_.hostile && OneIn(12)) return kEdges[Below(kEdges.size())];
  if (OneIn(24)) return 0;
  return OneIn(4) ? 1 + Below(40) : 1 + Below(6);
}

double GraphMutator::SomeFloat() {
  constexpr std::array<double, 9> kEdges = {0.0,
                                            -0.0,
                                            std::numeric_limits<double>::infinity(),
                                            -std::numeric_limits<double>::infinity(),
                                            std::numeric_limits<double>::quiet_NaN(),
                                            1e300,
                                            5e-324,
                                            65504,
                                            -1e-8};
  if (limits_.hostile && OneIn(4)) return kEdges[Below(kEdges.size())];
  return static_cast<double>(Below(33)) / 8 - 2;
}

std::vector<int64_t> GraphMutator::SomeInts(const ops::ArgInfo& arg) {
  const size_t length = arg.length >= 0 ? static_cast<size_t>(arg.length) : Below(6);
  std::vector<int64_t> ints(std::min<size_t>(length, 64));
  for (int64_t& value : ints) value = SomeInt();
  return ints;
}

uint32_t GraphMutator::AddTensor(GraphFile& file, schema::DType dtype,
                                 std::vector<uint64_t> shape) {
  auto tensor = std::make_unique<schema::TensorT>();
  tensor->name = "t" + std::to_string(file.graph.tensors.size());
  tensor->dtype = dtype;
  tensor->shape = std::move(shape);
  file.graph.tensors.push_back(std::move(tensor));
  return static_cast<uint32_t>(file.graph.tensors.size() - 1);
}

uint32_t GraphMutator::AddInput(GraphFile& file) {
  constexpr std::array<schema::DType, 8> kTypes = {
      schema::DType::F32, schema::DType::F32, schema::DType::F32, schema::DType::F16,
      schema::DType::I32, schema::DType::I8,  schema::DType::U8,  schema::DType::B8};
  std::vector<uint64_t> shape;
  if (!file.graph.tensors.empty() && !OneIn(3)) {
    shape = file.graph.tensors[Below(file.graph.tensors.size())]->shape;
  } else {
    shape.resize(Below(6));
    for (uint64_t& dim : shape) dim = SomeDim();
  }
  const uint32_t tensor = AddTensor(file, kTypes[Below(kTypes.size())], std::move(shape));
  file.graph.inputs.push_back(tensor);
  return tensor;
}

uint32_t GraphMutator::AddConstant(GraphFile& file) {
  const uint32_t tensor = AddInput(file);
  file.graph.inputs.pop_back();
  file.graph.tensors[tensor]->constant = 0;  // the repair gives it bytes
  return tensor;
}

uint32_t GraphMutator::SomeTensor(GraphFile& file) {
  const size_t count = file.graph.tensors.size();
  if (count == 0 || (count < limits_.tensors && OneIn(8))) {
    return OneIn(2) ? AddConstant(file) : AddInput(file);
  }
  return static_cast<uint32_t>(Below(count));
}

schema::ArgT GraphMutator::SomeArg(GraphFile& file, const ops::ArgInfo& info) {
  schema::ArgT arg;
  switch (info.type) {
    case ops::ArgType::kTensor:
      if (info.optional && OneIn(3)) break;
      arg.kind = ArgKind::Tensor;
      arg.tensors = {SomeTensor(file)};
      break;
    case ops::ArgType::kTensorList:
      arg.kind = ArgKind::TensorList;
      for (size_t i = Below(5); i > 0; --i) arg.tensors.push_back(SomeTensor(file));
      break;
    case ops::ArgType::kInt:
      arg.kind = ArgKind::Int;
      arg.ints = {SomeInt()};
      break;
    case ops::ArgType::kFloat:
      arg.kind = ArgKind::Float;
      arg.float_value = SomeFloat();
      break;
    case ops::ArgType::kBool:
      arg.kind = ArgKind::Bool;
      arg.ints = {static_cast<int64_t>(Below(2))};
      break;
    case ops::ArgType::kInts:
      arg.kind = ArgKind::Ints;
      arg.ints = SomeInts(info);
      break;
    case ops::ArgType::kString: {
      constexpr std::array<const char*, 12> kTexts = {
          "f32", "f16", "i32", "i8", "u8", "b8", "none", "tanh", "relu", "nearest", "bilinear", ""};
      arg.kind = ArgKind::String;
      arg.string_value = kTexts[Below(kTexts.size())];
      break;
    }
  }
  return arg;
}

void GraphMutator::FillArgs(GraphFile& file, const ops::OpInfo& op, schema::NodeT& node) {
  std::vector<std::unique_ptr<schema::ArgT>> args;
  for (size_t i = 0; i < op.args.size(); ++i) {
    auto arg = std::make_unique<schema::ArgT>(SomeArg(file, op.args[i]));
    // Keeps the previous argument at this index half the time, if it has the same kind.
    if (i < node.args.size() && node.args[i]->kind == arg->kind && OneIn(2)) *arg = *node.args[i];
    args.push_back(std::move(arg));
  }
  node.args = std::move(args);
}

void GraphMutator::AddNode(GraphFile& file) {
  if (index_.ops().empty() || file.graph.nodes.size() >= limits_.nodes) return;
  // Tries a few candidates until one infers its outputs: most random arguments are invalid.
  for (int tries = 0; tries < 6; ++tries) {
    const ops::OpEntry& entry = index_.ops()[Below(index_.ops().size())];
    const ops::OpInfo& op = *entry.op;
    auto node = std::make_unique<schema::NodeT>();
    node->op = op.name;
    FillArgs(file, op, *node);
    if (!Infers(file.graph, entry, *node) && tries < 5) continue;
    const size_t index = OneIn(3) ? Below(file.graph.nodes.size() + 1) : file.graph.nodes.size();
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      node->outputs.push_back(AddTensor(file, schema::DType::F32, {}));
    }
    if (!node->outputs.empty()) file.graph.outputs.push_back(node->outputs[0]);
    file.graph.nodes.insert(file.graph.nodes.begin() + static_cast<std::ptrdiff_t>(index),
                            std::move(node));
    return;
  }
}

void GraphMutator::ReplaceOp(GraphFile& file) {
  if (file.graph.nodes.empty() || index_.ops().empty()) return;
  schema::NodeT& node = *file.graph.nodes[Below(file.graph.nodes.size())];
  for (int tries = 0; tries < 6; ++tries) {
    const ops::OpEntry& entry = index_.ops()[Below(index_.ops().size())];
    const ops::OpInfo& op = *entry.op;
    schema::NodeT other;
    other.op = op.name;
    for (const auto& arg : node.args) other.args.push_back(std::make_unique<schema::ArgT>(*arg));
    FillArgs(file, op, other);
    if (!Infers(file.graph, entry, other)) continue;
    node.op = other.op;
    node.args = std::move(other.args);
    return;
  }
}

void GraphMutator::ChangeArg(GraphFile& file) {
  if (file.graph.nodes.empty()) return;
  schema::NodeT& node = *file.graph.nodes[Below(file.graph.nodes.size())];
  const ops::OpEntry* entry = index_.FindOp(node.op);
  if (node.args.empty()) return;
  const size_t i = Below(node.args.size());
  schema::ArgT& arg = *node.args[i];
  if (!arg.ints.empty() && arg.kind != ArgKind::Bool && !OneIn(3)) {
    int64_t& value = arg.ints[Below(arg.ints.size())];
    value =
        OneIn(2) ? SomeInt() : static_cast<int64_t>(static_cast<uint64_t>(value) + Below(3) - 1);
    arg.sizes.clear();
  } else if (entry != nullptr && i < entry->op->args.size()) {
    arg = SomeArg(file, entry->op->args[i]);
  }
}

void GraphMutator::ChangeTensor(GraphFile& file) {
  if (file.graph.tensors.empty()) return;
  schema::TensorT& tensor = *file.graph.tensors[Below(file.graph.tensors.size())];
  switch (Below(6)) {
    case 0:
      tensor.storage = static_cast<schema::Storage>(Below(4));
      return;
    case 1:
      tensor.dtype = static_cast<schema::DType>(Below(6));
      return;
    case 2:
      tensor.min = SomeInt();
      tensor.max = OneIn(4) || tensor.min > INT64_MAX - 8 ? INT64_MAX : tensor.min + 8;
      return;
    case 3:
      if (tensor.shape.size() < 8) tensor.shape.insert(tensor.shape.begin(), SomeDim());
      break;
    case 4:
      if (!tensor.shape.empty()) EraseAt(tensor.shape, Below(tensor.shape.size()));
      break;
    default:
      if (!tensor.shape.empty()) tensor.shape[Below(tensor.shape.size())] = SomeDim();
      break;
  }
  tensor.sizes.clear();
}

void GraphMutator::ChangeNodes(GraphFile& file) {
  auto& nodes = file.graph.nodes;
  if (nodes.empty()) return;
  const size_t i = Below(nodes.size());
  switch (Below(4)) {
    case 0:
      EraseAt(nodes, i);
      return;
    case 1:
      std::swap(nodes[i], nodes[Below(nodes.size())]);
      return;
    case 2:
      if (nodes.size() < limits_.nodes) nodes.push_back(CopyOf(*nodes[i]));
      return;
    default:  // a node reads the output of another node
      for (const auto& arg : nodes[i]->args) {
        if (!arg->tensors.empty()) arg->tensors[Below(arg->tensors.size())] = SomeTensor(file);
      }
  }
}

void GraphMutator::ChangeInterface(GraphFile& file) {
  auto& inputs = file.graph.inputs;
  auto& outputs = file.graph.outputs;
  switch (Below(7)) {
    case 0:
      AddInput(file);
      return;
    case 1:
      if (!inputs.empty()) {  // an input becomes a constant
        const size_t i = Below(inputs.size());
        const uint32_t tensor = inputs[i];
        EraseAt(inputs, i);
        if (tensor < file.graph.tensors.size()) file.graph.tensors[tensor]->constant = 0;
      }
      return;
    case 2:
      if (!outputs.empty()) EraseAt(outputs, Below(outputs.size()));
      return;
    case 3: {  // a constant becomes an input
      const uint32_t tensor = SomeTensor(file);
      if (file.graph.tensors[tensor]->constant < 0) return;
      file.graph.tensors[tensor]->constant = -1;
      inputs.push_back(tensor);
      return;
    }
    case 4:
      if (!inputs.empty()) {  // an input becomes a state
        auto state = std::make_unique<schema::StateT>();
        const size_t i = Below(inputs.size());
        state->tensor = inputs[i];
        state->update = SomeTensor(file);
        EraseAt(inputs, i);
        file.graph.states.push_back(std::move(state));
      }
      return;
    default:
      outputs.push_back(SomeTensor(file));
  }
}

// Makes a dimension of an input a symbol. The shapes computed from it are inferred.
void GraphMutator::ChangeSizes(GraphFile& file) {
  auto& graph = file.graph;
  if (graph.inputs.empty() || graph.symbols.size() >= 16) return;
  const uint32_t input = graph.inputs[Below(graph.inputs.size())];
  if (input >= graph.tensors.size() || graph.tensors[input]->shape.empty()) return;
  schema::TensorT& tensor = *graph.tensors[input];
  tensor.sizes.resize(tensor.shape.size());
  const size_t dim = Below(tensor.shape.size());
  auto symbol = std::make_unique<schema::SymbolT>();
  symbol->name = "s" + std::to_string(graph.symbols.size());
  symbol->max = static_cast<int64_t>(tensor.shape[dim]);
  symbol->min = static_cast<int64_t>(Below(tensor.shape[dim] + 1));
  auto term = std::make_unique<schema::SizeTermT>();
  term->factor = 1;
  term->symbols = {static_cast<uint32_t>(graph.symbols.size())};
  auto size = std::make_unique<schema::SizeExprT>();
  size->terms.push_back(std::move(term));
  graph.symbols.push_back(std::move(symbol));
  graph.sizes.push_back(std::move(size));
  tensor.sizes[dim] = static_cast<uint32_t>(graph.sizes.size());
  // Often makes an int argument with the same value depend on the symbol.
  for (const auto& node : graph.nodes) {
    for (const auto& arg : node->args) {
      if (arg->kind != ArgKind::Ints || OneIn(2)) continue;
      arg->sizes.resize(arg->ints.size());
      for (size_t i = 0; i < arg->ints.size(); ++i) {
        if (arg->ints[i] == static_cast<int64_t>(tensor.shape[dim]))
          arg->sizes[i] = tensor.sizes[dim];
      }
    }
  }
}

void GraphMutator::DamageField(GraphFile& file) {
  auto& graph = file.graph;
  const auto value = static_cast<uint32_t>(SomeInt());
  switch (Below(8)) {
    case 0:
      if (!graph.inputs.empty()) graph.inputs[Below(graph.inputs.size())] = value;
      return;
    case 1:
      if (!graph.outputs.empty()) graph.outputs[Below(graph.outputs.size())] = value;
      return;
    case 2:
      if (!graph.tensors.empty()) {
        graph.tensors[Below(graph.tensors.size())]->constant = static_cast<int32_t>(value);
      }
      return;
    case 3:
      if (!graph.constants.empty()) {
        graph.constants[Below(graph.constants.size())] =
            schema::Constant(static_cast<uint64_t>(SomeInt()), static_cast<uint64_t>(SomeInt()));
      }
      return;
    case 4:
      if (!graph.tensors.empty()) {
        graph.tensors[Below(graph.tensors.size())]->sizes = {value, kInferredEntry};
      }
      return;
    case 5:
      if (!graph.numbers.empty()) {
        schema::NumberExprT& number = *graph.numbers[Below(graph.numbers.size())];
        number.op = static_cast<schema::NumberOp>(Below(18));
        number.size = static_cast<uint32_t>(Below(graph.sizes.size() + 1));
        number.operands.resize(Below(4), static_cast<uint32_t>(Below(graph.numbers.size() + 1)));
      }
      if (!graph.sizes.empty()) {
        schema::SizeExprT& size = *graph.sizes[Below(graph.sizes.size())];
        size.divisor = SomeInt();
        size.op = static_cast<schema::SizeOp>(Below(4));
        for (const auto& term : size.terms) {
          term->factor = SomeInt();
          if (OneIn(2)) term->sizes = {static_cast<uint32_t>(Below(graph.sizes.size() + 1))};
        }
      }
      return;
    case 6:
      if (!graph.nodes.empty()) graph.nodes[Below(graph.nodes.size())]->op = "aten.unknown";
      return;
    default:
      if (!graph.nodes.empty() && !graph.nodes[0]->args.empty()) {
        graph.nodes[0]->args[Below(graph.nodes[0]->args.size())]->kind =
            static_cast<ArgKind>(Below(9));
      }
  }
}

void GraphMutator::MutateOnce(GraphFile& file) {
  switch (Below(9)) {
    case 0:
    case 1:
      return AddNode(file);
    case 2:
      return ReplaceOp(file);
    case 3:
    case 4:
      return ChangeArg(file);
    case 5:
      return ChangeTensor(file);
    case 6:
      return ChangeNodes(file);
    case 7:
      return ChangeInterface(file);
    default:
      return ChangeSizes(file);
  }
}

void GraphMutator::Mutate(GraphFile& file) {
  for (uint64_t changes = 1 + Below(3); changes > 0; --changes) MutateOnce(file);
  if (!limits_.hostile || !OneIn(12)) {
    Repair(file, index_, limits_.constant_bytes, /*drop_failing=*/!OneIn(6), random_());
  }
  if (limits_.hostile && OneIn(24)) DamageField(file);
}

void GraphMutator::Append(GraphFile& file, const GraphFile& other) {
  const auto offset = static_cast<uint32_t>(file.graph.tensors.size());
  if (offset + other.graph.tensors.size() > limits_.tensors) return;
  for (const auto& tensor : other.graph.tensors) {
    file.graph.tensors.push_back(std::make_unique<schema::TensorT>(*tensor));
    file.graph.tensors.back()->sizes.clear();
  }
  for (const auto& node : other.graph.nodes) {
    if (file.graph.nodes.size() >= limits_.nodes) break;
    file.graph.nodes.push_back(CopyOf(*node));
    for (uint32_t& output : file.graph.nodes.back()->outputs) output += offset;
    for (const auto& arg : file.graph.nodes.back()->args) {
      arg->sizes.clear();
      // Half of its inputs are redirected to tensors of `file`.
      for (uint32_t& tensor : arg->tensors) {
        if (offset == 0 || OneIn(2)) tensor += offset;
      }
    }
  }
  for (uint32_t input : other.graph.inputs) file.graph.inputs.push_back(input + offset);
  for (uint32_t output : other.graph.outputs) file.graph.outputs.push_back(output + offset);
  Repair(file, index_, limits_.constant_bytes, /*drop_failing=*/true, random_());
}

}  // namespace spirloom::fuzz
