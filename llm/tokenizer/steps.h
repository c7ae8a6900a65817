// What becomes of a text before byte-pair encoding, one step after the other.
#ifndef SPIRLOOM_LLM_TOKENIZER_STEPS_H_
#define SPIRLOOM_LLM_TOKENIZER_STEPS_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "llm/tokenizer/regex.h"
#include "spirloom/status.h"

namespace spirloom::llm {

// A part of the text that is encoded by itself.
struct Piece {
  std::string text;
  bool first;  // it begins the whole text
};

using Normalizer = std::function<Result<std::string>(std::string)>;
using PreTokenizer = std::function<Status(std::vector<Piece>&)>;

// Normalizers, named as in tokenizer.json.
Normalizer Nfc();
Normalizer Prepend(std::string text);  // to a text that is not empty
Normalizer Replace(std::string from, std::string to);

// What becomes of the matches of an expression, as tokenizer.json names it.
enum class Behavior { kIsolated, kRemoved, kMergedWithPrevious, kMergedWithNext, kContiguous };

// `invert`: what lies between matches is treated as they are, and the other way round.
PreTokenizer Split(Regex regex, Behavior behavior, bool invert);
// Each piece begins with a space.
PreTokenizer PrefixSpace();
// Each byte becomes a printable character, as in GPT-2.
PreTokenizer BytesAsText();
// Spaces become `replacement`, which pieces begin with as well: none of them, the first, or all.
enum class PrependScheme { kNever, kFirst, kAlways };
PreTokenizer Metaspace(std::string replacement, PrependScheme scheme);

// The bytes that a token of BytesAsText() stands for; its own where it has characters that stand
// for none.
std::string BytesOf(std::string_view token);

// With every occurrence of `from`, which is not empty, replaced.
std::string Replaced(std::string_view text, std::string_view from, std::string_view to);

}  // namespace spirloom::llm

#endif  // SPIRLOOM_LLM_TOKENIZER_STEPS_H_
