// Reads and writes complete files. Writers replace a file atomically, so that readers never see a
// partial file.
#ifndef SPIRLOOM_COMPILER_BASE_FILE_IO_H_
#define SPIRLOOM_COMPILER_BASE_FILE_IO_H_

#include <filesystem>
#include <string>
#include <string_view>

#include "spirloom/status.h"

namespace spirloom::compiler {

// Fails with kNotFound; the message contains the path and the system's error.
Result<std::string> ReadFile(const std::filesystem::path& path);

// ReplaceFile(); also creates the parent directories.
Status WriteFileAtomically(const std::filesystem::path& path, std::string_view bytes);

// Writes only if the file does not already contain `bytes`. Returns whether it wrote.
Result<bool> WriteFileIfChanged(const std::filesystem::path& path, std::string_view bytes);

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_BASE_FILE_IO_H_
