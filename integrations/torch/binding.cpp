#include "integrations/torch/binding.h"

#include <ATen/core/jit_type.h>

#include <algorithm>
#include <iterator>
#include <string_view>

namespace spirloom::pytorch {
namespace {

const c10::Type& WithoutOptional(const c10::Type& type) {
  return type.kind() == c10::TypeKind::OptionalType ? *type.containedType(0) : type;
}

bool IsListOf(const c10::Type& type, c10::TypeKind element) {
  return type.kind() == c10::TypeKind::ListType && type.containedType(0)->kind() == element;
}

// Whether values of PyTorch's type can be the spec's argument. A number may be a tensor with one
// element.
bool IsCompatible(const c10::Type& given, SpecType expected) {
  const c10::Type& type = WithoutOptional(given);
  const c10::TypeKind kind = type.kind();
  const bool is_int = kind == c10::TypeKind::IntType || kind == c10::TypeKind::SymIntType;
  switch (expected) {
    case SpecType::kTensor:
      return kind == c10::TypeKind::TensorType || kind == c10::TypeKind::NumberType;
    case SpecType::kTensorList:
      return IsListOf(type, c10::TypeKind::TensorType);
    case SpecType::kInt:
      return is_int;
    case SpecType::kFloat:
      return is_int || kind == c10::TypeKind::FloatType || kind == c10::TypeKind::NumberType;
    case SpecType::kBool:
      return kind == c10::TypeKind::BoolType;
    case SpecType::kInts:
      return is_int || IsListOf(type, c10::TypeKind::IntType) ||
             IsListOf(type, c10::TypeKind::SymIntType);
    case SpecType::kString:
      return kind == c10::TypeKind::StringType;
    case SpecType::kIndex:
    case SpecType::kMask:
      return kind == c10::TypeKind::TensorType;
  }
  return false;
}

bool IsWritten(const c10::Argument& argument) {
  return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
}

bool IsNewTensor(const c10::Argument& result) {
  return result.type()->kind() == c10::TypeKind::TensorType && result.alias_info() == nullptr;
}

// None for results that are views, or that are written in another way than CallForm has.
std::optional<CallForm> FormOf(const c10::FunctionSchema& schema, size_t results) {
  const std::vector<c10::Argument>& arguments = schema.arguments();
  const auto written = std::ranges::count_if(arguments, IsWritten);
  if (schema.returns().size() != results) return std::nullopt;
  if (written == 0) {
    if (!std::ranges::all_of(schema.returns(), IsNewTensor)) return std::nullopt;
    return CallForm::kFunctional;
  }
  if (written != 1 || results != 1) return std::nullopt;
  if (schema.returns()[0].type()->kind() != c10::TypeKind::TensorType) return std::nullopt;
  if (IsWritten(arguments.front())) return CallForm::kInPlace;
  if (IsWritten(arguments.back()) && arguments.back().is_out()) return CallForm::kOut;
  return std::nullopt;
}

// Of `args`, the index for the argument of PyTorch at `position`: that of the same name, or else
// the one at the position if no argument of PyTorch has its name.
int Find(const c10::FunctionSchema& schema, size_t position,
         const std::vector<SpecArgument>& args) {
  const c10::Argument& argument = schema.arguments()[position];
  const auto named = std::ranges::find(args, argument.name(), &SpecArgument::name);
  if (named != args.end()) return static_cast<int>(named - args.begin());
  if (argument.kwarg_only() || position >= args.size()) return Binding::kUnbound;
  const SpecArgument& spec = args[position];
  const bool is_other = schema.argumentIndexWithName(spec.name).has_value() ||
                        !IsCompatible(*argument.type(), spec.type);
  return is_other ? Binding::kUnbound : static_cast<int>(position);
}

}  // namespace

bool ChangesNothing(const std::string& name, const c10::IValue& value) {
  // Results of a sort are sorted and stable; a padding index and sparse gradients are for backward
  // passes.
  static constexpr std::string_view kIgnored[] = {
      "sorted",      "stable",   "padding_idx",   "scale_grad_by_freq", "sparse",
      "sparse_grad", "momentum", "cudnn_enabled", "cudnn_enable",       "enable_gqa"};
  if (std::ranges::find(kIgnored, name) != std::end(kIgnored)) return true;
  return (name == "half_to_float" || name == "training") && value.isBool() && !value.toBool();
}

std::optional<Binding> Bind(const c10::FunctionSchema& schema, const OperatorRow& row) {
  const std::optional<CallForm> form = FormOf(schema, row.results);
  if (!form) return std::nullopt;
  Binding binding{.form = *form, .arguments = {}};
  std::vector<bool> bound(row.arguments.size(), false);
  const size_t count = schema.arguments().size() - (*form == CallForm::kOut ? 1 : 0);
  for (size_t i = 0; i < count; ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    const int index = Find(schema, i, row.arguments);
    binding.arguments.push_back(index);
    if (index == Binding::kUnbound) continue;
    const auto spec = static_cast<size_t>(index);
    if (bound[spec] || !IsCompatible(*argument.type(), row.arguments[spec].type)) {
      return std::nullopt;
    }
    bound[spec] = true;
  }
  for (size_t i = 0; i < bound.size(); ++i) {
    const SpecArgument& spec = row.arguments[i];
    const bool is_required = !spec.has_default && !spec.optional && spec.default_of < 0;
    if (!bound[i] && is_required) return std::nullopt;
  }
  return binding;
}

}  // namespace spirloom::pytorch
