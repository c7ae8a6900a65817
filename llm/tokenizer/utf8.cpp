#include "llm/tokenizer/utf8.h"

#include <cstdint>

namespace spirloom::llm {
namespace {

// Properties of a lead byte: size of the character in bytes (0 if invalid) and range of the second
// byte.
struct Lead {
  size_t size;
  uint8_t min;
  uint8_t max;
};

Lead LeadOf(uint8_t byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte >= 0xC2 && byte <= 0xDF) return {2, 0x80, 0xBF};
  if (byte >= 0xE0 && byte <= 0xEF) {
    return {3, static_cast<uint8_t>(byte == 0xE0 ? 0xA0 : 0x80),
            static_cast<uint8_t>(byte == 0xED ? 0x9F : 0xBF)};
  }
  if (byte >= 0xF0 && byte <= 0xF4) {
    return {4, static_cast<uint8_t>(byte == 0xF0 ? 0x90 : 0x80),
            static_cast<uint8_t>(byte == 0xF4 ? 0x8F : 0xBF)};
  }
  return {0, 0, 0};
}

}  // namespace

Utf8Unit FirstUnit(std::string_view bytes) {
  Lead lead = LeadOf(static_cast<uint8_t>(bytes[0]));
  if (lead.size == 0) return {1, false, false};
  for (size_t i = 1; i < lead.size; ++i) {
    if (i == bytes.size()) return {i, false, true};
    const auto byte = static_cast<uint8_t>(bytes[i]);
    if (byte < lead.min || byte > lead.max) return {i, false, false};
    lead.min = 0x80;
    lead.max = 0xBF;
  }
  return {lead.size, true, false};
}

std::string ValidUtf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const Utf8Unit unit = FirstUnit(bytes);
    text += unit.valid ? bytes.substr(0, unit.size) : std::string_view("\xEF\xBF\xBD");
    bytes.remove_prefix(unit.size);
  }
  return text;
}

size_t CompletePrefix(std::string_view bytes) {
  // A character has up to four bytes, so only the last three can start an incomplete one.
  for (size_t i = bytes.size() - (bytes.size() < 3 ? bytes.size() : 3); i < bytes.size(); ++i) {
    const Utf8Unit unit = FirstUnit(bytes.substr(i));
    if (unit.incomplete) return i;
  }
  return bytes.size();
}

size_t CharSize(std::string_view text) { return FirstUnit(text).size; }

void AppendChar(char32_t code, std::string& text) {
  const auto append = [&](char32_t bits) { text += static_cast<char>(static_cast<uint8_t>(bits)); };
  if (code < 0x80) {
    append(code);
  } else if (code < 0x800) {
    append(0xC0 | code >> 6);
    append(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    append(0xE0 | code >> 12);
    append(0x80 | (code >> 6 & 0x3F));
    append(0x80 | (code & 0x3F));
  } else {
    append(0xF0 | code >> 18);
    append(0x80 | (code >> 12 & 0x3F));
    append(0x80 | (code >> 6 & 0x3F));
    append(0x80 | (code & 0x3F));
  }
}

}  // namespace spirloom::llm
