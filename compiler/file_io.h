// Whole files in and out. Writers leave a file alone when its bytes would not change, and otherwise
// replace it in one step, so that a reader never sees half of it.
#ifndef SPIRLOOM_COMPILER_FILE_IO_H_
#define SPIRLOOM_COMPILER_FILE_IO_H_

#include <filesystem>
#include <string>
#include <string_view>

#include "spirloom/status.h"

namespace spirloom::compiler {

// Fails with kNotFound, naming the path and the system's reason.
Result<std::string> ReadFile(const std::filesystem::path& path);

// ReplaceFile(), which makes the folders above the file too.
Status WriteFileAtomically(const std::filesystem::path& path, std::string_view bytes);

// Writes only if the file is not already `bytes`. Returns whether it wrote.
Result<bool> WriteFileIfChanged(const std::filesystem::path& path, std::string_view bytes);

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_FILE_IO_H_
