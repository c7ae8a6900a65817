// Signatures of operators, from their registry.
#include <algorithm>
#include <iterator>

#include "runtime/ops/registry.h"
#include "runtime/session/runtime_state.h"
#include "spirloom/stream.h"

namespace spirloom {
namespace {

using Kind = StreamArgument::Kind;

Kind KindOf(ops::ArgType type) {
  switch (type) {
    case ops::ArgType::kTensor:
      return Kind::kTensor;
    case ops::ArgType::kTensorList:
      return Kind::kTensorList;
    case ops::ArgType::kInt:
      return Kind::kInt;
    case ops::ArgType::kFloat:
      return Kind::kFloat;
    case ops::ArgType::kBool:
      return Kind::kBool;
    case ops::ArgType::kInts:
      return Kind::kInts;
    case ops::ArgType::kString:
      return Kind::kString;
  }
  return Kind::kNone;
}

OperatorArgument ArgumentOf(const ops::ArgInfo& info) {
  const ops::ArgDefault& value = info.default_value;
  OperatorArgument argument;
  argument.name = info.name;
  argument.kind = KindOf(info.type);
  argument.is_optional = info.optional;
  if (value.kind == ops::ArgDefault::Kind::kArgument) {
    argument.default_of = static_cast<int32_t>(value.argument);
  } else if (value.kind == ops::ArgDefault::Kind::kValue) {
    argument.default_value.kind = argument.kind;
    argument.default_value.i = value.i;
    argument.default_value.f = value.f;
    argument.default_value.ints = value.ints;
    argument.default_value.s = value.s;
  }
  return argument;
}

}  // namespace

std::vector<OperatorSignature> SignaturesOf(const Runtime& runtime) {
  std::vector<OperatorSignature> signatures;
  for (const ops::OpEntry& entry : runtime.state()->index.ops()) {
    const ops::OpInfo& op = *entry.op;
    OperatorSignature& signature = signatures.emplace_back();
    signature.name = op.name;
    signature.short_name = op.short_name;
    signature.result_count = op.outputs.size();
    std::ranges::transform(op.args, std::back_inserter(signature.arguments), ArgumentOf);
  }
  return signatures;
}

}  // namespace spirloom
