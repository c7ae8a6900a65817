#include "runtime/base/text.h"

#include <cstring>

namespace spirloom {

std::string FormatList(const char* format, uint64_t types, va_list values) {
  std::string text;
  while (const char* end = std::strstr(format, "{}")) {
    text.append(format, end);
    switch (static_cast<ValueType>(types & ((1 << kValueTypeBits) - 1))) {
      case ValueType::kSigned:
        text += std::to_string(va_arg(values, int64_t));
        break;
      case ValueType::kUnsigned:
        text += std::to_string(va_arg(values, uint64_t));
        break;
      case ValueType::kText:
        text += va_arg(values, const char*);
        break;
      case ValueType::kString:
        text += *va_arg(values, const std::string*);
        break;
      case ValueType::kView: {
        const TextView view = va_arg(values, TextView);
        text.append(view.data, view.size);
        break;
      }
      case ValueType::kQuoted: {
        const TextView name = va_arg(values, TextView);
        text += Quote({name.data, name.size});
        break;
      }
    }
    types >>= kValueTypeBits;
    format = end + 2;
  }
  return text + format;
}

std::string FormatValues(const char* format, uint64_t types, ...) {
  va_list values;
  va_start(values, types);
  std::string text = FormatList(format, types, values);
  va_end(values);
  return text;
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
