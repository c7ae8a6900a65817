#include "runtime/graph/file/file_kind.h"

#include <string_view>

namespace spirloom::graph {
namespace {

// Whether a file has bytes at an offset, in hexadecimal digits; ?? is any byte.
bool HasMagic(std::span<const std::byte> file, size_t offset, std::string_view magic) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const size_t bytes = magic.size() / 2;
  if (file.size() < bytes || offset > file.size() - bytes) return false;
  for (size_t i = 0; i < bytes; ++i) {
    const std::string_view pair = magic.substr(2 * i, 2);
    const auto byte = static_cast<size_t>(file[offset + i]);
    if (pair != "??" && (kDigits[byte / 16] != pair[0] || kDigits[byte % 16] != pair[1])) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::string AdviceOn(std::span<const std::byte> file) {
#define SPIRLOOM_FILE_KIND(offset, magic, kind, remedy) \
  if (HasMagic(file, offset, magic)) return " It is " kind ". " remedy ".";
#include "spec_model/file_kinds.inc"
#undef SPIRLOOM_FILE_KIND
  return "";
}

}  // namespace spirloom::graph
