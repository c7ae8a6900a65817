#include "compiler/base/diagnostics.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace spirloom::compiler {
namespace {

constexpr size_t kNamedVariants = 3;

// Removes a trailing ":<digits>" from `text` and returns its value; 0 if there is none.
unsigned long RemoveTrailingNumber(std::string& text) {
  const size_t colon = text.find_last_not_of("0123456789");
  if (colon == std::string::npos || text[colon] != ':' || colon + 1 == text.size()) return 0;
  if (text.size() - colon > 10) return 0;
  const unsigned long value = std::stoul(text.substr(colon + 1));
  text.resize(colon);
  return value;
}

// (file, line, column): line 9 sorts before line 10.
std::tuple<std::string, unsigned long, unsigned long> SortKey(std::string where) {
  const unsigned long last = RemoveTrailingNumber(where);
  const unsigned long first = RemoveTrailingNumber(where);
  return first != 0 ? std::tuple{where, first, last} : std::tuple{where, last, 0UL};
}

std::string VariantList(const std::set<std::string>& variants) {
  std::string list;
  size_t named = 0;
  for (const std::string& variant : variants) {
    if (named == kNamedVariants) break;
    list += (named++ == 0 ? "" : ", ") + variant;
  }
  if (variants.size() > named) list += " and " + std::to_string(variants.size() - named) + " more";
  return list;
}

}  // namespace

std::string FormatDiagnostics(std::vector<Diagnostic> diagnostics) {
  using Key = std::tuple<std::tuple<std::string, unsigned long, unsigned long>, std::string>;
  std::map<Key, std::pair<std::string, std::set<std::string>>> lines;
  for (Diagnostic& d : diagnostics) {
    auto& [where, variants] = lines[{SortKey(d.where), d.message}];
    where = d.where;
    variants.insert(std::move(d.variant));
  }
  std::string text;
  for (const auto& [key, line] : lines) {
    text += line.first + ": error: " + std::get<1>(key) + "   (" + VariantList(line.second) + ")\n";
  }
  return text;
}

}  // namespace spirloom::compiler
