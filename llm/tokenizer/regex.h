// Regular expressions over Unicode, as tokenizers write them (Oniguruma's), by PCRE2.
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
  // Fails with kUnsupported for what PCRE2 does not take, or takes for something else.
  static Result<Regex> Compile(std::string_view pattern);

  // The matches that are not empty, in order; `text` is valid UTF-8. Fails with kInvalidFile for an
  // expression that takes too long.
  Result<std::vector<Range>> FindAll(std::string_view text) const;

 private:
  struct Code;
  explicit Regex(std::shared_ptr<const Code> code) : code_(std::move(code)) {}
  std::shared_ptr<const Code> code_;
};

// An expression that matches just `text`.
std::string Escaped(std::string_view text);

}  // namespace spirloom::llm

#endif  // SPIRLOOM_LLM_TOKENIZER_REGEX_H_
