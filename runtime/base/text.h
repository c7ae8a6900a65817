// Text of messages, built out of line: chains of std::string `+` would be inlined at every use and
// increase the size of the library, as would one argument for each literal between two values.
// Values are variadic arguments, because registers are smaller than a list in memory.
#ifndef SPIRLOOM_RUNTIME_BASE_TEXT_H_
#define SPIRLOOM_RUNTIME_BASE_TEXT_H_

#include <concepts>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "spirloom/export.h"

namespace spirloom {

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

// A std::string_view as a variadic argument, which has no constructors.
struct TextView {
  const char* data;
  size_t size;
};

// A value that is formatted as Quote(name), e.g. Format("The model has no input {}.",
// Quoted{name}).
struct Quoted {
  std::string_view name;
};

// The types of variadic arguments: int64_t, uint64_t, const char*, const std::string*, TextView of
// a view and of a Quoted.
enum class ValueType : uint64_t { kSigned, kUnsigned, kText, kString, kView, kQuoted };
inline constexpr int kValueTypeBits = 3;

template <typename Value>
consteval ValueType TypeOf() {
  if (std::signed_integral<Value>) return ValueType::kSigned;
  if (std::unsigned_integral<Value>) return ValueType::kUnsigned;
  if (std::same_as<Value, std::string>) return ValueType::kString;
  if (std::same_as<Value, Quoted>) return ValueType::kQuoted;
  return std::convertible_to<const Value&, const char*> ? ValueType::kText : ValueType::kView;
}

// The types of the values, from the lowest bits on.
template <typename... Values>
consteval uint64_t TypesOf() {
  static_assert(kValueTypeBits * sizeof...(Values) <= 64);
  uint64_t types = 0;
  int shift = 0;
  for (const ValueType type : std::initializer_list<ValueType>{TypeOf<Values>()...}) {
    types |= static_cast<uint64_t>(type) << shift;
    shift += kValueTypeBits;
  }
  return types;
}

// The variadic argument of a value.
inline int64_t ToArgument(std::signed_integral auto value) { return value; }
inline uint64_t ToArgument(std::unsigned_integral auto value) { return value; }
inline const char* ToArgument(const char* value) { return value; }
inline const std::string* ToArgument(const std::string& value) { return &value; }
inline TextView ToArgument(std::string_view value) { return {value.data(), value.size()}; }
inline TextView ToArgument(Quoted value) { return ToArgument(value.name); }

// Replaces each "{}" by the next value. `types` is TypesOf() the values.
std::string FormatList(const char* format, uint64_t types, va_list values);
std::string FormatValues(const char* format, uint64_t types, ...);

// The format of values without text.
inline constexpr size_t kMaxPlaceholders = 8;
constexpr const char* Placeholders(size_t count) {
  return &"{}{}{}{}{}{}{}{}"[2 * (kMaxPlaceholders - count)];
}

// E.g. Format("Size ({}) exceeds {}.", size, limit).
template <typename... Values>
SPIRLOOM_ALWAYS_INLINE inline std::string Format(FormatString<sizeof...(Values)> format,
                                                 const Values&... values) {
  return FormatValues(format.text(), TypesOf<Values...>(), ToArgument(values)...);
}

// E.g. Concat(name, "_", i).
template <typename... Values>
SPIRLOOM_ALWAYS_INLINE inline std::string Concat(const Values&... values) {
  static_assert(sizeof...(Values) <= kMaxPlaceholders);
  return FormatValues(Placeholders(sizeof...(Values)), TypesOf<Values...>(), ToArgument(values)...);
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
