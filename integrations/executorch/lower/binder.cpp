#include "integrations/executorch/lower/binder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "runtime/base/error.h"

namespace spirloom::delegate {
namespace {

using schema::ArgKind;

bool IsAbsent(const Value& value) { return std::holds_alternative<std::monostate>(value); }

// Whether the value is the one that a spec asks for. Ints and floats are numbers.
bool Equals(const Value& value, const Constant& wanted) {
  if (std::holds_alternative<std::monostate>(wanted)) return IsAbsent(value);
  if (const auto* flag = std::get_if<bool>(&wanted)) {
    return std::holds_alternative<bool>(value) && std::get<bool>(value) == *flag;
  }
  if (const auto* text = std::get_if<std::string>(&wanted)) {
    return std::holds_alternative<std::string>(value) && std::get<std::string>(value) == *text;
  }
  if (const auto* ints = std::get_if<std::vector<int64_t>>(&wanted)) {
    const auto* items = std::get_if<std::vector<int64_t>>(&value);
    return items != nullptr && *items == *ints;
  }
  const auto* whole = std::get_if<int64_t>(&wanted);
  const double number = whole != nullptr ? static_cast<double>(*whole) : std::get<double>(wanted);
  if (const auto* i = std::get_if<int64_t>(&value)) return static_cast<double>(*i) == number;
  const auto* d = std::get_if<double>(&value);
  return d != nullptr && *d == number;
}

// Numbers beyond what a float holds are its infinities: a clamp's "no bound" is a great double.
double AsFloat(double number) {
  constexpr double kMost = std::numeric_limits<float>::max();
  if (std::fabs(number) <= kMost || std::isnan(number)) return number;
  return std::copysign(std::numeric_limits<double>::infinity(), number);
}

schema::ArgT NoArg() {
  schema::ArgT arg;
  arg.kind = ArgKind::None;
  return arg;
}

schema::ArgT ConstantArg(const ArgInfo& arg, const Constant& value) {
  const auto* whole = std::get_if<int64_t>(&value);
  switch (arg.type) {
    case ArgType::kInt:
      return IntArg({whole != nullptr ? *whole : 0, 0});
    case ArgType::kFloat:
    case ArgType::kNumber: {
      const auto* number = std::get_if<double>(&value);
      return FloatArg(number != nullptr  ? *number
                      : whole != nullptr ? static_cast<double>(*whole)
                                         : 0);
    }
    case ArgType::kBool: {
      const auto* flag = std::get_if<bool>(&value);
      return BoolArg(flag != nullptr && *flag);
    }
    case ArgType::kInts: {
      std::vector<SizedInt> ints;
      if (const auto* items = std::get_if<std::vector<int64_t>>(&value)) {
        for (const int64_t item : *items) ints.push_back({item, 0});
      }
      return IntsArg(ints);
    }
    case ArgType::kString: {
      const auto* text = std::get_if<std::string>(&value);
      return TextArg(text != nullptr ? *text : "");
    }
    case ArgType::kTensor:
    case ArgType::kTensors:
      break;
  }
  return NoArg();
}

// Gives what has no value its default. Fails naming an argument that has none.
Status FillDefaults(const OpInfo& op, std::vector<schema::ArgT>& args) {
  for (size_t i = 0; i < args.size(); ++i) {
    const ArgInfo& arg = op.args[i];
    if (args[i].kind != ArgKind::None || arg.optional) continue;
    if (arg.default_of.has_value()) {
      args[i] = args[*arg.default_of];
    } else if (arg.default_value.has_value()) {
      args[i] = ConstantArg(arg, *arg.default_value);
    } else {
      return Error(StatusCode::kUnsupported,
                   {"Argument '", arg.name, "' of ", op.name, " is absent; it has no default."});
    }
  }
  return Status();
}

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

const Service* Binder::FindService(const Call& call) const {
  const auto services = names_.Find(call.name);
  const auto found =
      std::ranges::find_if(services, [&](const Service& each) { return Fits(each, call); });
  return found == services.end() ? nullptr : &*found;
}

Status Binder::Bind(const Call& call) {
  const Service* service = FindService(call);
  if (service == nullptr) {
    if (names_.Find(call.name).empty()) {
      return Error(StatusCode::kNotFound, {Quote(call.name), " is no operator of this library."});
    }
    return Error(StatusCode::kNotFound,
                 {Quote(call.name), " is no operator of this library with these arguments."});
  }
  const OpInfo& op = names_.op(*service);
  std::vector<schema::ArgT> args(op.args.size());
  SPIRLOOM_TRY(Fill(*service, call, args));
  SPIRLOOM_TRY(FillDefaults(op, args));
  SPIRLOOM_TRY_ASSIGN(std::vector<uint32_t> outputs, DeclareResults(op, call));
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

Result<schema::ArgT> Binder::ToArg(const ArgInfo& arg, uint32_t id, const Call& call) {
  const Value& value = values_.value(id);
  if (IsAbsent(value)) return NoArg();  // its default, if it has one
  switch (arg.type) {
    case ArgType::kTensor:
      return ToTensor(id, call);
    case ArgType::kTensors: {
      const auto* list = std::get_if<ValueList>(&value);
      if (list == nullptr) return InvalidFile({DescribeValue(id), " is no list of tensors."});
      std::vector<uint32_t> tensors;
      for (const uint32_t item : list->items) {
        SPIRLOOM_TRY_ASSIGN(const uint32_t tensor, values_.TensorOf(item));
        tensors.push_back(tensor);
      }
      return TensorsArg(tensors);
    }
    case ArgType::kInt: {
      SPIRLOOM_TRY_ASSIGN(const SymValue sym, values_.SymOf(id));
      SPIRLOOM_TRY_ASSIGN(const SizedInt sized, values_.Sized(sym));
      return IntArg(sized);
    }
    case ArgType::kFloat:
    case ArgType::kNumber:
      return ToNumber(id);
    case ArgType::kBool:
      if (const auto* flag = std::get_if<bool>(&value)) return BoolArg(*flag);
      return InvalidFile({DescribeValue(id), " is no bool."});
    case ArgType::kInts:
      return ToInts(arg, id);
    case ArgType::kString:
      if (const auto* text = std::get_if<std::string>(&value)) return TextArg(*text);
      return InvalidFile({DescribeValue(id), " is no text."});
  }
  return NoArg();
}

Result<schema::ArgT> Binder::ToTensor(uint32_t id, const Call& call) {
  const Value& value = values_.value(id);
  if (values_.tensor(id) == nullptr) {
    std::optional<double> number;
    if (const auto* i = std::get_if<int64_t>(&value)) number = static_cast<double>(*i);
    if (const auto* d = std::get_if<double>(&value)) number = AsFloat(*d);
    if (const auto* b = std::get_if<bool>(&value)) number = *b ? 1.0 : 0.0;
    const auto dtype = DTypeOf(call);
    if (!number || !dtype) return InvalidFile({DescribeValue(id), " is no tensor."});
    SPIRLOOM_TRY_ASSIGN(const uint32_t scalar, values_.ScalarOf(*number, *dtype));
    return TensorArg(scalar);
  }
  SPIRLOOM_TRY_ASSIGN(const uint32_t tensor, values_.TensorOf(id));
  return TensorArg(tensor);
}

Result<schema::ArgT> Binder::ToNumber(uint32_t id) {
  const Value& value = values_.value(id);
  if (const auto* number = std::get_if<double>(&value)) return FloatArg(AsFloat(*number));
  if (const auto* whole = std::get_if<int64_t>(&value)) {
    return FloatArg(static_cast<double>(*whole));
  }
  if (const auto* flag = std::get_if<bool>(&value)) return FloatArg(*flag ? 1.0 : 0.0);
  if (std::holds_alternative<SymIntValue>(value)) {
    return Error(StatusCode::kUnsupported,
                 {DescribeValue(id), ", a number that varies from run to run, is a float here."});
  }
  return InvalidFile({DescribeValue(id), " is no number."});
}

Result<schema::ArgT> Binder::ToInts(const ArgInfo& arg, uint32_t id) {
  const Value& value = values_.value(id);
  std::vector<SizedInt> ints;
  if (const auto* items = std::get_if<std::vector<int64_t>>(&value)) {
    for (const int64_t item : *items) ints.push_back({item, 0});
  } else if (const auto* flags = std::get_if<std::vector<bool>>(&value)) {
    // An empty list of the format is one of ints and one of bools.
    for (const bool flag : *flags) ints.push_back({flag ? 1 : 0, 0});
  } else {
    const auto* list = std::get_if<ValueList>(&value);
    const std::span<const uint32_t> ids =
        list != nullptr ? std::span<const uint32_t>(list->items) : std::span(&id, 1);
    for (const uint32_t item : ids) {
      SPIRLOOM_TRY_ASSIGN(const SymValue sym, values_.SymOf(item));
      SPIRLOOM_TRY_ASSIGN(const SizedInt sized, values_.Sized(sym));
      ints.push_back(sized);
    }
  }
  if (arg.length.has_value()) {
    if (ints.empty()) return NoArg();  // PyTorch's way to leave out a list of a fixed length
    if (ints.size() == 1) ints.resize(static_cast<size_t>(*arg.length), ints[0]);
  }
  return IntsArg(ints);
}

Result<schema::ArgT> Binder::SettingArg(const Setting& setting, const OpInfo& op, const Call& call,
                                        const std::vector<schema::ArgT>& args) {
  if (setting.kind == SettingKind::kValue) return ConstantArg(op.args[setting.arg], setting.value);
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
  if (source.kind != ArgKind::Tensor) {
    return InvalidFile({"Argument '", op.args[setting.tensor].name, "' is absent."});
  }
  const uint32_t tensor = source.tensors[0];
  if (setting.kind == SettingKind::kDTypeOf) return TextArg(ShortName(graph_.dtype(tensor)));
  return IntsArg(values_.ShapeOf(tensor, setting.first));
}

Result<std::vector<uint32_t>> Binder::DeclareResults(const OpInfo& op, const Call& call) {
  const std::vector<uint32_t> results = Results(call);
  std::vector<uint32_t> outputs;
  if (results.size() < op.outputs) {
    return InvalidFile(
        {"The call gives ", results.size(), " tensors; ", op.name, " computes ", op.outputs, "."});
  }
  for (size_t i = 0; i < op.outputs; ++i) {
    if (values_.tensor(results[i]) == nullptr) {
      return InvalidFile({DescribeValue(results[i]), ", a result, is no tensor."});
    }
    outputs.push_back(values_.Declare(results[i]));
    SPIRLOOM_TRY(values_.Define(results[i], outputs.back()));
  }
  return outputs;
}

}  // namespace spirloom::delegate
