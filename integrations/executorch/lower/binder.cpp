#include "integrations/executorch/lower/binder.h"

#include <algorithm>
#include <utility>

#include "integrations/executorch/lower/arguments.h"
#include "runtime/base/error.h"

namespace spirloom::delegate {
namespace {

std::string NodeName(const Call& call) { return Concat(call.name, kIdMark, call.node_id); }

}  // namespace

std::vector<uint32_t> Binder::Results(const Call& call) const {
  const Value& result = values_.value(ResultOf(call));
  if (const auto* list = std::get_if<ValueList>(&result)) return list->items;
  return {ResultOf(call)};
}

std::optional<size_t> Binder::RankOf(const Call& call) const {
  for (const uint32_t id : ArgsOf(call)) {
    if (const TensorValue* tensor = values_.tensor(id)) return tensor->shape.size();
  }
  return std::nullopt;
}

std::optional<DType> Binder::DTypeOf(const Call& call) const {
  for (const uint32_t id : ArgsOf(call)) {
    if (const TensorValue* tensor = values_.tensor(id)) return DeviceType(tensor->type);
  }
  return std::nullopt;
}

bool Binder::Matches(const OpMapping& mapping, const Call& call) const {
  static const Value kAbsent;
  if (mapping.rank.has_value() && RankOf(call) != mapping.rank) return false;
  const auto ids = ArgsOf(call);
  for (size_t i = 0; i < std::max(ids.size(), mapping.call_args.size()); ++i) {
    const Value& value = i < ids.size() ? values_.value(ids[i]) : kAbsent;
    if (i >= mapping.call_args.size()) {
      if (!IsAbsent(value)) return false;
    } else if (mapping.call_args[i].kind == CallArgKind::kExact) {
      if (!Equals(value, mapping.call_args[i].value)) return false;
    }
  }
  return true;
}

std::vector<const OpMapping*> Binder::FindMappings(const Call& call) const {
  const auto mappings = names_.Find(call.name);
  std::vector<const OpMapping*> found;
  for (uint32_t part = 0; !mappings.empty() && part < mappings.front().parts; ++part) {
    const auto mapping = std::ranges::find_if(
        mappings, [&](const OpMapping& each) { return each.part == part && Matches(each, call); });
    if (mapping == mappings.end()) return {};
    found.push_back(&*mapping);
  }
  return found;
}

Status Binder::Bind(const Call& call) {
  const std::vector<const OpMapping*> mappings = FindMappings(call);
  if (mappings.empty()) {
    const bool is_known = !names_.Find(call.name).empty();
    return Error(StatusCode::kNotFound, "Operator {} is not in the library{}", Quote(call.name),
                 is_known ? " for these arguments." : ".");
  }
  for (const OpMapping* mapping : mappings) SPIRLOOM_TRY(BindPart(*mapping, call));
  return Status();
}

Status Binder::BindPart(const OpMapping& mapping, const Call& call) {
  const OpInfo& op = names_.op(mapping);
  std::vector<schema::ArgT> args(op.args.size());
  SPIRLOOM_TRY(Fill(mapping, call, args));
  SPIRLOOM_TRY(FillDefaults(op, args));
  SPIRLOOM_TRY_ASSIGN(std::vector<uint32_t> outputs,
                      mapping.mutated_arg ? DeclareMutation(mapping, call)
                                          : DeclareResults(op, call, mapping.result));
  graph_.AddNode(op.name, NodeName(call), std::move(args), std::move(outputs));
  return Status();
}

Status Binder::Add(const Call& call, std::string_view name,
                   std::map<std::string, schema::ArgT> named_args, std::vector<uint32_t> outputs) {
  const OpInfo* op = names_.FindOp(name);
  if (op == nullptr) {
    return Error(StatusCode::kNotFound, "Operator {}, required by {}, is not in the library.", name,
                 Quote(call.name));
  }
  std::vector<schema::ArgT> args(op->args.size());
  for (size_t i = 0; i < args.size(); ++i) {
    const auto found = named_args.find(op->args[i].name);
    if (found != named_args.end()) args[i] = std::move(found->second);
  }
  SPIRLOOM_TRY(FillDefaults(*op, args));
  graph_.AddNode(op->name, NodeName(call), std::move(args), std::move(outputs));
  return Status();
}

Status Binder::Fill(const OpMapping& mapping, const Call& call, std::vector<schema::ArgT>& args) {
  const OpInfo& op = names_.op(mapping);
  const auto ids = ArgsOf(call);
  for (size_t i = 0; i < std::min(ids.size(), mapping.call_args.size()); ++i) {
    SPIRLOOM_TRY_WHILE(SetArg(mapping.call_args[i], op, ids[i], call, args), "reading argument {}",
                       i);
  }
  for (const ArgBinding& binding : mapping.bindings) {
    SPIRLOOM_TRY_ASSIGN(args[binding.arg], BoundArg(binding, op, call, args));
  }
  return Status();
}

Status Binder::SetArg(const CallArg& call_arg, const OpInfo& op, uint32_t id, const Call& call,
                      std::vector<schema::ArgT>& args) {
  if (call_arg.kind == CallArgKind::kArg) {
    SPIRLOOM_TRY_ASSIGN(args[call_arg.args[0]], ToArg(op.args[call_arg.args[0]], id, call));
    return Status();
  }
  const Value& value = values_.value(id);
  if (call_arg.kind != CallArgKind::kList || IsAbsent(value)) return Status();
  const auto* doubles = std::get_if<std::vector<double>>(&value);
  const auto* ints = std::get_if<std::vector<int64_t>>(&value);
  const size_t count = doubles != nullptr ? doubles->size() : ints != nullptr ? ints->size() : 0;
  if (count != call_arg.args.size()) {
    return Error(StatusCode::kUnsupported, "{} is not a list of {} ints or floats.",
                 DescribeValue(id), call_arg.args.size());
  }
  for (size_t i = 0; i < count; ++i) {
    const Constant element = doubles != nullptr ? Constant((*doubles)[i]) : Constant((*ints)[i]);
    args[call_arg.args[i]] = ConstantArg(op.args[call_arg.args[i]], element);
  }
  return Status();
}

Result<schema::ArgT> Binder::BoundArg(const ArgBinding& binding, const OpInfo& op, const Call& call,
                                      const std::vector<schema::ArgT>& args) {
  if (binding.kind == ArgBindingKind::kValue) return ValueArg(op.args[binding.arg], binding.value);
  if (binding.of_output) {
    const std::vector<uint32_t> results = Results(call);
    const TensorValue* tensor =
        binding.tensor < results.size() ? values_.tensor(results[binding.tensor]) : nullptr;
    if (tensor == nullptr) return InvalidFile("The result of the call is not a tensor.");
    if (binding.kind == ArgBindingKind::kDTypeOf)
      return TextArg(ShortName(DeviceType(tensor->type)));
    std::vector<SizedInt> sizes;
    for (size_t d = binding.first; d < tensor->shape.size(); ++d) {
      sizes.push_back({tensor->shape[d], 0});
    }
    if (!sizes.empty()) values_.RequireFixedSizes(call.name);
    return IntsArg(sizes);
  }
  const schema::ArgT& source = args[binding.tensor];
  if (source.kind != schema::ArgKind::Tensor) {
    return InvalidFile("Argument '{}' is missing.", op.args[binding.tensor].name);
  }
  const uint32_t tensor = source.tensors[0];
  if (binding.kind == ArgBindingKind::kDTypeOf) return TextArg(ShortName(graph_.dtype(tensor)));
  return IntsArg(values_.ShapeOf(tensor, binding.first));
}

// A scalar bound to a tensor argument of a fixed dtype becomes a tensor [1].
Result<schema::ArgT> Binder::ValueArg(const ArgInfo& arg, const Constant& value) {
  if (arg.type != ArgType::kTensor) return ConstantArg(arg, value);
  const auto* integer = std::get_if<int64_t>(&value);
  const auto* value_as_double = std::get_if<double>(&value);
  if (!arg.dtype || (integer == nullptr && value_as_double == nullptr)) return NoArg();
  const double element = integer != nullptr ? static_cast<double>(*integer) : *value_as_double;
  SPIRLOOM_TRY_ASSIGN(const uint32_t tensor, values_.ScalarOf(element, *arg.dtype, Shape{1}));
  return TensorArg(tensor);
}

Result<std::vector<uint32_t>> Binder::DeclareResults(const OpInfo& op, const Call& call,
                                                     uint32_t first) {
  const std::vector<uint32_t> results = Results(call);
  std::vector<uint32_t> outputs;
  if (results.size() < first + op.outputs.size()) {
    return InvalidFile("The call has {} results; {} computes {}.", results.size(), op.name,
                       first + op.outputs.size());
  }
  for (size_t i = first; i < first + op.outputs.size(); ++i) {
    if (values_.tensor(results[i]) == nullptr) {
      return InvalidFile("{}, a result, is not a tensor.", DescribeValue(results[i]));
    }
    outputs.push_back(DeclareResult(results[i], op.outputs[i - first]));
    SPIRLOOM_TRY(values_.Define(results[i], outputs.back()));
  }
  return outputs;
}

// In programs of fp16, an op may still compute fp32: scales for example.
uint32_t Binder::DeclareResult(uint32_t id, std::optional<DType> fixed) {
  const TensorValue& value = *values_.tensor(id);
  const DType declared = DeviceType(value.type);
  if (!fixed || *fixed == declared || !IsFloat(*fixed) || !IsFloat(declared)) {
    return values_.Declare(id);
  }
  return graph_.AddTensor(DescribeValue(id), *fixed, value.shape);
}

Result<std::vector<uint32_t>> Binder::DeclareMutation(const OpMapping& mapping, const Call& call) {
  const size_t call_arg = MutatedArg(mapping).value_or(call.args.size());
  if (call_arg >= ArgsOf(call).size())
    return InvalidFile("The call lacks the argument that it updates in place.");
  const uint32_t id = call.args[call_arg];
  if (!values_.is_state(id)) {
    return Error(StatusCode::kUnsupported,
                 "{}, which the call updates in place, is not a buffer of the delegate but an "
                 "input or a computed value. Register it as a buffer of the module.",
                 DescribeValue(id));
  }
  const std::vector<uint32_t> outputs = {values_.Declare(id)};
  SPIRLOOM_TRY(values_.Define(id, outputs[0]));
  return outputs;
}

}  // namespace spirloom::delegate
