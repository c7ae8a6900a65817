// Text to standard output and to files.
#ifndef SPIRLOOM_TOOLS_SPIRLOOM_RUN_TEXT_OUTPUT_H_
#define SPIRLOOM_TOOLS_SPIRLOOM_RUN_TEXT_OUTPUT_H_

#include <cstdio>
#include <span>
#include <string>

#include "runtime/base/file_writer.h"
#include "spirloom/status.h"

namespace spirloom::run {

inline void Print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

inline Status WriteText(const std::string& path, const std::string& text) {
  return ReplaceFile(path, {std::as_bytes(std::span(text))}, Durability::kSynced);
}

}  // namespace spirloom::run

#endif  // SPIRLOOM_TOOLS_SPIRLOOM_RUN_TEXT_OUTPUT_H_
