#include "llm/model/chat_config.h"

#include <algorithm>

#include "llm/tokenizer/json_fields.h"
#include "runtime/base/error.h"
#include "runtime/base/guarded.h"

namespace spirloom::llm {
namespace {

Result<Affixes> ReadAffixes(const Json& chat, const char* role) {
  const Json* source = Member(chat, role);
  if (source == nullptr) return InvalidFile("The member {} of 'chat' is missing.", Quote(role));
  Affixes affixes;
  SPIRLOOM_TRY_ASSIGN(affixes.prefix, StringMember(*source, "before"));
  SPIRLOOM_TRY_ASSIGN(affixes.suffix, StringMember(*source, "after"));
  return affixes;
}

Result<ChatFormatter> ReadChat(const Json& source) {
  ChatFormatter chat;
  SPIRLOOM_TRY_ASSIGN(chat.prologue, StringMember(source, "beginning"));
  SPIRLOOM_TRY_ASSIGN(chat.generation_prompt, StringMember(source, "generate"));
  SPIRLOOM_TRY_ASSIGN(chat.trim, BoolMember(source, "trim", false));
  SPIRLOOM_TRY_ASSIGN(chat.user, ReadAffixes(source, "user"));
  SPIRLOOM_TRY_ASSIGN(chat.assistant, ReadAffixes(source, "assistant"));
  if (Member(source, "system") != nullptr) {
    SPIRLOOM_TRY_ASSIGN(chat.system, ReadAffixes(source, "system"));
  }
  return chat;
}

Result<ChatConfig> ReadChatConfig(const Json& root) {
  ChatConfig config;
  SPIRLOOM_TRY_ASSIGN(const Json* eos, ArrayMember(root, "eos"));
  for (const Json& value : *eos) {
    const auto token = TokenIdOf(value);
    if (!token) return InvalidFile("'eos' contains a value that is not a token id.");
    config.eos.push_back(*token);
  }
  SPIRLOOM_TRY_ASSIGN(const bool add_bos, BoolMember(root, "add_bos", false));
  if (add_bos) {
    const Json* bos = Member(root, "bos");
    if (bos != nullptr) config.bos = TokenIdOf(*bos);
    if (!config.bos) return InvalidFile("'add_bos' is true, but 'bos' is not a token id.");
  }
  if (const Json* chat = Member(root, "chat"); chat != nullptr) {
    SPIRLOOM_TRY_ASSIGN(config.chat, ReadChat(*chat));
  }
  return config;
}

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kWhitespace = " \t\n\v\f\r";
  const size_t begin = text.find_first_not_of(kWhitespace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kWhitespace) - begin + 1);
}

}  // namespace

Result<std::string> ChatFormatter::Prologue(std::string_view system_message) const {
  if (system_message.empty()) return prologue;
  if (!system) {
    return Error(StatusCode::kUnsupported,
                 "The model's chat template does not support a system message.");
  }
  const std::string_view content = trim ? Trimmed(system_message) : system_message;
  return Concat(system->prefix, content, system->suffix);
}

std::string ChatFormatter::UserTurn(std::string_view message) const {
  return Concat(user.prefix, trim ? Trimmed(message) : message, user.suffix, generation_prompt);
}

bool ChatConfig::IsEos(int32_t token) const { return std::ranges::find(eos, token) != eos.end(); }

Result<ChatConfig> ParseChatConfig(std::string_view json) {
  return Guarded([&]() -> Result<ChatConfig> {
    SPIRLOOM_TRY_ASSIGN(const Json root, ParseObject(json, "language_model.json"));
    Result<ChatConfig> config = ReadChatConfig(root);
    if (!config.ok()) return std::move(config).status().While("reading language_model.json");
    return config;
  });
}

}  // namespace spirloom::llm
