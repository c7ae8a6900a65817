#include "compiler/manifest/json_reader.h"

namespace spirloom::compiler {
namespace {

std::string Join(const std::string& path, const char* name) {
  return path.empty() ? name : path + "." + name;
}

}  // namespace

std::string JsonReader::Describe(const Json& value) {
  // dump() is recursive, and an untrusted document may be deeply nested.
  return value.is_structured() ? value.type_name() : value.dump();
}

void JsonReader::Fail(const std::string& message) {
  if (status_.ok()) status_ = Status(StatusCode::kInvalidFile, message);
}

const JsonReader::Json& JsonReader::Member(const Json& object, const char* name,
                                           const std::string& path) {
  static const Json kNull;
  if (!object.is_object()) {
    Fail((path.empty() ? "The document" : path) + " is not an object.");
    return kNull;
  }
  const auto found = object.find(name);
  if (found != object.end()) return *found;
  Fail(Join(path, name) + " is missing.");
  return kNull;
}

const JsonReader::Json& JsonReader::List(const Json& object, const char* name,
                                         const std::string& path, size_t max_size) {
  static const Json kEmpty = Json::array();
  const Json& list = Member(object, name, path);
  if (!list.is_array()) {
    Fail(Join(path, name) + " is not a list.");
    return kEmpty;
  }
  if (list.size() > max_size) {
    Fail(Join(path, name) + " has " + std::to_string(list.size()) + " elements; the maximum is " +
         std::to_string(max_size) + ".");
    return kEmpty;
  }
  return list;
}

std::string JsonReader::String(const Json& object, const char* name, const std::string& path) {
  const Json& value = Member(object, name, path);
  if (value.is_string()) return value.get<std::string>();
  Fail(Join(path, name) + " is not a string.");
  return std::string();
}

bool JsonReader::Bool(const Json& object, const char* name, const std::string& path) {
  const Json& value = Member(object, name, path);
  if (value.is_boolean()) return value.get<bool>();
  Fail(Join(path, name) + " is not true or false.");
  return false;
}

uint32_t JsonReader::Uint(const Json& object, const char* name, const std::string& path,
                          uint32_t max) {
  return static_cast<uint32_t>(
      Integer(Member(object, name, path), Join(path, name), /*min=*/0, max));
}

uint64_t JsonReader::Integer(const Json& value, const std::string& path, uint64_t min,
                             uint64_t max) {
  // is_number_unsigned() is false for negative values.
  if (value.is_number_unsigned()) {
    const auto integer = value.get<uint64_t>();
    if (integer >= min && integer <= max) return integer;
  }
  Fail(path + " is " + Describe(value) + ", not an integer from " + std::to_string(min) + " to " +
       std::to_string(max) + ".");
  return min;
}

size_t JsonReader::OneOf(const Json& object, const char* name, const std::string& path,
                         std::span<const char* const> names) {
  const std::string value = String(object, name, path);
  std::string list;
  for (size_t i = 0; i < names.size(); ++i) {
    if (value == names[i]) return i;
    list += (i == 0 ? "" : ", ") + std::string(names[i]);
  }
  Fail(Join(path, name) + " is '" + value + "', not one of: " + list + ".");
  return 0;
}

}  // namespace spirloom::compiler
