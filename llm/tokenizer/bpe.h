// Byte-pair encoding (BPE) of a word to token ids.
#ifndef SPIRLOOM_LLM_TOKENIZER_BPE_H_
#define SPIRLOOM_LLM_TOKENIZER_BPE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "spirloom/status.h"

namespace spirloom::llm {

// Heterogeneous lookup: finds std::string keys by std::string_view.
struct StringHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
using Vocabulary = std::unordered_map<std::string, int32_t, StringHash, std::equal_to<>>;

class Bpe {
 public:
  explicit Bpe(Vocabulary vocabulary);

  // Adds a merge rule; its rank is the number of earlier calls. Fails with kInvalidFile unless both
  // tokens and their concatenation are in the vocabulary.
  Status AddMerge(std::string_view left, std::string_view right);
  // Sets the token of characters outside the vocabulary. `fused`: consecutive ones become one
  // token.
  Status SetUnknown(std::string_view token, bool fused);
  // Encodes characters outside the vocabulary as byte tokens, <0x00> to <0xFF>, if all exist.
  void EnableByteFallback();
  // Encodes a word of the vocabulary as one token, without merges.
  void IgnoreMerges() { ignore_merges_ = true; }

  // Appends the tokens of `word`, which must be valid UTF-8.
  void Encode(std::string_view word, std::vector<int32_t>& tokens) const;

  const Vocabulary& vocabulary() const { return vocabulary_; }
  // Returns the value of a byte token, <0x00> to <0xFF>.
  std::optional<uint8_t> ByteOf(std::string_view token) const;

 private:
  struct Merge {
    size_t rank;
    int32_t token;
  };
  struct Symbol {
    int32_t token;
    size_t previous;
    size_t next;
  };

  std::vector<Symbol> SymbolsOf(std::string_view word) const;
  void AddCharacter(std::string_view character, std::vector<Symbol>& symbols) const;
  const Merge* Find(int32_t left, int32_t right) const;
  void MergeAll(std::vector<Symbol>& symbols) const;

  Vocabulary vocabulary_;
  std::unordered_map<uint64_t, Merge> merges_;
  std::array<int32_t, 256> bytes_ = {};
  size_t added_ = 0;
  int32_t unknown_ = -1;
  bool fused_ = false;
  bool byte_fallback_ = false;
  bool ignore_merges_ = false;
};

}  // namespace spirloom::llm

#endif  // SPIRLOOM_LLM_TOKENIZER_BPE_H_
