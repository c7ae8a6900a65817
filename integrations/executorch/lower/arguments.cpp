#include "integrations/executorch/lower/arguments.h"

#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "runtime/base/error.h"

namespace spirloom::delegate {

using schema::ArgKind;

bool Equals(const Value& value, const Constant& expected) {
  if (std::holds_alternative<std::monostate>(expected)) return IsAbsent(value);
  if (const auto* flag = std::get_if<bool>(&expected)) {
    return std::holds_alternative<bool>(value) && std::get<bool>(value) == *flag;
  }
  if (const auto* text = std::get_if<std::string>(&expected)) {
    return std::holds_alternative<std::string>(value) && std::get<std::string>(value) == *text;
  }
  if (const auto* ints = std::get_if<std::vector<int64_t>>(&expected)) {
    const auto* items = std::get_if<std::vector<int64_t>>(&value);
    return items != nullptr && *items == *ints;
  }
  const auto* integer = std::get_if<int64_t>(&expected);
  const double expected_value =
      integer != nullptr ? static_cast<double>(*integer) : std::get<double>(expected);
  if (const auto* i = std::get_if<int64_t>(&value))
    return static_cast<double>(*i) == expected_value;
  const auto* d = std::get_if<double>(&value);
  return d != nullptr && *d == expected_value;
}

double AsFloat(double value) {
  constexpr double kMax = std::numeric_limits<float>::max();
  if (std::fabs(value) <= kMax || std::isnan(value)) return value;
  return std::copysign(std::numeric_limits<double>::infinity(), value);
}

schema::ArgT NoArg() {
  schema::ArgT arg;
  arg.kind = ArgKind::None;
  return arg;
}

schema::ArgT ConstantArg(const ArgInfo& arg, const Constant& value) {
  const auto* integer = std::get_if<int64_t>(&value);
  switch (arg.type) {
    case ArgType::kInt:
      return IntArg({integer != nullptr ? *integer : 0, 0});
    case ArgType::kFloat:
    case ArgType::kNumber: {
      const auto* real = std::get_if<double>(&value);
      return FloatArg(real != nullptr      ? *real
                      : integer != nullptr ? static_cast<double>(*integer)
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

Status FillDefaults(const OpInfo& op, std::vector<schema::ArgT>& args) {
  for (size_t i = 0; i < args.size(); ++i) {
    const ArgInfo& arg = op.args[i];
    if (args[i].kind != ArgKind::None || arg.optional) continue;
    if (arg.default_of.has_value()) {
      args[i] = args[*arg.default_of];
    } else if (arg.default_value.has_value()) {
      args[i] = ConstantArg(arg, *arg.default_value);
    } else {
      return Error(StatusCode::kUnsupported, "Argument '{}' of {} is missing and has no default.",
                   arg.name, op.name);
    }
  }
  return Status();
}

}  // namespace spirloom::delegate
