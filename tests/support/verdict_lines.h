// Lines of files of verdicts (docs/reference/file-formats.md).
#ifndef SPIRLOOM_TESTS_SUPPORT_VERDICT_LINES_H_
#define SPIRLOOM_TESTS_SUPPORT_VERDICT_LINES_H_

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <string_view>

#include "runtime/ops/op_index.h"

namespace spirloom {

// The digest of a variant's module, as in a file of verdicts; that of divided dispatches is 0.
inline std::string DigestOf(const ops::OpIndex& index, std::string_view variant) {
  if (variant == "vkCmdDispatchBase") return std::string(16, '0');
  for (const ops::LoadedLibrary& library : index.libraries()) {
    for (const pack::VariantRow& row : library.pack.variants()) {
      if (library.pack.Name(row) != variant) continue;
      char text[17];
      std::snprintf(text, sizeof text, "%016llx",
                    static_cast<unsigned long long>(library.pack.modules()[row.module].digest));
      return text;
    }
  }
  ADD_FAILURE() << "There is no variant " << variant;
  return "";
}

inline std::string VerdictLine(const ops::OpIndex& index, std::string_view variant,
                               std::string_view verdict) {
  return std::string(variant) + "\t" + DigestOf(index, variant) + "\t" + std::string(verdict) +
         "\t0.5\t[1, 2]\n";
}

}  // namespace spirloom

#endif  // SPIRLOOM_TESTS_SUPPORT_VERDICT_LINES_H_
