#include "runtime/text.h"

namespace spirloom {

void TextPiece::AppendTo(std::string& text) const {
  if (!is_number_) {
    text += text_;
  } else if (is_signed_) {
    text += std::to_string(static_cast<int64_t>(value_));
  } else {
    text += std::to_string(value_);
  }
}

std::string Concat(std::initializer_list<TextPiece> pieces) {
  std::string text;
  for (const TextPiece& piece : pieces) piece.AppendTo(text);
  return text;
}

}  // namespace spirloom
