// Byte-pair encoding: a word becomes the numbers of its parts.
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

// Lets maps of strings be searched by views.
struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
using Vocabulary = std::unordered_map<std::string, int32_t, TextHash, std::equal_to<>>;

class Bpe {
 public:
  explicit Bpe(Vocabulary vocabulary);

  // The parts `left` and `right` become one, before all pairs that are added later. Fails with
  // kInvalidFile unless all three are in the vocabulary.
  Status AddMerge(std::string_view left, std::string_view right);
  // What stands for characters that are not in the vocabulary; several in a row are one if `fused`.
  Status SetUnknown(std::string_view token, bool fused);
  // Such characters become their bytes, where the vocabulary has them: <0x00> to <0xFF>.
  void UseBytes();
  // A word that is in the vocabulary stays whole.
  void KeepWholeWords() { whole_words_ = true; }

  // Appends the parts of `word`, valid UTF-8.
  void Encode(std::string_view word, std::vector<int32_t>& tokens) const;

  const Vocabulary& vocabulary() const { return vocabulary_; }
  // The byte that a token stands for, if it is one of UseBytes().
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
  bool uses_bytes_ = false;
  bool whole_words_ = false;
};

}  // namespace spirloom::llm

#endif  // SPIRLOOM_LLM_TOKENIZER_BPE_H_
