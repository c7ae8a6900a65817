#include "llm/tokenizer/steps.h"

#include <utf8proc.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <unordered_map>
#include <utility>

#include "llm/tokenizer/utf8.h"
#include "runtime/base/error.h"

namespace spirloom::llm {
namespace {

// Maps bytes to characters as GPT-2: printable Latin-1 to itself, other bytes to U+0100 and up.
std::array<std::string, 256> MakeByteLevelTable() {
  std::array<std::string, 256> texts;
  char32_t next = 0x100;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
    AppendChar(printable ? byte : next++, texts[byte]);
  }
  return texts;
}

const std::array<std::string, 256>& ByteLevelTable() {
  static const std::array<std::string, 256> texts = MakeByteLevelTable();
  return texts;
}

struct Part {
  Range range;
  bool match;
};

// Returns the matches and the gaps between them in order, without empty ones.
std::vector<Part> PartsOf(const std::vector<Range>& matches, size_t size, bool invert) {
  std::vector<Part> parts;
  size_t end = 0;
  for (const Range& match : matches) {
    if (match.begin > end) parts.push_back({{end, match.begin}, invert});
    parts.push_back({match, !invert});
    end = match.end;
  }
  if (end < size) parts.push_back({{end, size}, invert});
  return parts;
}

// Merges or removes adjacent parts according to `behavior`.
std::vector<Range> Merged(const std::vector<Part>& parts, Behavior behavior) {
  std::vector<Range> merged;
  bool previous_match = false;
  for (const Part& part : parts) {
    bool merges = false;
    switch (behavior) {
      case Behavior::kIsolated:
      case Behavior::kRemoved:
        break;
      case Behavior::kMergedWithPrevious:
        merges = part.match && !previous_match;
        break;
      case Behavior::kMergedWithNext:
        merges = !part.match && previous_match;
        break;
      case Behavior::kContiguous:
        merges = part.match == previous_match;
        break;
    }
    if (behavior == Behavior::kRemoved && part.match) continue;
    if (merges && !merged.empty()) {
      merged.back().end = part.range.end;
    } else {
      merged.push_back(part.range);
    }
    previous_match = part.match;
  }
  return merged;
}

}  // namespace

Normalizer Nfc() {
  return [](std::string text) -> Result<std::string> {
    uint8_t* result = nullptr;
    const utf8proc_ssize_t size = utf8proc_map(
        reinterpret_cast<const uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()),
        &result, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
    if (size == UTF8PROC_ERROR_NOMEM) return Status::OutOfMemory();
    if (size < 0) {
      return Error(StatusCode::kInvalidArgument, "NFC normalization of the text failed: {}.",
                   utf8proc_errmsg(size));
    }
    const std::unique_ptr<uint8_t, decltype(&std::free)> owned(result, &std::free);
    return std::string(reinterpret_cast<const char*>(result), static_cast<size_t>(size));
  };
}

Normalizer Prepend(std::string prefix) {
  return [prefix = std::move(prefix)](std::string text) -> Result<std::string> {
    return text.empty() ? text : prefix + text;
  };
}

Normalizer Replace(std::string from, std::string to) {
  return [from = std::move(from), to = std::move(to)](std::string text) -> Result<std::string> {
    return ReplaceAll(text, from, to);
  };
}

PreTokenizer Split(Regex regex, Behavior behavior, bool invert) {
  return [regex = std::move(regex), behavior, invert](std::vector<Piece>& pieces) -> Status {
    std::vector<Piece> split;
    for (const Piece& piece : pieces) {
      SPIRLOOM_TRY_ASSIGN(const std::vector<Range> matches, regex.FindAll(piece.text));
      const std::vector<Part> parts = PartsOf(matches, piece.text.size(), invert);
      for (const Range& range : Merged(parts, behavior)) {
        split.push_back({piece.text.substr(range.begin, range.end - range.begin),
                         piece.first && range.begin == 0});
      }
    }
    pieces = std::move(split);
    return Status();
  };
}

PreTokenizer AddPrefixSpace() {
  return [](std::vector<Piece>& pieces) -> Status {
    for (Piece& piece : pieces) {
      if (!piece.text.starts_with(' ')) piece.text.insert(0, 1, ' ');
    }
    return Status();
  };
}

PreTokenizer ByteLevel() {
  return [](std::vector<Piece>& pieces) -> Status {
    for (Piece& piece : pieces) {
      std::string text;
      for (const char byte : piece.text) text += ByteLevelTable()[static_cast<uint8_t>(byte)];
      piece.text = std::move(text);
    }
    return Status();
  };
}

PreTokenizer Metaspace(std::string replacement, PrependScheme scheme) {
  return [replacement = std::move(replacement), scheme](std::vector<Piece>& pieces) -> Status {
    for (Piece& piece : pieces) {
      piece.text = ReplaceAll(piece.text, " ", replacement);
      const bool prepends =
          scheme == PrependScheme::kAlways || (scheme == PrependScheme::kFirst && piece.first);
      if (prepends && !piece.text.starts_with(replacement)) piece.text.insert(0, replacement);
    }
    return Status();
  };
}

std::string ByteLevelDecode(std::string_view token) {
  static const std::unordered_map<std::string_view, char> bytes = [] {
    std::unordered_map<std::string_view, char> result;
    for (size_t i = 0; i < 256; ++i) result.emplace(ByteLevelTable()[i], static_cast<char>(i));
    return result;
  }();
  std::string result;
  for (std::string_view rest = token; !rest.empty();) {
    const size_t size = CharSize(rest);
    const auto found = bytes.find(rest.substr(0, size));
    if (found == bytes.end()) return std::string(token);
    result += found->second;
    rest.remove_prefix(size);
  }
  return result;
}

std::string ReplaceAll(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  for (size_t at = text.find(from); at != std::string_view::npos; at = text.find(from)) {
    result += text.substr(0, at);
    result += to;
    text.remove_prefix(at + from.size());
  }
  result += text;
  return result;
}

}  // namespace spirloom::llm
