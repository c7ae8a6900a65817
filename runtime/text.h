// Text for messages. Built out of line: `+` chains of std::string are inlined at every use, and
// messages are a good part of the library.
#ifndef SPIRLOOM_RUNTIME_TEXT_H_
#define SPIRLOOM_RUNTIME_TEXT_H_

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace spirloom {

// A text or a number; refers to the text.
class TextPiece {
 public:
  TextPiece(const char* text) : text_(text) {}         // NOLINT: implicit by design
  TextPiece(std::string_view text) : text_(text) {}    // NOLINT
  TextPiece(const std::string& text) : text_(text) {}  // NOLINT
  TextPiece(std::unsigned_integral auto value) : value_(value), is_number_(true) {}  // NOLINT
  TextPiece(std::signed_integral auto value)                                         // NOLINT
      : value_(static_cast<uint64_t>(value)), is_number_(true), is_signed_(true) {}

  void AppendTo(std::string& text) const;

 private:
  std::string_view text_;
  uint64_t value_ = 0;
  bool is_number_ = false;
  bool is_signed_ = false;
};

// E.g. Concat({"Size (", size, ") exceeds ", limit, "."}).
std::string Concat(std::initializer_list<TextPiece> pieces);

}  // namespace spirloom

#endif  // SPIRLOOM_RUNTIME_TEXT_H_
