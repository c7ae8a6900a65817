// Steps before byte-pair encoding: normalizers and pre-tokenizers.
#ifndef SPIRLOOM_LLM_TOKENIZER_STEPS_H_
#define SPIRLOOM_LLM_TOKENIZER_STEPS_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "llm/tokenizer/regex.h"
#include "spirloom/status.h"

namespace spirloom::llm {

// A piece of text that is encoded independently.
struct Piece {
  std::string text;
  bool first;  // at the start of the whole text
};

using Normalizer = std::function<Result<std::string>(std::string)>;
using PreTokenizer = std::function<Status(std::vector<Piece>&)>;

// Normalizers, named as in tokenizer.json.
Normalizer Nfc();
Normalizer Prepend(std::string text);  // leaves an empty text unchanged
Normalizer Replace(std::string from, std::string to);

// Treatment of the matches of a regular expression; names of tokenizer.json.
enum class Behavior { kIsolated, kRemoved, kMergedWithPrevious, kMergedWithNext, kContiguous };

// `invert` exchanges the roles of matches and gaps.
PreTokenizer Split(Regex regex, Behavior behavior, bool invert);
// Prepends a space to each piece that has none.
PreTokenizer AddPrefixSpace();
// Maps each byte to a printable character, as GPT-2.
PreTokenizer ByteLevel();
// Replaces spaces by `replacement`, and prepends it to no piece, the first piece, or all pieces.
enum class PrependScheme { kNever, kFirst, kAlways };
PreTokenizer Metaspace(std::string replacement, PrependScheme scheme);

// Inverse of ByteLevel(). Returns `token` unchanged if it contains a character outside the mapping.
std::string ByteLevelDecode(std::string_view token);

// Replaces all occurrences of `from`, which must not be empty.
std::string ReplaceAll(std::string_view text, std::string_view from, std::string_view to);

}  // namespace spirloom::llm

#endif  // SPIRLOOM_LLM_TOKENIZER_STEPS_H_
