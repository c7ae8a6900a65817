#include "runtime/graph/file/node_reader.h"

#include <string>

#include "runtime/base/text.h"

namespace spirloom::graph {
namespace {

constexpr size_t kMaxTensorsPerList = 4096;
constexpr size_t kMaxIntsPerList = 64;

static_assert(static_cast<int>(schema::ArgKind::String) == static_cast<int>(ArgKind::kString));
static_assert(static_cast<int>(schema::ArgKind::MAX) == static_cast<int>(ArgKind::kString));

Status CheckCount(ArgKind kind, const char* items, size_t count, size_t min, size_t max) {
  if (count >= min && count <= max) return Status();
  return InvalidFile("Argument of kind {} has {} {}; expected {}.", Name(kind), count, items,
                     (min == max ? std::to_string(min) : Concat("at most ", max)));
}

}  // namespace

Status NodeReader::ReadArgTensors(const schema::Arg& source, Arg& arg) {
  const bool single = arg.kind == ArgKind::kTensor;
  const size_t count = CountOf(source.tensors());
  SPIRLOOM_TRY(
      CheckCount(arg.kind, "tensors", count, single ? 1 : 0, single ? 1 : kMaxTensorsPerList));
  SPIRLOOM_TRY(budget_.Spend(count, sizeof(uint32_t)));
  for (size_t i = 0; i < count; ++i) {
    const uint32_t tensor = ElementAt(*source.tensors(), i);
    SPIRLOOM_TRY(scope_.CheckIndex(tensor));
    if (!scope_.IsDefined(tensor)) {
      return InvalidFile("{} is read before it is defined. Nodes must be topologically sorted.",
                         DescribeTensor(graph_, tensor));
    }
    arg.tensors.push_back(tensor);
  }
  return Status();
}

Status NodeReader::ReadArgInts(const schema::Arg& source, Arg& arg) {
  const bool list = arg.kind == ArgKind::kInts;
  const size_t count = CountOf(source.ints());
  SPIRLOOM_TRY(CheckCount(arg.kind, "ints", count, list ? 0 : 1, list ? kMaxIntsPerList : 1));
  SPIRLOOM_TRY(budget_.Spend(count, sizeof(int64_t)));
  for (size_t i = 0; i < count; ++i) {
    arg.ints.push_back(ElementAt(*source.ints(), i));
  }
  if (arg.kind == ArgKind::kBool && arg.ints[0] != 0 && arg.ints[0] != 1) {
    return InvalidFile("Value of a bool is {}; expected 0 or 1.", arg.ints[0]);
  }
  if (arg.kind == ArgKind::kBool) return Status();
  return sizes_.Read(source.sizes(), arg.ints, /*may_be_inferred=*/false, arg.sizes);
}

Status NodeReader::ReadArg(const schema::Arg& source, Arg& arg) {
  if (source.kind() > schema::ArgKind::MAX) {
    return InvalidFile("Argument kind is {}; expected 0 to 7.", static_cast<int>(source.kind()));
  }
  arg.kind = static_cast<ArgKind>(source.kind());
  switch (arg.kind) {
    case ArgKind::kNone:
      return Status();
    case ArgKind::kTensor:
    case ArgKind::kTensorList:
      return ReadArgTensors(source, arg);
    case ArgKind::kInt:
    case ArgKind::kBool:
    case ArgKind::kInts:
      return ReadArgInts(source, arg);
    case ArgKind::kFloat:
      arg.f = source.float_value();
      return sizes_.ReadNumber(source.number(), arg);
    case ArgKind::kString:
      return budget_.ReadString(source.string_value(), arg.s, "the string");
  }
  return Status();
}

Status NodeReader::ReadArgs(const schema::Node& source, Node& node) {
  const size_t count = CountOf(source.args());
  SPIRLOOM_TRY(budget_.Spend(count, sizeof(Arg)));
  node.args.resize(count);
  for (size_t i = 0; i < count; ++i) {
    const auto* arg = source.args()->Get(static_cast<flatbuffers::uoffset_t>(i));
    SPIRLOOM_TRY_WHILE(ReadArg(*arg, node.args[i]), "reading argument {}", i);
  }
  return Status();
}

Status NodeReader::ReadOutputs(const schema::Node& source, Node& node) {
  const size_t count = CountOf(source.outputs());
  SPIRLOOM_TRY(budget_.Spend(count, sizeof(uint32_t)));
  for (size_t i = 0; i < count; ++i) {
    const uint32_t tensor = ElementAt(*source.outputs(), i);
    SPIRLOOM_TRY(scope_.CheckIndex(tensor));
    if (scope_.IsDefined(tensor)) {
      return InvalidFile("{} is already an input, a constant or another node's output.",
                         DescribeTensor(graph_, tensor));
    }
    scope_.Define(tensor);
    node.outputs.push_back(tensor);
  }
  return Status();
}

Status NodeReader::Read(const schema::Node& source, Node& node) {
  SPIRLOOM_TRY(budget_.ReadString(source.op(), node.op, "the op"));
  SPIRLOOM_TRY(budget_.ReadString(source.name(), node.name, "the name"));
  std::string location;
  SPIRLOOM_TRY(budget_.ReadString(source.source(), location, "the source"));
  if (!location.empty()) node.name = Concat(node.name, " at ", location);
  if (node.op.empty()) return InvalidFile("The name of the operator is empty.");
  SPIRLOOM_TRY(ReadArgs(source, node));
  return ReadOutputs(source, node);
}

}  // namespace spirloom::graph
