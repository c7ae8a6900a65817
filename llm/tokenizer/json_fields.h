// JSON from outside, of which nothing is taken for granted.
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

// The object that `text` is; `what` names it in messages.
Result<Json> ParseObject(std::string_view text, std::string_view what);

// Null where `value` is no object, or has no such member, or that is null.
const Json* Member(const Json& value, const char* key);

// The member, which `value` must have and which must be of the type. Fail with kInvalidFile.
Result<std::string> TextMember(const Json& value, const char* key);
Result<const Json*> ListMember(const Json& value, const char* key);
// The member, or `otherwise` if there is none.
Result<bool> FlagMember(const Json& value, const char* key, bool otherwise);

// A token's number, if it is one: from 0 to 2^31 - 1.
std::optional<int32_t> TokenOf(const Json& value);

}  // namespace spirloom::llm

#endif  // SPIRLOOM_LLM_TOKENIZER_JSON_FIELDS_H_
