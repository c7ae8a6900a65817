#include "runtime/base/text.h"

namespace spirloom {

void TextPiece::AppendTo(std::string& text) const {
  if (kind_ == kUnsigned) {
    text += std::to_string(number_);
  } else if (kind_ == kSigned) {
    text += std::to_string(static_cast<int64_t>(number_));
  } else {
    text.append(text_, static_cast<size_t>(kind_));
  }
}

std::string Concat(std::initializer_list<TextPiece> pieces) {
  std::string text;
  for (const TextPiece& piece : pieces) piece.AppendTo(text);
  return text;
}

}  // namespace spirloom
