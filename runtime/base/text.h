// Text of messages, built out of line: chains of std::string `+` would be inlined at every use and
// increase the size of the library, as would one argument for each literal between two values.
#ifndef SPIRLOOM_RUNTIME_BASE_TEXT_H_
#define SPIRLOOM_RUNTIME_BASE_TEXT_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "spirloom/export.h"

namespace spirloom {

// A reference to a text, or an integer. Two words, so that lists of pieces are cheap.
class TextPiece {
 public:
  TextPiece(const char* text) : TextPiece(std::string_view(text)) {}         // NOLINT: by design
  TextPiece(const std::string& text) : TextPiece(std::string_view(text)) {}  // NOLINT
  TextPiece(std::string_view text)                                           // NOLINT
      : text_(text.data()), kind_(static_cast<int64_t>(text.size())) {}
  TextPiece(std::unsigned_integral auto value) : value_(value), kind_(kUnsigned) {}  // NOLINT
  TextPiece(std::signed_integral auto value)                                         // NOLINT
      : value_(static_cast<uint64_t>(value)), kind_(kSigned) {}

  void AppendTo(std::string& text) const;

 private:
  static constexpr int64_t kUnsigned = -1;
  static constexpr int64_t kSigned = -2;

  union {
    const char* text_;
    uint64_t value_;
  };
  int64_t kind_;  // length of the text, or kUnsigned or kSigned
};

// E.g. Concat({name, "_", i}).
std::string Concat(std::initializer_list<TextPiece> pieces);

// A constant text with "{}" for each of N values, which the compiler counts.
template <size_t N>
class FormatString {
 public:
  consteval FormatString(const char* text) : text_(text) {  // NOLINT: implicit by design
    size_t count = 0;
    for (; *text != 0; ++text) count += text[0] == '{' && text[1] == '}';
    if (count != N) throw "The number of \"{}\" differs from the number of values.";
  }
  const char* text() const { return text_; }

 private:
  const char* text_;
};

// Replaces each "{}" by the next value.
std::string FormatValues(const char* format, std::initializer_list<TextPiece> values);

// E.g. Format("Size ({}) exceeds {}.", size, limit).
template <typename... Values>
SPIRLOOM_ALWAYS_INLINE inline std::string Format(FormatString<sizeof...(Values)> format,
                                                 const Values&... values) {
  return FormatValues(format.text(), {values...});
}

// Joins the texts, e.g. Join({"a", "b"}, ", ").
std::string Join(std::span<const std::string> texts, std::string_view separator);

// Quotes a name from a file: truncated, with unprintable bytes replaced by '?'.
std::string Quote(std::string_view name);
// Two lower-case hexadecimal digits for each byte.
std::string Hex(std::span<const uint8_t> bytes);
// Eight hexadecimal digits, or the last `digits` of them.
std::string Hex(uint32_t value, size_t digits = 8);

}  // namespace spirloom

#endif  // SPIRLOOM_RUNTIME_BASE_TEXT_H_
