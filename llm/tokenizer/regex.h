// Unicode regular expressions of tokenizers (Oniguruma syntax), implemented with PCRE2.
#ifndef SPIRLOOM_LLM_TOKENIZER_REGEX_H_
#define SPIRLOOM_LLM_TOKENIZER_REGEX_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "spirloom/status.h"

namespace spirloom::llm {

struct Range {
  size_t begin;
  size_t end;
};

class Regex {
 public:
  // Fails with kUnsupported if PCRE2 rejects the pattern or gives it another meaning.
  static Result<Regex> Compile(std::string_view pattern);

  // Returns all nonempty matches in order; `text` must be valid UTF-8. Fails with kInvalidFile if
  // matching exceeds the limit of steps or memory.
  Result<std::vector<Range>> FindAll(std::string_view text) const;

 private:
  struct Code;
  explicit Regex(std::shared_ptr<const Code> code) : code_(std::move(code)) {}
  std::shared_ptr<const Code> code_;
};

// Returns a pattern that matches `text` literally.
std::string EscapeRegex(std::string_view text);

}  // namespace spirloom::llm

#endif  // SPIRLOOM_LLM_TOKENIZER_REGEX_H_
