// Checked access to untrusted JSON.
#ifndef SPIRLOOM_LLM_TOKENIZER_JSON_FIELDS_H_
#define SPIRLOOM_LLM_TOKENIZER_JSON_FIELDS_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "spirloom/status.h"

namespace spirloom::llm {

using Json = nlohmann::json;

// Parses `text`, which must be a JSON object. Messages name it `name`.
Result<Json> ParseObject(std::string_view text, std::string_view name);

// Returns null if `value` is not an object, has no such member, or the member is null.
const Json* Member(const Json& value, const char* key);

// Return the member. Fail with kInvalidFile if it is missing or of another type.
Result<std::string> StringMember(const Json& value, const char* key);
Result<const Json*> ArrayMember(const Json& value, const char* key);
// Returns the member, or `default_value` if it is missing.
Result<bool> BoolMember(const Json& value, const char* key, bool default_value);

// Returns the token id if `value` is one: an integer from 0 to 2^31 - 1.
std::optional<int32_t> TokenIdOf(const Json& value);

}  // namespace spirloom::llm

#endif  // SPIRLOOM_LLM_TOKENIZER_JSON_FIELDS_H_
