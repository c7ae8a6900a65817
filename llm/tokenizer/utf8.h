// UTF-8 decoding and validation.
#ifndef SPIRLOOM_LLM_TOKENIZER_UTF8_H_
#define SPIRLOOM_LLM_TOKENIZER_UTF8_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace spirloom::llm {

// The first unit of a nonempty byte string: a character, or invalid bytes.
struct Utf8Unit {
  size_t size;      // in bytes
  bool valid;       // the bytes are a character
  bool incomplete;  // the string ends within a character
};
Utf8Unit FirstUnit(std::string_view bytes);

// Replaces invalid bytes by U+FFFD.
std::string ValidUtf8(std::string_view bytes);

// Returns the number of bytes before an incomplete character at the end.
size_t CompletePrefix(std::string_view bytes);

// Returns the size in bytes of the first character of nonempty, valid text.
size_t CharSize(std::string_view text);

void AppendChar(char32_t code, std::string& text);

}  // namespace spirloom::llm

#endif  // SPIRLOOM_LLM_TOKENIZER_UTF8_H_
