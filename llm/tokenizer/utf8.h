// UTF-8, which text from outside need not be.
#ifndef SPIRLOOM_LLM_TOKENIZER_UTF8_H_
#define SPIRLOOM_LLM_TOKENIZER_UTF8_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace spirloom::llm {

// What `bytes`, not empty, begin with: a character, or bytes that belong to none.
struct Utf8Step {
  size_t size;      // bytes
  bool valid;       // they are a character
  bool incomplete;  // they are the beginning of one, and there is no more
};
Utf8Step FirstStep(std::string_view bytes);

// With U+FFFD in place of what is no character.
std::string ValidUtf8(std::string_view bytes);

// How many of the bytes come before a character that is not complete yet.
size_t CompletePrefix(std::string_view bytes);

// Bytes of the first character of valid text that is not empty.
size_t CharSize(std::string_view text);

void AppendChar(char32_t code, std::string& text);

}  // namespace spirloom::llm

#endif  // SPIRLOOM_LLM_TOKENIZER_UTF8_H_
