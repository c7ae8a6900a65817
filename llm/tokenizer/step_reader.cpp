#include "llm/tokenizer/step_reader.h"

#include <utility>

#include "runtime/base/error.h"

namespace spirloom::llm {
namespace {

// The expression by which GPT-2 splits, where ByteLevel says no other.
constexpr const char* kGpt2Words =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

Status Unsupported(const char* what, const std::string& type) {
  return Error(StatusCode::kUnsupported,
               {"The tokenizer has the ", what, " ", Quote(type), ", which is not supported."});
}

// Of the pattern {"String": text} or {"Regex": expression}.
Result<std::string> ExpressionOf(const Json& value) {
  const Json* pattern = Member(value, "pattern");
  if (pattern != nullptr && Member(*pattern, "Regex") != nullptr) {
    return TextMember(*pattern, "Regex");
  }
  if (pattern == nullptr) return InvalidFile({"The member 'pattern' is missing."});
  SPIRLOOM_TRY_ASSIGN(const std::string text, TextMember(*pattern, "String"));
  return Escaped(text);
}

// The texts of a step that replaces one by another.
Result<std::pair<std::string, std::string>> ReplacementOf(const Json& value, const char* what) {
  const Json* pattern = Member(value, "pattern");
  if (pattern == nullptr || Member(*pattern, "String") == nullptr) {
    return Unsupported(what, "Replace of an expression");
  }
  SPIRLOOM_TRY_ASSIGN(std::string from, TextMember(*pattern, "String"));
  SPIRLOOM_TRY_ASSIGN(std::string to, TextMember(value, "content"));
  if (from.empty()) return InvalidFile({"A step replaces an empty text."});
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

Status AddSplit(std::string_view expression, Behavior behavior, bool invert,
                std::vector<PreTokenizer>& steps) {
  SPIRLOOM_TRY_ASSIGN(Regex regex, Regex::Compile(expression));
  steps.push_back(Split(std::move(regex), behavior, invert));
  return Status();
}

Status ReadSplit(const Json& value, std::vector<PreTokenizer>& steps) {
  SPIRLOOM_TRY_ASSIGN(const std::string expression, ExpressionOf(value));
  SPIRLOOM_TRY_ASSIGN(const std::string name, TextMember(value, "behavior"));
  SPIRLOOM_TRY_ASSIGN(const Behavior behavior, BehaviorOf(name));
  SPIRLOOM_TRY_ASSIGN(const bool invert, FlagMember(value, "invert", false));
  return AddSplit(expression, behavior, invert, steps);
}

Status ReadByteLevel(const Json& value, std::vector<PreTokenizer>& steps) {
  SPIRLOOM_TRY_ASSIGN(const bool prefix, FlagMember(value, "add_prefix_space", true));
  SPIRLOOM_TRY_ASSIGN(const bool splits, FlagMember(value, "use_regex", true));
  if (prefix) steps.push_back(PrefixSpace());
  if (splits) SPIRLOOM_TRY(AddSplit(kGpt2Words, Behavior::kIsolated, false, steps));
  steps.push_back(BytesAsText());
  return Status();
}

Result<PrependScheme> SchemeOf(const Json& value) {
  if (Member(value, "prepend_scheme") == nullptr) {
    SPIRLOOM_TRY_ASSIGN(const bool prefix, FlagMember(value, "add_prefix_space", true));
    return prefix ? PrependScheme::kAlways : PrependScheme::kNever;
  }
  SPIRLOOM_TRY_ASSIGN(const std::string name, TextMember(value, "prepend_scheme"));
  if (name == "first") return PrependScheme::kFirst;
  if (name == "never") return PrependScheme::kNever;
  if (name == "always") return PrependScheme::kAlways;
  return InvalidFile({"'prepend_scheme' is ", Quote(name), ", not first, never or always."});
}

Status ReadMetaspace(const Json& value, std::vector<PreTokenizer>& steps) {
  SPIRLOOM_TRY_ASSIGN(const std::string replacement, TextMember(value, "replacement"));
  if (replacement.empty()) return InvalidFile({"'replacement' of Metaspace is empty."});
  SPIRLOOM_TRY_ASSIGN(const PrependScheme scheme, SchemeOf(value));
  SPIRLOOM_TRY_ASSIGN(const bool splits, FlagMember(value, "split", true));
  steps.push_back(Metaspace(replacement, scheme));
  if (!splits) return Status();
  return AddSplit(Escaped(replacement), Behavior::kMergedWithNext, false, steps);
}

// The steps of a sequence, or the one that `value` is. One in another is refused: it has no use,
// and a hostile one no end.
template <typename Read>
Status EachStep(const Json& value, const char* steps, const char* what, const Read& read) {
  SPIRLOOM_TRY_ASSIGN(const std::string type, TextMember(value, "type"));
  if (type != "Sequence") return read(value, type);
  SPIRLOOM_TRY_ASSIGN(const Json* list, ListMember(value, steps));
  for (const Json& step : *list) {
    SPIRLOOM_TRY_ASSIGN(const std::string inner, TextMember(step, "type"));
    if (inner == "Sequence") return Unsupported(what, "Sequence in a Sequence");
    SPIRLOOM_TRY(read(step, inner));
  }
  return Status();
}

Status ReadStrip(const Json& value, bool fused, Decoder& decoder) {
  SPIRLOOM_TRY_ASSIGN(decoder.strip, TextMember(value, "content"));
  const Json* start = Member(value, "start");
  const Json* stop = Member(value, "stop");
  const auto count = start == nullptr ? std::nullopt : TokenOf(*start);
  if (!count || stop == nullptr || TokenOf(*stop) != 0 || decoder.strip.empty() || !fused) {
    return Unsupported("decoder", "Strip of anything but the beginning of the whole text");
  }
  decoder.most_stripped = static_cast<size_t>(*count);
  return Status();
}

Status ReadMetaspaceDecoder(const Json& value, Decoder& decoder) {
  SPIRLOOM_TRY_ASSIGN(const std::string replacement, TextMember(value, "replacement"));
  if (replacement.empty()) return InvalidFile({"'replacement' of Metaspace is empty."});
  SPIRLOOM_TRY_ASSIGN(const PrependScheme scheme, SchemeOf(value));
  decoder.replace.emplace_back(replacement, " ");
  if (scheme != PrependScheme::kNever) decoder.drop_in_first = replacement;
  return Status();
}

}  // namespace

Status ReadNormalizer(const Json* value, std::vector<Normalizer>& steps) {
  if (value == nullptr) return Status();
  const auto read = [&](const Json& step, const std::string& type) -> Status {
    if (type == "NFC") {
      steps.push_back(Nfc());
    } else if (type == "Prepend") {
      SPIRLOOM_TRY_ASSIGN(std::string text, TextMember(step, "prepend"));
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
    SPIRLOOM_TRY_ASSIGN(const bool each, FlagMember(step, "individual_digits", false));
    return AddSplit("\\p{N}", each ? Behavior::kIsolated : Behavior::kContiguous, false, steps);
  };
  return EachStep(*value, "pretokenizers", "pre-tokenizer", read);
}

Status ReadDecoder(const Json* value, Decoder& decoder) {
  if (value == nullptr) return Unsupported("decoder", "none");
  bool fused = false;
  const auto read = [&](const Json& step, const std::string& type) -> Status {
    if (type == "ByteLevel") {
      decoder.bytes_as_text = true;
    } else if (type == "Replace") {
      SPIRLOOM_TRY_ASSIGN(auto texts, ReplacementOf(step, "decoder"));
      if (decoder.byte_tokens || fused) return Unsupported("decoder", "Replace after others");
      decoder.replace.push_back(std::move(texts));
    } else if (type == "ByteFallback") {
      decoder.byte_tokens = true;
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
