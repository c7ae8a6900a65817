#include "llm/tokenizer/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>

#include "llm/tokenizer/utf8.h"
#include "runtime/base/error.h"

namespace spirloom::llm {
namespace {

// Backtracking steps per match. Published tokenizers need far fewer.
constexpr uint32_t kMatchLimit = 10'000'000;
constexpr uint32_t kHeapLimitKiB = 256 << 10;

// Replaces \s by the Unicode property: PCRE2 includes U+180E in \s, Unicode does not.
std::string WithUnicodeWhitespace(std::string_view pattern) {
  std::string result;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '\\' || i + 1 == pattern.size()) {
      result += pattern[i];
      continue;
    }
    const char letter = pattern[++i];
    if (letter == 's') {
      result += "\\p{White_Space}";
    } else if (letter == 'S') {
      result += "\\P{White_Space}";
    } else {
      result += {'\\', letter};
    }
  }
  return result;
}

// Matches from `start` on. Interprets the pattern if the stack of the JIT code is too small.
int Match(const pcre2_code* code, std::string_view text, size_t start, pcre2_match_data* match,
          pcre2_match_context* context) {
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  const int count =
      pcre2_match(code, subject, text.size(), start, PCRE2_NO_UTF_CHECK, match, context);
  if (count != PCRE2_ERROR_JIT_STACKLIMIT) return count;
  return pcre2_match(code, subject, text.size(), start, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, match,
                     context);
}

// Returns true for an interval with a plus, e.g. {1,3}+: possessive in PCRE2, a repeated interval
// in Oniguruma.
bool HasPossessiveInterval(std::string_view pattern) {
  constexpr std::string_view kDigits = "0123456789,";
  for (size_t at = pattern.find('{'); at != std::string_view::npos;
       at = pattern.find('{', at + 1)) {
    const size_t end = pattern.find_first_not_of(kDigits, at + 1);
    if (end != std::string_view::npos && pattern.substr(end, 2) == "}+") return true;
  }
  return false;
}

struct FreeMatch {
  void operator()(pcre2_match_data* match) const { pcre2_match_data_free(match); }
};
struct FreeContext {
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};

std::string MessageOf(int code) {
  PCRE2_UCHAR text[256] = {};
  pcre2_get_error_message(code, text, sizeof(text));
  return reinterpret_cast<const char*>(text);
}

}  // namespace

struct Regex::Code {
  struct Free {
    void operator()(pcre2_code* compiled) const { pcre2_code_free(compiled); }
  };
  std::unique_ptr<pcre2_code, Free> code;
};

Result<Regex> Regex::Compile(std::string_view pattern) {
  if (HasPossessiveInterval(pattern)) {
    return Error(StatusCode::kUnsupported,
                 "The regular expression {} repeats an interval, which is not supported.",
                 Quote(pattern));
  }
  const std::string text = WithUnicodeWhitespace(pattern);
  int error = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* compiled =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &offset,
                    /*ccontext=*/nullptr);
  if (compiled == nullptr) {
    return Error(StatusCode::kUnsupported, "The regular expression {} is not supported: {}.",
                 Quote(pattern), MessageOf(error));
  }
  auto code = std::make_shared<Code>();
  code->code.reset(compiled);
  (void)pcre2_jit_compile(compiled, PCRE2_JIT_COMPLETE);  // else matches are interpreted
  return Regex(std::move(code));
}

Result<std::vector<Range>> Regex::FindAll(std::string_view text) const {
  const pcre2_code* code = code_->code.get();
  const std::unique_ptr<pcre2_match_data, FreeMatch> match(
      pcre2_match_data_create_from_pattern(code, /*gcontext=*/nullptr));
  const std::unique_ptr<pcre2_match_context, FreeContext> context(
      pcre2_match_context_create(/*gcontext=*/nullptr));
  if (match == nullptr || context == nullptr) return Status::OutOfMemory();
  pcre2_set_match_limit(context.get(), kMatchLimit);
  pcre2_set_heap_limit(context.get(), kHeapLimitKiB);
  std::vector<Range> found;
  size_t start = 0;
  while (start < text.size()) {
    const int count = Match(code, text, start, match.get(), context.get());
    if (count == PCRE2_ERROR_NOMATCH) break;
    if (count < 0) {
      return InvalidFile(
          "Matching a regular expression of the tokenizer on a text of {} bytes failed: {}.",
          text.size(), MessageOf(count));
    }
    const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(match.get());
    if (ends[1] > ends[0] && ends[0] >= start) {
      found.push_back({ends[0], ends[1]});
      start = ends[1];
    } else {
      start = std::max(start, ends[1]);
      if (start < text.size()) start += CharSize(text.substr(start));
    }
  }
  return found;
}

std::string EscapeRegex(std::string_view text) {
  std::string result;
  for (const char letter : text) {
    const bool plain = static_cast<unsigned char>(letter) >= 0x80 || letter == '_' ||
                       (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
                       (letter >= 'A' && letter <= 'Z');
    if (!plain) result += '\\';
    result += letter;
  }
  return result;
}

}  // namespace spirloom::llm
