#include "llm/tokenizer/utf8.h"

#include <cstdint>

namespace spirloom::llm {
namespace {

// The size that a first byte tells, 0 if it is none, and between what the second byte lies.
struct Lead {
  size_t size;
  uint8_t least;
  uint8_t greatest;
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

Utf8Step FirstStep(std::string_view bytes) {
  Lead lead = LeadOf(static_cast<uint8_t>(bytes[0]));
  if (lead.size == 0) return {1, false, false};
  for (size_t i = 1; i < lead.size; ++i) {
    if (i == bytes.size()) return {i, false, true};
    const auto byte = static_cast<uint8_t>(bytes[i]);
    if (byte < lead.least || byte > lead.greatest) return {i, false, false};
    lead.least = 0x80;
    lead.greatest = 0xBF;
  }
  return {lead.size, true, false};
}

std::string ValidUtf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const Utf8Step step = FirstStep(bytes);
    text += step.valid ? bytes.substr(0, step.size) : std::string_view("\xEF\xBF\xBD");
    bytes.remove_prefix(step.size);
  }
  return text;
}

size_t CompletePrefix(std::string_view bytes) {
  // A character that began more than three bytes ago has ended.
  for (size_t i = bytes.size() - (bytes.size() < 3 ? bytes.size() : 3); i < bytes.size(); ++i) {
    const Utf8Step step = FirstStep(bytes.substr(i));
    if (step.incomplete) return i;
  }
  return bytes.size();
}

size_t CharSize(std::string_view text) { return FirstStep(text).size; }

void AppendChar(char32_t code, std::string& text) {
  const auto put = [&](char32_t bits) { text += static_cast<char>(static_cast<uint8_t>(bits)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | code >> 6);
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3F));
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

}  // namespace spirloom::llm
