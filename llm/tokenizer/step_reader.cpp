#include "llm/tokenizer/step_reader.h"

#include <utility>

#include "runtime/base/error.h"

namespace spirloom::llm {
namespace {

// Pre-tokenization pattern of GPT-2, used by ByteLevel with `use_regex`.
constexpr const char* kGpt2Pattern =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

Status Unsupported(const char* kind, const std::string& type) {
  return Error(StatusCode::kUnsupported, "The {} {} of the tokenizer is not supported.", kind,
               Quote(type));
}

// Returns the regular expression of {"pattern": {"String": text}} or {"pattern": {"Regex": regex}}.
Result<std::string> PatternOf(const Json& value) {
  const Json* pattern = Member(value, "pattern");
  if (pattern != nullptr && Member(*pattern, "Regex") != nullptr) {
    return StringMember(*pattern, "Regex");
  }
  if (pattern == nullptr) return InvalidFile("The member 'pattern' is missing.");
  SPIRLOOM_TRY_ASSIGN(const std::string text, StringMember(*pattern, "String"));
  return EscapeRegex(text);
}

// Returns the pattern and the replacement of a Replace step.
Result<std::pair<std::string, std::string>> ReplacementOf(const Json& value, const char* kind) {
  const Json* pattern = Member(value, "pattern");
  if (pattern == nullptr || Member(*pattern, "String") == nullptr) {
    return Unsupported(kind, "Replace with a Regex pattern");
  }
  SPIRLOOM_TRY_ASSIGN(std::string from, StringMember(*pattern, "String"));
  SPIRLOOM_TRY_ASSIGN(std::string to, StringMember(value, "content"));
  if (from.empty()) return InvalidFile("The pattern of a Replace step is empty.");
  return std::pair(std::move(from), std::move(to));
}

Result<Behavior> BehaviorOf(const std::string& name) {
  if (name == "Isolated") return Behavior::kIsolated;
  if (name == "Removed") return Behavior::kRemoved;
  if (name == "MergedWithPrevious") return Behavior::kMergedWithPrevious;
  if (name == "MergedWithNext") return Behavior::kMergedWithNext;
  if (name == "Contiguous") return Behavior::kContiguous;
  return Unsupported("splitting behavior", name);
}

Status AddSplit(std::string_view pattern, Behavior behavior, bool invert,
                std::vector<PreTokenizer>& steps) {
  SPIRLOOM_TRY_ASSIGN(Regex regex, Regex::Compile(pattern));
  steps.push_back(Split(std::move(regex), behavior, invert));
  return Status();
}

Status ReadSplit(const Json& value, std::vector<PreTokenizer>& steps) {
  SPIRLOOM_TRY_ASSIGN(const std::string pattern, PatternOf(value));
  SPIRLOOM_TRY_ASSIGN(const std::string name, StringMember(value, "behavior"));
  SPIRLOOM_TRY_ASSIGN(const Behavior behavior, BehaviorOf(name));
  SPIRLOOM_TRY_ASSIGN(const bool invert, BoolMember(value, "invert", false));
  return AddSplit(pattern, behavior, invert, steps);
}

Status ReadByteLevel(const Json& value, std::vector<PreTokenizer>& steps) {
  SPIRLOOM_TRY_ASSIGN(const bool prefix, BoolMember(value, "add_prefix_space", true));
  SPIRLOOM_TRY_ASSIGN(const bool splits, BoolMember(value, "use_regex", true));
  if (prefix) steps.push_back(AddPrefixSpace());
  if (splits) SPIRLOOM_TRY(AddSplit(kGpt2Pattern, Behavior::kIsolated, false, steps));
  steps.push_back(ByteLevel());
  return Status();
}

Result<PrependScheme> SchemeOf(const Json& value) {
  if (Member(value, "prepend_scheme") == nullptr) {
    SPIRLOOM_TRY_ASSIGN(const bool prefix, BoolMember(value, "add_prefix_space", true));
    return prefix ? PrependScheme::kAlways : PrependScheme::kNever;
  }
  SPIRLOOM_TRY_ASSIGN(const std::string name, StringMember(value, "prepend_scheme"));
  if (name == "first") return PrependScheme::kFirst;
  if (name == "never") return PrependScheme::kNever;
  if (name == "always") return PrependScheme::kAlways;
  return InvalidFile("'prepend_scheme' is {}; expected first, never or always.", Quote(name));
}

Status ReadMetaspace(const Json& value, std::vector<PreTokenizer>& steps) {
  SPIRLOOM_TRY_ASSIGN(const std::string replacement, StringMember(value, "replacement"));
  if (replacement.empty()) return InvalidFile("'replacement' of Metaspace is empty.");
  SPIRLOOM_TRY_ASSIGN(const PrependScheme scheme, SchemeOf(value));
  SPIRLOOM_TRY_ASSIGN(const bool splits, BoolMember(value, "split", true));
  steps.push_back(Metaspace(replacement, scheme));
  if (!splits) return Status();
  return AddSplit(EscapeRegex(replacement), Behavior::kMergedWithNext, false, steps);
}

// Reads each step of a Sequence, or the single step `value`. Nested sequences are rejected:
// unlimited nesting in a malicious file would overflow the stack.
template <typename Read>
Status EachStep(const Json& value, const char* steps, const char* kind, const Read& read) {
  SPIRLOOM_TRY_ASSIGN(const std::string type, StringMember(value, "type"));
  if (type != "Sequence") return read(value, type);
  SPIRLOOM_TRY_ASSIGN(const Json* list, ArrayMember(value, steps));
  for (const Json& step : *list) {
    SPIRLOOM_TRY_ASSIGN(const std::string inner, StringMember(step, "type"));
    if (inner == "Sequence") return Unsupported(kind, "Sequence in a Sequence");
    SPIRLOOM_TRY(read(step, inner));
  }
  return Status();
}

Status ReadStrip(const Json& value, bool fused, Decoder& decoder) {
  SPIRLOOM_TRY_ASSIGN(decoder.strip, StringMember(value, "content"));
  const Json* start = Member(value, "start");
  const Json* stop = Member(value, "stop");
  const auto count = start == nullptr ? std::nullopt : TokenIdOf(*start);
  if (!count || stop == nullptr || TokenIdOf(*stop) != 0 || decoder.strip.empty() || !fused) {
    return Unsupported("decoder", "Strip other than at the start of the whole text");
  }
  decoder.max_stripped = static_cast<size_t>(*count);
  return Status();
}

Status ReadMetaspaceDecoder(const Json& value, Decoder& decoder) {
  SPIRLOOM_TRY_ASSIGN(const std::string replacement, StringMember(value, "replacement"));
  if (replacement.empty()) return InvalidFile("'replacement' of Metaspace is empty.");
  SPIRLOOM_TRY_ASSIGN(const PrependScheme scheme, SchemeOf(value));
  decoder.replace.emplace_back(replacement, " ");
  if (scheme != PrependScheme::kNever) decoder.drop_from_first = replacement;
  return Status();
}

}  // namespace

Status ReadNormalizer(const Json* value, std::vector<Normalizer>& steps) {
  if (value == nullptr) return Status();
  const auto read = [&](const Json& step, const std::string& type) -> Status {
    if (type == "NFC") {
      steps.push_back(Nfc());
    } else if (type == "Prepend") {
      SPIRLOOM_TRY_ASSIGN(std::string text, StringMember(step, "prepend"));
      steps.push_back(Prepend(std::move(text)));
    } else if (type == "Replace") {
      SPIRLOOM_TRY_ASSIGN(auto texts, ReplacementOf(step, "normalizer"));
      steps.push_back(Replace(std::move(texts.first), std::move(texts.second)));
    } else {
      return Unsupported("normalizer", type);
    }
    return Status();
  };
  return EachStep(*value, "normalizers", "normalizer", read);
}

Status ReadPreTokenizer(const Json* value, std::vector<PreTokenizer>& steps) {
  if (value == nullptr) return Status();
  const auto read = [&](const Json& step, const std::string& type) -> Status {
    if (type == "Split") return ReadSplit(step, steps);
    if (type == "ByteLevel") return ReadByteLevel(step, steps);
    if (type == "Metaspace") return ReadMetaspace(step, steps);
    if (type != "Digits") return Unsupported("pre-tokenizer", type);
    SPIRLOOM_TRY_ASSIGN(const bool each, BoolMember(step, "individual_digits", false));
    return AddSplit("\\p{N}", each ? Behavior::kIsolated : Behavior::kContiguous, false, steps);
  };
  return EachStep(*value, "pretokenizers", "pre-tokenizer", read);
}

Status ReadDecoder(const Json* value, Decoder& decoder) {
  if (value == nullptr) return Unsupported("decoder", "none");
  bool fused = false;
  const auto read = [&](const Json& step, const std::string& type) -> Status {
    if (type == "ByteLevel") {
      decoder.byte_level = true;
    } else if (type == "Replace") {
      SPIRLOOM_TRY_ASSIGN(auto texts, ReplacementOf(step, "decoder"));
      if (decoder.byte_fallback || fused)
        return Unsupported("decoder", "Replace after ByteFallback or Fuse");
      decoder.replace.push_back(std::move(texts));
    } else if (type == "ByteFallback") {
      decoder.byte_fallback = true;
    } else if (type == "Fuse") {
      fused = true;
    } else if (type == "Strip") {
      return ReadStrip(step, fused, decoder);
    } else if (type == "Metaspace") {
      return ReadMetaspaceDecoder(step, decoder);
    } else {
      return Unsupported("decoder", type);
    }
    return Status();
  };
  return EachStep(*value, "decoders", "decoder", read);
}

}  // namespace spirloom::llm
