#include <dirent.h>
#include <fcntl.h>
#include <signal.h>  // NOLINT: POSIX's functions
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <system_error>

#include "runtime/base/error.h"
#include "runtime/base/file_descriptor.h"
#include "runtime/base/file_writer.h"
#include "runtime/base/path.h"

namespace spirloom {
namespace {

using Pieces = std::initializer_list<std::span<const std::byte>>;

// Temporary files are in the directory of their target, named .spirloom-<process>-<counter>.tmp,
// and locked during the lifetime of their writer.
constexpr std::string_view kPrefix = ".spirloom-";
constexpr std::string_view kSuffix = ".tmp";

struct Free {
  void operator()(char* text) const { std::free(text); }
};
struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};

Status WriteError(const std::string& path, int error) {
  return Error(StatusCode::kInvalidArgument, "File '{}' cannot be written: {}.", path,
               std::generic_category().message(error));
}

// Blocks SIGXFSZ: a write beyond the file size limit then fails with EFBIG.
class SizeLimitGuard {
 public:
  SizeLimitGuard() {
    sigemptyset(&limit_);
    sigaddset(&limit_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &limit_, &before_);
  }
  SizeLimitGuard(const SizeLimitGuard&) = delete;
  SizeLimitGuard& operator=(const SizeLimitGuard&) = delete;
  ~SizeLimitGuard() {
    if (sigismember(&before_, SIGXFSZ) == 1) return;
    sigset_t pending;
    sigemptyset(&pending);
    sigpending(&pending);
    int signal = 0;
    if (sigismember(&pending, SIGXFSZ) == 1) sigwait(&limit_, &signal);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t limit_{};
  sigset_t before_{};
};

// Returns 0 or errno, like all functions below.
int WriteAll(int fd, Pieces pieces) {
  const SizeLimitGuard guard;
  for (std::span<const std::byte> left : pieces) {
    while (!left.empty()) {
      const ssize_t written = write(fd, left.data(), left.size());
      if (written < 0 && errno != EINTR) return errno;
      if (written > 0) left = left.subspan(static_cast<size_t>(written));
    }
  }
  return 0;
}

int WriteInPlace(const std::string& path, Pieces pieces) {
  const FileDescriptor file(open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  return file.get() < 0 ? errno : WriteAll(file.get(), pieces);
}

// Creates and locks a file in the directory. Sets `path` to its name, also on failure.
FileDescriptor CreateTemporary(const std::string& directory, std::string& path) {
  static std::atomic<uint32_t> counter = 0;
  while (true) {
    path = Concat(directory, kPrefix, static_cast<int64_t>(getpid()), "-", counter++, kSuffix);
    FileDescriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (file.get() < 0) {
      if (errno == EEXIST) continue;  // of an earlier process with the same id
      return file;
    }
    flock(file.get(), LOCK_EX);  // without support for locks, orphans are not removed
    struct stat info = {};
    // Another process may have locked and removed the file before.
    if (fstat(file.get(), &info) == 0 && info.st_nlink > 0) return file;
  }
}

// Makes a rename durable. Errors are ignored: some file systems do not support this.
void SyncDirectory(const std::string& directory) {
  const FileDescriptor fd(
      open(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() >= 0) fsync(fd.get());
}

int WriteTemporary(const FileDescriptor& file, const struct stat* old, Pieces pieces,
                   Durability durability) {
  if (const int error = WriteAll(file.get(), pieces); error != 0) return error;
  if (old != nullptr) (void)!fchmod(file.get(), old->st_mode & 07777);
  if (durability == Durability::kSynced && fsync(file.get()) != 0 && errno != EINVAL) return errno;
  return 0;
}

// `old` is the status of the existing file, or null.
int Replace(const std::string& path, const struct stat* old, Pieces pieces, Durability durability) {
  const std::string directory = DirectoryOf(path);
  std::string temporary;
  const FileDescriptor file = CreateTemporary(directory, temporary);
  if (file.get() < 0) return errno;
  int error = WriteTemporary(file, old, pieces, durability);
  if (error == 0 && rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) {
    unlink(temporary.c_str());
  } else if (durability == Durability::kSynced) {
    SyncDirectory(directory);
  }
  return error;
}

int ReplaceOrWrite(const std::string& path, Pieces pieces, Durability durability) {
  struct stat old = {};
  if (stat(path.c_str(), &old) != 0) return Replace(path, /*old=*/nullptr, pieces, durability);
  if (!S_ISREG(old.st_mode)) return WriteInPlace(path, pieces);
  const std::unique_ptr<char, Free> real(realpath(path.c_str(), nullptr));
  return real == nullptr ? errno : Replace(real.get(), &old, pieces, durability);
}

void RemoveIfOrphaned(const std::string& path) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (file.get() >= 0 && flock(file.get(), LOCK_EX | LOCK_NB) == 0) unlink(path.c_str());
}

}  // namespace

Status ReplaceFile(const std::string& path, Pieces pieces, Durability durability) {
  const int error = ReplaceOrWrite(path, pieces, durability);
  return error == 0 ? Status() : WriteError(path, error);
}

void CreateDirectories(const std::string& directory) {
  for (size_t end = 0;
       (end = directory.find_first_of(kSeparators, end + 1)) != std::string::npos;) {
    mkdir(directory.substr(0, end).c_str(), 0777);
  }
}

void RemoveOrphans(const std::string& directory) {
  const std::unique_ptr<DIR, CloseDirectory> open(
      opendir(directory.empty() ? "." : directory.c_str()));
  if (open == nullptr) return;
  while (const dirent* entry = readdir(open.get())) {
    const std::string_view name = entry->d_name;
    if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) continue;
    RemoveIfOrphaned(Concat(directory.empty() ? "." : directory, "/", name));
  }
}

}  // namespace spirloom
