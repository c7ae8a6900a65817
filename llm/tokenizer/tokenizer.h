// A tokenizer: text becomes the numbers that a language model reads, and these text again.
#ifndef SPIRLOOM_LLM_TOKENIZER_TOKENIZER_H_
#define SPIRLOOM_LLM_TOKENIZER_TOKENIZER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "llm/tokenizer/added_tokens.h"
#include "llm/tokenizer/bpe.h"
#include "llm/tokenizer/decoder.h"
#include "llm/tokenizer/steps.h"
#include "spirloom/status.h"

namespace spirloom::llm {

// What tokenizer.json says.
struct TokenizerParts {
  std::vector<Normalizer> normalizers;
  std::vector<PreTokenizer> pre_tokenizers;
  Bpe bpe;
  AddedTokens raw;                 // added tokens that are looked for in the text as it is,
  AddedTokens normalized;          // and in the text as the normalizers leave it
  std::vector<std::string> texts;  // of each token, by number
  std::vector<bool> special;       // of each token: it marks something and is no text
  Decoder decoder;
};

// Immutable.
class Tokenizer {
 public:
  // Reads a tokenizer.json of Hugging Face, of type BPE. Fails with kInvalidFile for a malformed
  // one and kUnsupported, naming it, for a part that is not supported.
  static Result<Tokenizer> Parse(std::string_view json);

  // The numbers of a text; of bytes that are no UTF-8, U+FFFD's. Special tokens that stand in the
  // text are found; nothing is added.
  Result<std::vector<int32_t>> Encode(std::string_view text) const;
  // The text of tokens; special ones and numbers that are none give nothing.
  std::string Decode(std::span<const int32_t> tokens) const;

  // One more than the greatest number.
  size_t size() const { return parts_.texts.size(); }

 private:
  friend class TextStream;
  explicit Tokenizer(TokenizerParts parts) : parts_(std::move(parts)) {}
  Result<std::string> Normalize(std::string text) const;
  Status EncodePart(std::string_view text, bool first, std::vector<int32_t>& tokens) const;

  TokenizerParts parts_;
};

// The text of tokens that come one by one: characters appear when they are complete.
class TextStream {
 public:
  // `goes_on`: the tokens go on from others, so that nothing is taken off the beginning. The
  // tokenizer must outlive this.
  explicit TextStream(const Tokenizer& tokenizer, bool goes_on = false);

  // The text that one more token completes.
  std::string Add(int32_t token);
  // What is left, when there are no more tokens.
  std::string End();

 private:
  std::string BytesOfToken(int32_t token);

  const Tokenizer& tokenizer_;
  std::string held_;
  size_t left_to_strip_ = 0;
  bool first_ = true;
};

}  // namespace spirloom::llm

#endif  // SPIRLOOM_LLM_TOKENIZER_TOKENIZER_H_
