// Tokens that are found in a text as they stand, before anything else is done with it.
#ifndef SPIRLOOM_LLM_TOKENIZER_ADDED_TOKENS_H_
#define SPIRLOOM_LLM_TOKENIZER_ADDED_TOKENS_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "llm/tokenizer/bpe.h"

namespace spirloom::llm {

struct AddedToken {
  int32_t token = 0;
  bool takes_left = false;  // blanks before it are part of it
  bool takes_right = false;
};

// A part of a text: an added token, or text between such.
struct TextPart {
  std::string_view text;
  int32_t token;  // -1: text
};

class AddedTokens {
 public:
  // `text` is not empty.
  void Add(std::string text, const AddedToken& token);
  bool empty() const { return tokens_.empty(); }

  // Splits `text`; of several tokens that begin at one place, the longest counts.
  std::vector<TextPart> Split(std::string_view text) const;

 private:
  const AddedToken* FindAt(std::string_view text, size_t& size) const;

  std::unordered_map<std::string, AddedToken, TextHash, std::equal_to<>> tokens_;
  std::set<size_t, std::greater<>> sizes_;
};

}  // namespace spirloom::llm

#endif  // SPIRLOOM_LLM_TOKENIZER_ADDED_TOKENS_H_
