#include "tests/support/graph_file_builder.h"

#include <string_view>
#include <utility>

#include "schema/graph_generated.h"

namespace spirloom::graph {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

Offset<schema::Arg> WriteArg(FlatBufferBuilder& builder, const Arg& arg) {
  const auto tensors = builder.CreateVector(arg.tensors);
  const auto ints = builder.CreateVector(arg.ints);
  const auto text = builder.CreateString(arg.s);
  const auto sizes = builder.CreateVector(arg.sizes);
  return schema::CreateArg(builder, static_cast<schema::ArgKind>(arg.kind), tensors, ints, arg.f,
                           text, sizes, arg.number == kFixedSize ? 0 : arg.number);
}

Offset<schema::Node> WriteNode(FlatBufferBuilder& builder, const FileNode& node) {
  std::vector<Offset<schema::Arg>> args;
  for (const Arg& arg : node.args) args.push_back(WriteArg(builder, arg));
  const auto op = builder.CreateString(node.op);
  const auto arg_vector = builder.CreateVector(args);
  const auto outputs = builder.CreateVector(node.outputs);
  const auto name = builder.CreateString(node.name);
  const auto source = node.source.empty() ? 0 : builder.CreateString(node.source);
  return schema::CreateNode(builder, op, arg_vector, outputs, name, source);
}

Offset<schema::Tensor> WriteTensor(FlatBufferBuilder& builder, const FileTensor& tensor) {
  const auto name = builder.CreateString(tensor.name);
  const auto shape = builder.CreateVector(tensor.shape);
  const auto sizes = builder.CreateVector(tensor.sizes);
  return schema::CreateTensor(builder, name, static_cast<schema::DType>(tensor.dtype), shape,
                              static_cast<schema::Storage>(tensor.storage), tensor.constant,
                              tensor.min, tensor.max, sizes);
}

Offset<schema::Symbol> WriteSymbol(FlatBufferBuilder& builder, const Symbol& symbol) {
  return schema::CreateSymbol(builder, builder.CreateString(symbol.name), symbol.min, symbol.max);
}

Offset<schema::SizeExpr> WriteSize(FlatBufferBuilder& builder, const SizeExpr& size) {
  std::vector<Offset<schema::SizeTerm>> terms;
  for (const SizeTerm& term : size.terms) {
    terms.push_back(schema::CreateSizeTerm(builder, term.factor, builder.CreateVector(term.symbols),
                                           builder.CreateVector(term.sizes)));
  }
  return schema::CreateSizeExpr(builder, builder.CreateVector(terms), size.divisor,
                                static_cast<schema::SizeOp>(size.op));
}

Offset<schema::NumberExpr> WriteNumber(FlatBufferBuilder& builder, const NumberExpr& number) {
  return schema::CreateNumberExpr(builder, static_cast<schema::NumberOp>(number.op), number.value,
                                  number.size, builder.CreateVector(number.operands));
}

Arg Make(ArgKind kind) {
  Arg arg;
  arg.kind = kind;
  return arg;
}

// Writes the graph and its further methods.
Offset<schema::Graph> WriteGraph(FlatBufferBuilder& builder, const FileGraph& file) {
  std::vector<Offset<schema::Graph>> method_offsets;
  for (const FileGraph& method : file.methods) {
    method_offsets.push_back(WriteGraph(builder, method));
  }
  const auto method_vector = file.methods.empty() ? 0 : builder.CreateVector(method_offsets);
  const auto name = file.method.empty() ? 0 : builder.CreateString(file.method);
  std::vector<Offset<schema::Tensor>> tensor_offsets;
  for (const FileTensor& tensor : file.tensors)
    tensor_offsets.push_back(WriteTensor(builder, tensor));
  std::vector<Offset<schema::Node>> node_offsets;
  for (const FileNode& node : file.nodes) node_offsets.push_back(WriteNode(builder, node));
  std::vector<schema::Constant> structs;
  for (const FileConstant& constant : file.constants)
    structs.emplace_back(constant.offset, constant.size);
  const auto tensor_vector = builder.CreateVector(tensor_offsets);
  const auto constant_vector = builder.CreateVectorOfStructs(structs);
  const auto node_vector = builder.CreateVector(node_offsets);
  const auto input_vector = builder.CreateVector(file.inputs);
  const auto output_vector = builder.CreateVector(file.outputs);
  std::vector<Offset<schema::Symbol>> symbol_offsets;
  for (const Symbol& symbol : file.symbols) symbol_offsets.push_back(WriteSymbol(builder, symbol));
  std::vector<Offset<schema::SizeExpr>> size_offsets;
  for (const SizeExpr& size : file.sizes) size_offsets.push_back(WriteSize(builder, size));
  const auto symbol_vector = builder.CreateVector(symbol_offsets);
  const auto size_vector = builder.CreateVector(size_offsets);
  std::vector<Offset<schema::NumberExpr>> number_offsets;
  for (const NumberExpr& number : file.numbers) {
    number_offsets.push_back(WriteNumber(builder, number));
  }
  const auto number_vector = builder.CreateVector(number_offsets);
  std::vector<Offset<schema::State>> state_offsets;
  for (const FileState& state : file.states) {
    state_offsets.push_back(
        schema::CreateState(builder, state.tensor, state.update, state.initial));
  }
  const auto state_vector = builder.CreateVector(state_offsets);
  Offset<flatbuffers::String> file_name;
  if (!file.constants_file.empty()) file_name = builder.CreateString(file.constants_file);
  Offset<flatbuffers::Vector<uint8_t>> digest;
  if (file.constants_digest.has_value()) {
    digest = builder.CreateVector(file.constants_digest->data(), file.constants_digest->size());
  }
  std::vector<Offset<schema::Attachment>> attachment_offsets;
  for (const auto& [attachment_name, data] : file.attachments) {
    const auto attached = builder.CreateString(attachment_name);
    const auto bytes =
        builder.CreateVector(reinterpret_cast<const uint8_t*>(data.data()), data.size());
    attachment_offsets.push_back(schema::CreateAttachment(builder, attached, bytes));
  }
  const auto attachments = file.attachments.empty() ? 0 : builder.CreateVector(attachment_offsets);
  std::vector<Offset<schema::IntInput>> int_offsets;
  for (const IntInput& input : file.int_inputs) {
    const auto input_name = builder.CreateString(input.name);
    int_offsets.push_back(
        schema::CreateIntInput(builder, input_name, input.symbol, input.position));
  }
  const auto int_inputs = file.int_inputs.empty() ? 0 : builder.CreateVector(int_offsets);
  const auto features =
      file.required_features.empty() ? 0 : builder.CreateVectorOfStrings(file.required_features);
  return schema::CreateGraph(builder, file.version, tensor_vector, constant_vector, node_vector,
                             input_vector, output_vector, file_name, /*producer=*/0, symbol_vector,
                             size_vector, digest, state_vector, name, method_vector, attachments,
                             /*guards=*/0, number_vector, features, int_inputs);
}

}  // namespace

