#include "compiler/base/file_io.h"

#include <cerrno>
#include <cstdio>
#include <memory>
#include <span>
#include <system_error>

#include "runtime/base/file_writer.h"

namespace spirloom::compiler {
namespace {

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, FileCloser>;

std::string Reason(int error) { return std::generic_category().message(error); }

}  // namespace

Result<std::string> ReadFile(const std::filesystem::path& path) {
  File file(std::fopen(path.c_str(), "rb"));
  std::string bytes;
  if (file) {
    std::error_code error;
    const uintmax_t size = std::filesystem::file_size(path, error);
    if (!error) bytes.resize(size);
    errno = 0;
    bytes.resize(std::fread(bytes.data(), 1, bytes.size(), file.get()));
    // A directory can be opened, but not read.
    if (!error && bytes.size() == size) return bytes;
  }
  return Status(StatusCode::kNotFound,
                "Cannot read '" + path.string() + "': " + Reason(errno != 0 ? errno : EIO) + ".");
}

Status WriteFileAtomically(const std::filesystem::path& path, std::string_view bytes) {
  std::error_code error;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
  // Build products can be rebuilt, so they need not survive a power failure.
  return ReplaceFile(path, {std::as_bytes(std::span(bytes))}, Durability::kFast);
}

Result<bool> WriteFileIfChanged(const std::filesystem::path& path, std::string_view bytes) {
  std::error_code error;
  const uintmax_t size = std::filesystem::file_size(path, error);
  if (!error && size == bytes.size()) {
    const Result<std::string> old = ReadFile(path);
    if (old.ok() && *old == bytes) return false;
  }
  SPIRLOOM_TRY(WriteFileAtomically(path, bytes));
  return true;
}

}  // namespace spirloom::compiler
