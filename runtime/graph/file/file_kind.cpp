#include "runtime/graph/file/file_kind.h"

#include <array>
#include <string_view>

#include "runtime/base/text.h"

namespace spirloom::graph {
namespace {

struct FileKind {
  size_t offset;
  std::string_view magic;  // hexadecimal digits; ?? is any byte
  std::string_view kind;
  std::string_view remedy;
};

#define SPIRLOOM_FILE_KIND(offset, magic, kind, remedy) FileKind{offset, magic, kind, remedy},
constexpr std::array kFileKinds = {
#include "spec_model/file_kinds.inc"
};
#undef SPIRLOOM_FILE_KIND

bool Matches(const FileKind& kind, std::span<const std::byte> file) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const size_t bytes = kind.magic.size() / 2;
  if (file.size() < bytes || kind.offset > file.size() - bytes) return false;
  for (size_t i = 0; i < bytes; ++i) {
    const std::string_view pair = kind.magic.substr(2 * i, 2);
    const auto byte = static_cast<size_t>(file[kind.offset + i]);
    if (pair != "??" && (kDigits[byte / 16] != pair[0] || kDigits[byte % 16] != pair[1])) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::string AdviceOn(std::span<const std::byte> file) {
  for (const FileKind& kind : kFileKinds) {
    if (Matches(kind, file)) return Concat(" It is ", kind.kind, ". ", kind.remedy, ".");
  }
  return "";
}

}  // namespace spirloom::graph
