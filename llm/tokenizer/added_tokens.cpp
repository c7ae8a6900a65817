#include "llm/tokenizer/added_tokens.h"

#include <utf8proc.h>

#include <utility>

#include "llm/tokenizer/utf8.h"

namespace spirloom::llm {
namespace {

// Returns true if the first character of `text` is whitespace.
bool StartsWithWhitespace(std::string_view text) {
  utf8proc_int32_t code = 0;
  utf8proc_iterate(reinterpret_cast<const uint8_t*>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &code);
  if ((code >= 0x09 && code <= 0x0D) || code == 0x85) return true;
  const utf8proc_category_t category = utf8proc_category(code);
  return category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL ||
         category == UTF8PROC_CATEGORY_ZP;
}

size_t LastCharacter(std::string_view text) {
  size_t at = text.size() - 1;
  while (at > 0 && (static_cast<uint8_t>(text[at]) & 0xC0) == 0x80) --at;
  return at;
}

}  // namespace

void AddedTokens::Add(std::string text, const AddedToken& token) {
  sizes_.insert(text.size());
  tokens_.insert_or_assign(std::move(text), token);
}

const AddedToken* AddedTokens::FindAt(std::string_view text, size_t& size) const {
  for (const size_t candidate : sizes_) {
    if (candidate > text.size()) continue;
    const auto found = tokens_.find(text.substr(0, candidate));
    if (found == tokens_.end()) continue;
    size = candidate;
    return &found->second;
  }
  return nullptr;
}

std::vector<TextPart> AddedTokens::Split(std::string_view text) const {
  std::vector<TextPart> parts;
  size_t begin = 0;  // of the pending text segment
  for (size_t at = 0; at < text.size();) {
    size_t size = 0;
    const AddedToken* token = FindAt(text.substr(at), size);
    if (token == nullptr) {
      at += CharSize(text.substr(at));
      continue;
    }
    std::string_view before = text.substr(begin, at - begin);
    while (token->lstrip && !before.empty() &&
           StartsWithWhitespace(before.substr(LastCharacter(before)))) {
      before = before.substr(0, LastCharacter(before));
    }
    if (!before.empty()) parts.push_back({before, -1});
    at += size;
    while (token->rstrip && at < text.size() && StartsWithWhitespace(text.substr(at))) {
      at += CharSize(text.substr(at));
    }
    parts.push_back({{}, token->token});
    begin = at;
  }
  if (begin < text.size()) parts.push_back({text.substr(begin), -1});
  return parts;
}

}  // namespace spirloom::llm
