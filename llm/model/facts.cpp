#include "llm/model/facts.h"

#include <algorithm>

#include "llm/tokenizer/json_fields.h"
#include "runtime/base/error.h"
#include "runtime/base/guarded.h"

namespace spirloom::llm {
namespace {

Result<Around> ReadAround(const Json& chat, const char* role) {
  const Json* source = Member(chat, role);
  if (source == nullptr) return InvalidFile({"The chat lacks ", Quote(role), "."});
  Around around;
  SPIRLOOM_TRY_ASSIGN(around.before, TextMember(*source, "before"));
  SPIRLOOM_TRY_ASSIGN(around.after, TextMember(*source, "after"));
  return around;
}

Result<Chat> ReadChat(const Json& source) {
  Chat chat;
  SPIRLOOM_TRY_ASSIGN(chat.beginning, TextMember(source, "beginning"));
  SPIRLOOM_TRY_ASSIGN(chat.generate, TextMember(source, "generate"));
  SPIRLOOM_TRY_ASSIGN(chat.trim, FlagMember(source, "trim", false));
  SPIRLOOM_TRY_ASSIGN(chat.user, ReadAround(source, "user"));
  SPIRLOOM_TRY_ASSIGN(chat.assistant, ReadAround(source, "assistant"));
  if (Member(source, "system") != nullptr) {
    SPIRLOOM_TRY_ASSIGN(chat.system, ReadAround(source, "system"));
  }
  return chat;
}

Result<Facts> ReadFacts(const Json& root) {
  Facts facts;
  SPIRLOOM_TRY_ASSIGN(const Json* eos, ListMember(root, "eos"));
  for (const Json& number : *eos) {
    const auto token = TokenOf(number);
    if (!token) return InvalidFile({"'eos' holds something else than numbers of tokens."});
    facts.eos.push_back(*token);
  }
  SPIRLOOM_TRY_ASSIGN(const bool adds_bos, FlagMember(root, "add_bos", false));
  if (adds_bos) {
    const Json* bos = Member(root, "bos");
    if (bos != nullptr) facts.bos = TokenOf(*bos);
    if (!facts.bos) return InvalidFile({"'add_bos' is true, and 'bos' is no number of a token."});
  }
  if (const Json* chat = Member(root, "chat"); chat != nullptr) {
    SPIRLOOM_TRY_ASSIGN(facts.chat, ReadChat(*chat));
  }
  return facts;
}

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n\v\f\r";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

}  // namespace

Result<std::string> Chat::Begin(std::string_view system_message) const {
  if (system_message.empty()) return beginning;
  if (!system) {
    return Error(StatusCode::kUnsupported, {"The model's chat takes no system message."});
  }
  const std::string_view content = trim ? Trimmed(system_message) : system_message;
  return Concat({system->before, content, system->after});
}

std::string Chat::Ask(std::string_view message) const {
  return Concat({user.before, trim ? Trimmed(message) : message, user.after, generate});
}

bool Facts::Ends(int32_t token) const { return std::ranges::find(eos, token) != eos.end(); }

Result<Facts> ParseFacts(std::string_view json) {
  return Guarded([&]() -> Result<Facts> {
    SPIRLOOM_TRY_ASSIGN(const Json root, ParseObject(json, "language_model.json"));
    Result<Facts> facts = ReadFacts(root);
    if (!facts.ok()) return std::move(facts).status().While("reading language_model.json");
    return facts;
  });
}

}  // namespace spirloom::llm
