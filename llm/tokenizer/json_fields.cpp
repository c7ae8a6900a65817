#include "llm/tokenizer/json_fields.h"

#include "runtime/base/error.h"

namespace spirloom::llm {

Result<Json> ParseObject(std::string_view text, std::string_view what) {
  Json parsed = Json::parse(text, /*cb=*/nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object()) return InvalidFile({what, " holds no JSON object."});
  return parsed;
}

const Json* Member(const Json& value, const char* key) {
  if (!value.is_object()) return nullptr;
  const auto found = value.find(key);
  return found == value.end() || found->is_null() ? nullptr : &*found;
}

Result<std::string> TextMember(const Json& value, const char* key) {
  const Json* member = Member(value, key);
  if (member == nullptr || !member->is_string()) {
    return InvalidFile({"The text ", Quote(key), " is missing."});
  }
  return *member->get_ptr<const std::string*>();
}

Result<const Json*> ListMember(const Json& value, const char* key) {
  const Json* member = Member(value, key);
  if (member == nullptr || !member->is_array()) {
    return InvalidFile({"The list ", Quote(key), " is missing."});
  }
  return member;
}

Result<bool> FlagMember(const Json& value, const char* key, bool otherwise) {
  const Json* member = Member(value, key);
  if (member == nullptr) return otherwise;
  if (!member->is_boolean()) return InvalidFile({Quote(key), " is neither true nor false."});
  return *member->get_ptr<const bool*>();
}

std::optional<int32_t> TokenOf(const Json& value) {
  if (!value.is_number_integer()) return std::nullopt;
  const auto number = value.get<int64_t>();
  if (number < 0 || number > INT32_MAX) return std::nullopt;
  return static_cast<int32_t>(number);
}

}  // namespace spirloom::llm
