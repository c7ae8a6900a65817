// Settings of decoding tokens to text.
#ifndef SPIRLOOM_LLM_TOKENIZER_DECODER_H_
#define SPIRLOOM_LLM_TOKENIZER_DECODER_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace spirloom::llm {

// The `decoder` of tokenizer.json, as operations on the text of each token.
struct Decoder {
  bool byte_level = false;     // ByteLevel: each character is a byte
  bool byte_fallback = false;  // ByteFallback: <0x00> to <0xFF> are bytes
  std::vector<std::pair<std::string, std::string>> replace = {};
  std::string strip = {};            // Strip: prefix to remove from the whole text,
  size_t max_stripped = 0;           // up to this many times
  std::string drop_from_first = {};  // Metaspace: text to remove from the first token
};

}  // namespace spirloom::llm

#endif  // SPIRLOOM_LLM_TOKENIZER_DECODER_H_
