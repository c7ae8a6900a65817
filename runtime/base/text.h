// Text for messages. Built out of line: `+` chains of std::string are inlined at every use, and
// messages are a good part of the library.
#ifndef SPIRLOOM_RUNTIME_BASE_TEXT_H_
#define SPIRLOOM_RUNTIME_BASE_TEXT_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace spirloom {

// A text or a whole number; refers to the text. Two words, so that lists of them are cheap to make.
class TextPiece {
 public:
  TextPiece(const char* text) : TextPiece(std::string_view(text)) {}         // NOLINT: by design
  TextPiece(const std::string& text) : TextPiece(std::string_view(text)) {}  // NOLINT
  TextPiece(std::string_view text)                                           // NOLINT
      : text_(text.data()), kind_(static_cast<int64_t>(text.size())) {}
  TextPiece(std::unsigned_integral auto value) : number_(value), kind_(kUnsigned) {}  // NOLINT
  TextPiece(std::signed_integral auto value)                                          // NOLINT
      : number_(static_cast<uint64_t>(value)), kind_(kSigned) {}

  void AppendTo(std::string& text) const;

 private:
  static constexpr int64_t kUnsigned = -1;
  static constexpr int64_t kSigned = -2;

  union {
    const char* text_;
    uint64_t number_;
  };
  int64_t kind_;  // the text's length, or which number it is
};

// E.g. Concat({"Size (", size, ") exceeds ", limit, "."}).
std::string Concat(std::initializer_list<TextPiece> pieces);

// The texts with `separator` between them, e.g. Join({"a", "b"}, ", ").
std::string Join(std::span<const std::string> texts, std::string_view separator);

// A name out of a file, in quotes, shortened, with unprintable bytes replaced by '?'.
std::string Quote(std::string_view name);
// Two lower-case hexadecimal digits for each byte.
std::string Hex(std::span<const uint8_t> bytes);
// Eight of them, or the last `digits`.
std::string Hex(uint32_t value, size_t digits = 8);

}  // namespace spirloom

#endif  // SPIRLOOM_RUNTIME_BASE_TEXT_H_
