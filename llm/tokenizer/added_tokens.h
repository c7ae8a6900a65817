// Added tokens: matched literally, before pre-tokenization.
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
  bool lstrip = false;  // includes whitespace before it
  bool rstrip = false;  // includes whitespace after it
};

// A segment of a text: an added token, or the text between added tokens.
struct TextPart {
  std::string_view text;
  int32_t token;  // -1 for text
};

class AddedTokens {
 public:
  // `text` is not empty.
  void Add(std::string text, const AddedToken& token);
  bool empty() const { return tokens_.empty(); }

  // Splits `text` at added tokens. The longest token at an offset wins.
  std::vector<TextPart> Split(std::string_view text) const;

 private:
  const AddedToken* FindAt(std::string_view text, size_t& size) const;

  std::unordered_map<std::string, AddedToken, StringHash, std::equal_to<>> tokens_;
  std::set<size_t, std::greater<>> sizes_;
};

}  // namespace spirloom::llm

#endif  // SPIRLOOM_LLM_TOKENIZER_ADDED_TOKENS_H_
