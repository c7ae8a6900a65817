#include "integrations/executorch/lower/binder.h"

#include <algorithm>
#include <utility>

#include "integrations/executorch/lower/arguments.h"
#include "runtime/base/error.h"

namespace spirloom::delegate {
namespace {

std::string NodeName(const Call& call) { return Concat({call.name, kIdMark, call.node_id}); }

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

bool Binder::Fits(const Service& service, const Call& call) const {
  if (service.rank.has_value() && RankOf(call) != service.rank) return false;
  const auto ids = ArgsOf(call);
  for (size_t i = 0; i < std::max(ids.size(), service.places.size()); ++i) {
    const Value& value = i < ids.size() ? values_.value(ids[i]) : Value();
    if (i >= service.places.size()) {
      if (!IsAbsent(value)) return false;
    } else if (service.places[i].kind == PlaceKind::kExactly) {
      if (!Equals(value, service.places[i].value)) return false;
    }
  }
  return true;
}

std::vector<const Service*> Binder::FindServices(const Call& call) const {
  const auto services = names_.Find(call.name);
  std::vector<const Service*> found;
  for (uint32_t part = 0; !services.empty() && part < services.front().parts; ++part) {
    const auto service = std::ranges::find_if(
        services, [&](const Service& each) { return each.part == part && Fits(each, call); });
    if (service == services.end()) return {};
    found.push_back(&*service);
  }
  return found;
}

Status Binder::Bind(const Call& call) {
  const std::vector<const Service*> services = FindServices(call);
  if (services.empty()) {
    const bool is_known = !names_.Find(call.name).empty();
    return Error(StatusCode::kNotFound, {Quote(call.name), " is no operator of this library",
                                         is_known ? " with these arguments." : "."});
  }
  for (const Service* service : services) SPIRLOOM_TRY(BindPart(*service, call));
  return Status();
}

Status Binder::BindPart(const Service& service, const Call& call) {
  const OpInfo& op = names_.op(service);
  std::vector<schema::ArgT> args(op.args.size());
  SPIRLOOM_TRY(Fill(service, call, args));
  SPIRLOOM_TRY(FillDefaults(op, args));
  SPIRLOOM_TRY_ASSIGN(
      std::vector<uint32_t> outputs,
      service.changed ? DeclareChange(service, call) : DeclareResults(op, call, service.result));
  graph_.AddNode(op.name, NodeName(call), std::move(args), std::move(outputs));
  return Status();
}

Status Binder::Add(const Call& call, std::string_view name,
                   std::map<std::string, schema::ArgT> given, std::vector<uint32_t> outputs) {
  const OpInfo* op = names_.FindOp(name);
  if (op == nullptr) {
    return Error(StatusCode::kNotFound,
                 {Quote(call.name), " takes ", name, ", which is not in this library."});
  }
  std::vector<schema::ArgT> args(op->args.size());
  for (size_t i = 0; i < args.size(); ++i) {
    const auto found = given.find(op->args[i].name);
    if (found != given.end()) args[i] = std::move(found->second);
  }
  SPIRLOOM_TRY(FillDefaults(*op, args));
  graph_.AddNode(op->name, NodeName(call), std::move(args), std::move(outputs));
  return Status();
}

Status Binder::Fill(const Service& service, const Call& call, std::vector<schema::ArgT>& args) {
  const OpInfo& op = names_.op(service);
  const auto ids = ArgsOf(call);
  for (size_t i = 0; i < std::min(ids.size(), service.places.size()); ++i) {
    SPIRLOOM_TRY_WHILE(SetPlace(service.places[i], op, ids[i], call, args),
                       {"reading argument ", i});
  }
  for (const Setting& setting : service.settings) {
    SPIRLOOM_TRY_ASSIGN(args[setting.arg], SettingArg(setting, op, call, args));
  }
  return Status();
}

Status Binder::SetPlace(const Place& place, const OpInfo& op, uint32_t id, const Call& call,
                        std::vector<schema::ArgT>& args) {
  if (place.kind == PlaceKind::kArg) {
    SPIRLOOM_TRY_ASSIGN(args[place.args[0]], ToArg(op.args[place.args[0]], id, call));
    return Status();
  }
  const Value& value = values_.value(id);
  if (place.kind != PlaceKind::kList || IsAbsent(value)) return Status();
  const auto* doubles = std::get_if<std::vector<double>>(&value);
  const auto* ints = std::get_if<std::vector<int64_t>>(&value);
  const size_t count = doubles != nullptr ? doubles->size() : ints != nullptr ? ints->size() : 0;
  if (count != place.args.size()) {
    return Error(StatusCode::kUnsupported,
                 {DescribeValue(id), " is no list of ", place.args.size(), " numbers."});
  }
  for (size_t i = 0; i < count; ++i) {
    const Constant element = doubles != nullptr ? Constant((*doubles)[i]) : Constant((*ints)[i]);
    args[place.args[i]] = ConstantArg(op.args[place.args[i]], element);
  }
  return Status();
}

Result<schema::ArgT> Binder::SettingArg(const Setting& setting, const OpInfo& op, const Call& call,
                                        const std::vector<schema::ArgT>& args) {
  if (setting.kind == SettingKind::kValue) return ValueArg(op.args[setting.arg], setting.value);
  if (setting.of_output) {
    const std::vector<uint32_t> results = Results(call);
    const TensorValue* tensor =
        setting.tensor < results.size() ? values_.tensor(results[setting.tensor]) : nullptr;
    if (tensor == nullptr) return InvalidFile({"The call gives no tensor."});
    if (setting.kind == SettingKind::kDTypeOf) return TextArg(ShortName(DeviceType(tensor->type)));
    std::vector<SizedInt> sizes;
    for (size_t d = setting.first; d < tensor->shape.size(); ++d) {
      sizes.push_back({tensor->shape[d], 0});
    }
    if (!sizes.empty()) values_.Fix(call.name);
    return IntsArg(sizes);
  }
  const schema::ArgT& source = args[setting.tensor];
  if (source.kind != schema::ArgKind::Tensor) {
    return InvalidFile({"Argument '", op.args[setting.tensor].name, "' is absent."});
  }
  const uint32_t tensor = source.tensors[0];
  if (setting.kind == SettingKind::kDTypeOf) return TextArg(ShortName(graph_.dtype(tensor)));
  return IntsArg(values_.ShapeOf(tensor, setting.first));
}

// Of a tensor that is a number of its own dtype: a list of one.
Result<schema::ArgT> Binder::ValueArg(const ArgInfo& arg, const Constant& value) {
  if (arg.type != ArgType::kTensor) return ConstantArg(arg, value);
  const auto* whole = std::get_if<int64_t>(&value);
  const auto* number = std::get_if<double>(&value);
  if (!arg.dtype || (whole == nullptr && number == nullptr)) return NoArg();
  const double element = whole != nullptr ? static_cast<double>(*whole) : *number;
  SPIRLOOM_TRY_ASSIGN(const uint32_t tensor, values_.ScalarOf(element, *arg.dtype, Shape{1}));
  return TensorArg(tensor);
}

Result<std::vector<uint32_t>> Binder::DeclareResults(const OpInfo& op, const Call& call,
                                                     uint32_t first) {
  const std::vector<uint32_t> results = Results(call);
  std::vector<uint32_t> outputs;
  if (results.size() < first + op.outputs) {
    return InvalidFile({"The call gives ", results.size(), " tensors; ", op.name, " computes ",
                        first + op.outputs, "."});
  }
  for (size_t i = first; i < first + op.outputs; ++i) {
    if (values_.tensor(results[i]) == nullptr) {
      return InvalidFile({DescribeValue(results[i]), ", a result, is no tensor."});
    }
    outputs.push_back(values_.Declare(results[i]));
    SPIRLOOM_TRY(values_.Define(results[i], outputs.back()));
  }
  return outputs;
}

Result<std::vector<uint32_t>> Binder::DeclareChange(const Service& service, const Call& call) {
  const size_t place = ChangedPlace(service).value_or(call.args.size());
  if (place >= ArgsOf(call).size()) return InvalidFile({"The call lacks what it changes."});
  const uint32_t id = call.args[place];
  if (!values_.is_state(id)) {
    return Error(
        StatusCode::kUnsupported,
        {DescribeValue(id),
         ", which the call changes, is no buffer of the delegate: it is given or computed. "
         "Make it a buffer of the module."});
  }
  const std::vector<uint32_t> outputs = {values_.Declare(id)};
  SPIRLOOM_TRY(values_.Define(id, outputs[0]));
  return outputs;
}

}  // namespace spirloom::delegate
