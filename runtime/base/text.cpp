#include "runtime/base/text.h"

#include <cstring>

namespace spirloom {

void TextPiece::AppendTo(std::string& text) const {
  if (kind_ == kUnsigned) {
    text += std::to_string(value_);
  } else if (kind_ == kSigned) {
    text += std::to_string(static_cast<int64_t>(value_));
  } else {
    text.append(text_, static_cast<size_t>(kind_));
  }
}

std::string Concat(std::initializer_list<TextPiece> pieces) {
  std::string text;
  for (const TextPiece& piece : pieces) piece.AppendTo(text);
  return text;
}

std::string FormatValues(const char* format, std::initializer_list<TextPiece> values) {
  std::string text;
  for (const TextPiece& value : values) {
    const char* end = std::strstr(format, "{}");
    text.append(format, end);
    value.AppendTo(text);
    format = end + 2;
  }
  return text + format;
}

std::string Join(std::span<const std::string> texts, std::string_view separator) {
  std::string joined;
  for (size_t i = 0; i < texts.size(); ++i) {
    if (i > 0) joined += separator;
    joined += texts[i];
  }
  return joined;
}

std::string Quote(std::string_view name) {
  constexpr size_t kMaxShown = 80;
  std::string quoted = "'";
  for (char c : name.substr(0, kMaxShown)) {
    const auto byte = static_cast<unsigned char>(c);
    quoted += byte < 0x20 || byte == 0x7f ? '?' : c;
  }
  if (name.size() > kMaxShown) quoted += "...";
  return quoted + "'";
}

std::string Hex(std::span<const uint8_t> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::string Hex(uint32_t value, size_t digits) {
  const uint8_t bytes[] = {static_cast<uint8_t>(value >> 24), static_cast<uint8_t>(value >> 16),
                           static_cast<uint8_t>(value >> 8), static_cast<uint8_t>(value)};
  return Hex(std::span(bytes)).substr(8 - digits);
}

}  // namespace spirloom
