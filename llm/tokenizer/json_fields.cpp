#include "llm/tokenizer/json_fields.h"

#include "runtime/base/error.h"

namespace spirloom::llm {

Result<Json> ParseObject(std::string_view text, std::string_view name) {
  Json parsed = Json::parse(text, /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object()) return InvalidFile("{} does not contain a JSON object.", name);
  return parsed;
}

const Json* Member(const Json& value, const char* key) {
  if (!value.is_object()) return nullptr;
  const auto found = value.find(key);
  return found == value.end() || found->is_null() ? nullptr : &*found;
}

Result<std::string> StringMember(const Json& value, const char* key) {
  const Json* member = Member(value, key);
  if (member == nullptr || !member->is_string()) {
    return InvalidFile("The member {} is missing or not a string.", Quote(key));
  }
  return *member->get_ptr<const std::string*>();
}

Result<const Json*> ArrayMember(const Json& value, const char* key) {
  const Json* member = Member(value, key);
  if (member == nullptr || !member->is_array()) {
    return InvalidFile("The member {} is missing or not an array.", Quote(key));
  }
  return member;
}

Result<bool> BoolMember(const Json& value, const char* key, bool default_value) {
  const Json* member = Member(value, key);
  if (member == nullptr) return default_value;
  if (!member->is_boolean()) return InvalidFile("The member {} is not true or false.", Quote(key));
  return *member->get_ptr<const bool*>();
}

std::optional<int32_t> TokenIdOf(const Json& value) {
  if (!value.is_number_integer()) return std::nullopt;
  const auto id = value.get<int64_t>();
  if (id < 0 || id > INT32_MAX) return std::nullopt;
  return static_cast<int32_t>(id);
}

}  // namespace spirloom::llm
