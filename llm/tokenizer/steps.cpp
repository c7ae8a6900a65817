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

// The character of each byte: itself if it is printable Latin-1, else one from U+0100 on.
std::array<std::string, 256> MakeByteTexts() {
  std::array<std::string, 256> texts;
  char32_t next = 0x100;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
    AppendChar(printable ? byte : next++, texts[byte]);
  }
  return texts;
}

const std::array<std::string, 256>& ByteTexts() {
  static const std::array<std::string, 256> texts = MakeByteTexts();
  return texts;
}

struct Part {
  Range range;
  bool match;
};

// Matches and what lies between them, in order, none of them empty.
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

// Joins neighbours as `behavior` says; what is removed is not among the result.
std::vector<Range> Joined(const std::vector<Part>& parts, Behavior behavior) {
  std::vector<Range> joined;
  bool last_match = false;  // of the part before
  for (const Part& part : parts) {
    bool joins = false;
    switch (behavior) {
      case Behavior::kIsolated:
      case Behavior::kRemoved:
        break;
      case Behavior::kMergedWithPrevious:
        joins = part.match && !last_match;
        break;
      case Behavior::kMergedWithNext:
        joins = !part.match && last_match;
        break;
      case Behavior::kContiguous:
        joins = part.match == last_match;
        break;
    }
    if (behavior == Behavior::kRemoved && part.match) continue;
    if (joins && !joined.empty()) {
      joined.back().end = part.range.end;
    } else {
      joined.push_back(part.range);
    }
    last_match = part.match;
  }
  return joined;
}

}  // namespace

Normalizer Nfc() {
  return [](std::string text) -> Result<std::string> {
    uint8_t* made = nullptr;
    const utf8proc_ssize_t size = utf8proc_map(
        reinterpret_cast<const uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()),
        &made, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
    if (size == UTF8PROC_ERROR_NOMEM) return Status::OutOfMemory();
    if (size < 0) {
      return Error(StatusCode::kInvalidArgument,
                   {"The text has no normal form: ", utf8proc_errmsg(size), "."});
    }
    const std::unique_ptr<uint8_t, decltype(&std::free)> owned(made, &std::free);
    return std::string(reinterpret_cast<const char*>(made), static_cast<size_t>(size));
  };
}

Normalizer Prepend(std::string prefix) {
  return [prefix = std::move(prefix)](std::string text) -> Result<std::string> {
    return text.empty() ? text : prefix + text;
  };
}

Normalizer Replace(std::string from, std::string to) {
  return [from = std::move(from), to = std::move(to)](std::string text) -> Result<std::string> {
    return Replaced(text, from, to);
  };
}

PreTokenizer Split(Regex regex, Behavior behavior, bool invert) {
  return [regex = std::move(regex), behavior, invert](std::vector<Piece>& pieces) -> Status {
    std::vector<Piece> split;
    for (const Piece& piece : pieces) {
      SPIRLOOM_TRY_ASSIGN(const std::vector<Range> matches, regex.FindAll(piece.text));
      const std::vector<Part> parts = PartsOf(matches, piece.text.size(), invert);
      for (const Range& range : Joined(parts, behavior)) {
        split.push_back({piece.text.substr(range.begin, range.end - range.begin),
                         piece.first && range.begin == 0});
      }
    }
    pieces = std::move(split);
    return Status();
  };
}

PreTokenizer PrefixSpace() {
  return [](std::vector<Piece>& pieces) -> Status {
    for (Piece& piece : pieces) {
      if (!piece.text.starts_with(' ')) piece.text.insert(0, 1, ' ');
    }
    return Status();
  };
}

PreTokenizer BytesAsText() {
  return [](std::vector<Piece>& pieces) -> Status {
    for (Piece& piece : pieces) {
      std::string text;
      for (const char byte : piece.text) text += ByteTexts()[static_cast<uint8_t>(byte)];
      piece.text = std::move(text);
    }
    return Status();
  };
}

PreTokenizer Metaspace(std::string replacement, PrependScheme scheme) {
  return [replacement = std::move(replacement), scheme](std::vector<Piece>& pieces) -> Status {
    for (Piece& piece : pieces) {
      piece.text = Replaced(piece.text, " ", replacement);
      const bool wanted =
          scheme == PrependScheme::kAlways || (scheme == PrependScheme::kFirst && piece.first);
      if (wanted && !piece.text.starts_with(replacement)) piece.text.insert(0, replacement);
    }
    return Status();
  };
}

std::string BytesOf(std::string_view token) {
  static const std::unordered_map<std::string_view, char> bytes = [] {
    std::unordered_map<std::string_view, char> made;
    for (size_t i = 0; i < 256; ++i) made.emplace(ByteTexts()[i], static_cast<char>(i));
    return made;
  }();
  std::string made;
  for (std::string_view rest = token; !rest.empty();) {
    const size_t size = CharSize(rest);
    const auto found = bytes.find(rest.substr(0, size));
    if (found == bytes.end()) return std::string(token);
    made += found->second;
    rest.remove_prefix(size);
  }
  return made;
}

std::string Replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string made;
  for (size_t at = text.find(from); at != std::string_view::npos; at = text.find(from)) {
    made += text.substr(0, at);
    made += to;
    text.remove_prefix(at + from.size());
  }
  made += text;
  return made;
}

}  // namespace spirloom::llm
