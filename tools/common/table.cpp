#include "tools/common/table.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

namespace spirloom::tools {
namespace {

// Names come from files, and must not move the cursor or end the row. Replaces the control
// characters of ASCII and Unicode (U+0080 to U+009F).
std::string Printable(const std::string& text) {
  std::string printable;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    const bool two_bytes = byte == 0xc2 && next >= 0x80 && next < 0xa0;
    printable += byte < 0x20 || byte == 0x7f || two_bytes ? '?' : text[i];
    if (two_bytes) ++i;
  }
  return printable;
}

}  // namespace

Table::Table(std::string alignment, std::vector<std::string> heading)
    : alignment_(std::move(alignment)) {
  rows_.push_back(std::move(heading));
}

void Table::AddRow(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = Printable(cell);
  rows_.push_back(std::move(cells));
}

std::string Table::ToString() const {
  std::vector<size_t> widths(alignment_.size());
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - row[i].size(), ' ');
      if (i > 0) line += "  ";
      line += alignment_[i] == '>' ? padding + row[i] : row[i] + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string Decimal(double value, int digits) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

std::string Milliseconds(uint64_t ns) { return Decimal(static_cast<double>(ns) * 1e-6, 3); }

std::string Bytes(uint64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " B";
  static constexpr std::array<const char*, 3> kUnits{"KiB", "MiB", "GiB"};
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return Decimal(value, 1) + " " + kUnits[unit];
}

}  // namespace spirloom::tools
