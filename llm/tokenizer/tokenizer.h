// Encodes text to token ids and decodes them.
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

// Contents of tokenizer.json.
struct TokenizerParts {
  std::vector<Normalizer> normalizers;
  std::vector<PreTokenizer> pre_tokenizers;
  Bpe bpe;
  AddedTokens raw;                 // added tokens, matched before normalization
  AddedTokens normalized;          // added tokens, matched after normalization
  std::vector<std::string> texts;  // text of each token id
  std::vector<bool> special;       // true for special tokens, which have no text
  Decoder decoder;
};

// Immutable.
class Tokenizer {
 public:
  // Parses Hugging Face's tokenizer.json with a BPE model. Fails with kInvalidFile if it is
  // malformed, and with kUnsupported and the name of the unsupported part.
  static Result<Tokenizer> Parse(std::string_view json);

  // Returns the token ids of a text. Invalid UTF-8 becomes U+FFFD. Special tokens in the text are
  // recognized; BOS and EOS are not added.
  Result<std::vector<int32_t>> Encode(std::string_view text) const;
  // Returns the text of tokens, without special tokens and invalid ids.
  std::string Decode(std::span<const int32_t> tokens) const;

  // Returns the maximum token id + 1.
  size_t size() const { return parts_.texts.size(); }

 private:
  friend class TextStream;
  explicit Tokenizer(TokenizerParts parts) : parts_(std::move(parts)) {}
  Result<std::string> Normalize(std::string text) const;
  Status EncodePart(std::string_view text, bool first, std::vector<int32_t>& tokens) const;

  TokenizerParts parts_;
};

// Incremental decoding: returns characters as soon as they are complete.
class TextStream {
 public:
  // `continuation`: the tokens follow other text, so a leading space is kept. The tokenizer must
  // outlive this.
  explicit TextStream(const Tokenizer& tokenizer, bool continuation = false);

  // Returns the characters that `token` completes.
  std::string Add(int32_t token);
  // Ends the text. Returns U+FFFD for an incomplete character.
  std::string End();

 private:
  std::string BytesOfToken(int32_t token);

  const Tokenizer& tokenizer_;
  std::string held_;
  size_t remaining_strips_ = 0;
  bool first_ = true;
};

}  // namespace spirloom::llm

#endif  // SPIRLOOM_LLM_TOKENIZER_TOKENIZER_H_
