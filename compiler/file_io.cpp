#include "compiler/file_io.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

namespace spirloom::compiler {
namespace {

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, FileCloser>;

std::string Reason(int error) { return std::generic_category().message(error); }

// Unique among the threads of this process and among processes.
std::filesystem::path TemporaryBeside(const std::filesystem::path& path) {
  static std::atomic<uint32_t> counter = 0;
  std::filesystem::path temporary = path;
  temporary += ".tmp" + std::to_string(::getpid()) + "-" + std::to_string(counter++);
  return temporary;
}

bool WriteAll(const std::filesystem::path& path, std::string_view bytes) {
  File file(std::fopen(path.c_str(), "wb"));
  if (!file) return false;
  if (std::fwrite(bytes.data(), 1, bytes.size(), file.get()) != bytes.size()) return false;
  return std::fclose(file.release()) == 0;
}

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
    // A folder opens, but has no size that can be read.
    if (!error && bytes.size() == size) return bytes;
  }
  return Status(StatusCode::kNotFound,
                "Cannot read '" + path.string() + "': " + Reason(errno != 0 ? errno : EIO) + ".");
}

Status WriteFileAtomically(const std::filesystem::path& path, std::string_view bytes) {
  std::error_code error;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
  const std::filesystem::path temporary = TemporaryBeside(path);
  errno = 0;
  const bool written = WriteAll(temporary, bytes);
  const int write_error = errno;
  if (written) {
    std::filesystem::rename(temporary, path, error);
    if (!error) return Status();
  }
  const std::string reason = written ? error.message() : Reason(write_error);
  std::error_code ignored;
  std::filesystem::remove(temporary, ignored);
  return Status(StatusCode::kInvalidArgument,
                "Cannot write '" + path.string() + "': " + reason + ".");
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