std::vector<std::byte> FileGraph::Write() const {
  FlatBufferBuilder builder;
  schema::FinishSizePrefixedGraphBuffer(builder, WriteGraph(builder, *this));
  const auto* data = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  std::vector<std::byte> file(data, data + builder.GetSize());
  file.resize((file.size() + 63) / 64 * 64);
  if (constants_file.empty()) {
    file.insert(file.end(), constant_section.begin(), constant_section.end());
  }
  return file;
}

std::vector<std::byte> ConstantsFile(std::vector<std::byte> section,
                                     const std::array<uint8_t, 16>& digest) {
  const size_t size = section.size();
  std::vector<std::byte> file = std::move(section);
  for (const char letter : std::string_view("SLGDATA1")) file.push_back(std::byte(letter));
  for (int i = 0; i < 8; ++i) file.push_back(static_cast<std::byte>(size >> (8 * i)));
  for (const uint8_t byte : digest) file.push_back(std::byte{byte});
  file.resize(size + 64);
  return file;
}

Arg NoneArg() { return Make(ArgKind::kNone); }

Arg TensorArg(uint32_t tensor) {
  Arg arg = Make(ArgKind::kTensor);
  arg.tensors = {tensor};
  return arg;
}

Arg TensorsArg(std::vector<uint32_t> tensors) {
  Arg arg = Make(ArgKind::kTensorList);
  arg.tensors = std::move(tensors);
  return arg;
}

Arg IntArg(int64_t value) {
  Arg arg = Make(ArgKind::kInt);
  arg.ints = {value};
  return arg;
}

Arg FloatArg(double value) {
  Arg arg = Make(ArgKind::kFloat);
  arg.f = value;
  return arg;
}

Arg BoolArg(bool value) {
  Arg arg = Make(ArgKind::kBool);
  arg.ints = {value ? 1 : 0};
  return arg;
}

Arg IntsArg(std::vector<int64_t> values) {
  Arg arg = Make(ArgKind::kInts);
  arg.ints = std::move(values);
  return arg;
}

Arg StringArg(std::string value) {
  Arg arg = Make(ArgKind::kString);
  arg.s = std::move(value);
  return arg;
}

}  // namespace spirloom::graph
