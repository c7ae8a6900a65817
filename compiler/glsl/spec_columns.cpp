#include "compiler/glsl/spec_columns.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>

#include "compiler/glsl/line_directive.h"

namespace spirloom::compiler {
namespace {

// The operators of several characters, the longest first.
constexpr std::array<std::string_view, 21> kOperators = {
    "<<=", ">>=", "<<", ">>", "++", "--", "<=", ">=", "==", "!=", "&&",
    "||",  "^^",  "+=", "-=", "*=", "/=", "%=", "&=", "^=", "|="};

bool IsWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The length of the token at the start of `text`, which is not empty and starts with no blank. A
// comment extends to the end of the line.
size_t TokenSize(std::string_view text) {
  if (text.starts_with("//")) return text.size();
  if (text.starts_with("/*")) return std::min(text.find("*/", 2), text.size() - 2) + 2;
  const bool is_number = std::isdigit(static_cast<unsigned char>(text[0])) != 0;
  size_t size = 0;
  while (size < text.size() && (IsWord(text[size]) || (is_number && text[size] == '.'))) ++size;
  if (size > 0) return size;
  for (const std::string_view symbol : kOperators)
    if (text.starts_with(symbol)) return symbol.size();
  return 1;
}

// Whether a comment begins in `line` and does not end there.
bool OpensComment(std::string_view line) {
  const size_t open = line.rfind("/*");
  return open != std::string_view::npos && line.find("*/", open + 2) == std::string_view::npos &&
         line.find("//") > open;
}

// Appends a line of a spec, each token in the line of its column.
void AppendTokens(std::string_view line, const LinePosition& at, std::string& out) {
  constexpr std::string_view kUnknownColumn = "/**/";
  const std::string file = "\"" + at.file + ":" + std::to_string(at.line) + "\"\n";
  size_t column = line.find_first_not_of(" \t");
  if (column == std::string_view::npos) return;
  if (line.substr(column).starts_with(kUnknownColumn)) {
    out += "#line " + std::to_string(column + kUnknownColumn.size() + 1) + " " + file;
    out += std::string(line) + "\n";
    return;
  }
  out += "#line 1 " + file;
  size_t row = 0;
  while (column < line.size()) {
    if (line[column] == ' ' || line[column] == '\t') {
      ++column;
      continue;
    }
    const std::string_view token = line.substr(column, TokenSize(line.substr(column)));
    out.append(column - row, '\n');
    row = column;
    out += token;
    column += token.size();
  }
  out += "\n";
}

}  // namespace

std::string WithSpecColumns(std::string_view glsl) {
  std::string out;
  LinePosition at;
  bool found = false;
  bool in_comment = false;
  bool continued = false;  // the line belongs to the directive above
  while (!glsl.empty()) {
    const size_t end = std::min(glsl.find('\n'), glsl.size());
    const std::string_view line = glsl.substr(0, end);
    glsl.remove_prefix(std::min(end + 1, glsl.size()));
    const bool follows = in_comment || continued;
    if (OpensComment(line)) {
      in_comment = true;
    } else if (line.find("*/") != std::string_view::npos) {
      in_comment = false;
    }
    continued = line.ends_with("\\");
    if (ReadLineDirective(line, at)) {
      out += std::string(line) + "\n";
      continue;
    }
    const bool is_spec = at.file.ends_with(".yaml") && !follows;
    if (is_spec && !in_comment && !continued && !Trimmed(line).starts_with("#")) {
      AppendTokens(line, at, out);
      found = true;
    } else {
      if (is_spec) out += "#line " + std::to_string(at.line) + " \"" + at.file + "\"\n";
      out += std::string(line) + "\n";
    }
    ++at.line;
  }
  return found ? out : "";
}

}  // namespace spirloom::compiler
