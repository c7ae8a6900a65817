#include "tools/spirloom-ops/arguments.h"

namespace spirloom::tools {

bool MatchesGlob(const std::string& glob, const std::string& text) {
  size_t g = 0;
  size_t t = 0;
  // Backtracking positions: the last *, and the next text position to try for it.
  size_t star = std::string::npos;
  size_t retry = 0;
  while (t < text.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      retry = t;
    } else if (g < glob.size() && (glob[g] == '?' || glob[g] == text[t])) {
      ++g;
      ++t;
    } else if (star != std::string::npos) {
      g = star + 1;
      t = ++retry;
    } else {
      return false;
    }
  }
  return glob.find_first_not_of('*', g) == std::string::npos;
}

}  // namespace spirloom::tools
