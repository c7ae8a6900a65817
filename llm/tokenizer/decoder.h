// Tokens become text again.
#ifndef SPIRLOOM_LLM_TOKENIZER_DECODER_H_
#define SPIRLOOM_LLM_TOKENIZER_DECODER_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace spirloom::llm {

// What tokenizer.json says of it, as what it does with the text of each token.
struct Decoder {
  bool bytes_as_text = false;  // characters stand for bytes: ByteLevel
  bool byte_tokens = false;    // <0x00> to <0xFF> are bytes: ByteFallback
  std::vector<std::pair<std::string, std::string>> replace = {};
  std::string strip = {};          // what is taken off the beginning of the whole text,
  size_t most_stripped = 0;        // as often as this
  std::string drop_in_first = {};  // what is left out of the first token: Metaspace
};

}  // namespace spirloom::llm

#endif  // SPIRLOOM_LLM_TOKENIZER_DECODER_H_
