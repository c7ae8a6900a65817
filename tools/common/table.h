// Text tables with aligned columns.
#ifndef SPIRLOOM_TOOLS_COMMON_TABLE_H_
#define SPIRLOOM_TOOLS_COMMON_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace spirloom::tools {

// Rows of cells below a heading.
class Table {
 public:
  // `alignment` contains '<' (left) or '>' (right) for each column.
  Table(std::string alignment, std::vector<std::string> heading);

  // Control characters in cells become '?'.
  void AddRow(std::vector<std::string> cells);
  // Lines of text, each ending with a newline.
  std::string ToString() const;

 private:
  std::string alignment_;
  std::vector<std::vector<std::string>> rows_;
};

// Returns `value` with `digits` decimals, e.g. "1.250".
std::string Decimal(double value, int digits);
// Returns nanoseconds as milliseconds, e.g. "1.250".
std::string Milliseconds(uint64_t ns);
// Returns e.g. "512 B", "1.5 KiB", "3.2 MiB".
std::string Bytes(uint64_t bytes);

}  // namespace spirloom::tools

#endif  // SPIRLOOM_TOOLS_COMMON_TABLE_H_
