#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/base/file_writer.h"
#include "runtime/base/path.h"
#include "runtime/base/windows_api.h"
#include "runtime/base/windows_handle.h"
#include "runtime/base/windows_text.h"

namespace spirloom {
namespace {

using Pieces = std::initializer_list<std::span<const std::byte>>;

// Temporary files are in the directory of their target, named .spirloom-<process>-<counter>.tmp.
// Their writer's handle prevents other processes from opening them.
constexpr std::string_view kPrefix = ".spirloom-";
constexpr std::string_view kSuffix = ".tmp";

// Readers, and programs that scan new files, may hold the target or the temporary file for a
// moment.
constexpr int kAttempts = 20;
constexpr DWORD kPauseMs = 10;

constexpr DWORD kIsDirectory = 0x20000000;  // bit 29: an error of the application

constexpr DWORD kShareAll = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

// Returns 0 or an error of GetLastError(), like all functions below.
DWORD WriteAll(HANDLE file, Pieces pieces) {
  constexpr size_t kMaxBytes = size_t{1} << 30;
  for (std::span<const std::byte> left : pieces) {
    while (!left.empty()) {
      DWORD written = 0;
      const auto size = static_cast<DWORD>(std::min(left.size(), kMaxBytes));
      if (WriteFile(file, left.data(), size, &written, nullptr) == 0) return GetLastError();
      left = left.subspan(written);
    }
  }
  return 0;
}

// Creates a file in the directory that only this process can open. Sets `error` on failure.
WindowsHandle CreateTemporary(const std::string& directory, DWORD& error) {
  static std::atomic<uint32_t> counter = 0;
  while (true) {
    const std::string path =
        Concat(directory, kPrefix, int64_t{GetCurrentProcessId()}, "-", counter++, kSuffix);
    WindowsHandle file(CreateFileW(ToWindowsPath(path).c_str(), GENERIC_WRITE | DELETE,
                                   /*dwShareMode=*/0, nullptr, CREATE_NEW, FILE_ATTRIBUTE_NORMAL,
                                   nullptr));
    error = file ? 0 : GetLastError();
    if (error != ERROR_FILE_EXISTS) return file;  // else of an earlier process with the same id
  }
}

// Renames the open file, and replaces an existing one.
DWORD Rename(HANDLE file, const std::wstring& target) {
  const size_t bytes = target.size() * sizeof(wchar_t);
  // FILE_RENAME_INFO ends in an array of one character.
  std::vector<uint64_t> storage((sizeof(FILE_RENAME_INFO) + bytes) / sizeof(uint64_t) + 1);
  auto* info = reinterpret_cast<FILE_RENAME_INFO*>(storage.data());
  info->ReplaceIfExists = TRUE;
  info->FileNameLength = static_cast<DWORD>(bytes);
  std::memcpy(info->FileName, target.data(), bytes);
  const auto size = static_cast<DWORD>(storage.size() * sizeof(uint64_t));
  for (int attempt = 1;; ++attempt) {
    if (SetFileInformationByHandle(file, FileRenameInfo, info, size) != 0) return 0;
    const DWORD error = GetLastError();
    const bool is_held = error == ERROR_ACCESS_DENIED || error == ERROR_SHARING_VIOLATION;
    if (!is_held || attempt == kAttempts) return error;
    Sleep(kPauseMs);
  }
}

void DeleteOnClose(HANDLE file) {
  FILE_DISPOSITION_INFO info{};
  info.DeleteFile = TRUE;
  SetFileInformationByHandle(file, FileDispositionInfo, &info, sizeof(info));
}

DWORD Replace(const std::string& path, Pieces pieces, Durability durability) {
  DWORD error = 0;
  const WindowsHandle file = CreateTemporary(DirectoryOf(path), error);
  if (!file) return error;
  error = WriteAll(file.get(), pieces);
  if (error == 0 && durability == Durability::kSynced && FlushFileBuffers(file.get()) == 0) {
    error = GetLastError();
  }
  if (error == 0) error = Rename(file.get(), FullWindowsPath(ToWindowsPath(path)));
  if (error != 0) DeleteOnClose(file.get());
  return error;
}

DWORD WriteInPlace(const std::string& path, Pieces pieces) {
  const WindowsHandle file(CreateFileW(ToWindowsPath(path).c_str(), GENERIC_WRITE, kShareAll,
                                       nullptr, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, nullptr));
  return file ? WriteAll(file.get(), pieces) : GetLastError();
}

// The target of a symbolic link.
std::string FinalPath(HANDLE file) {
  std::wstring path(GetFinalPathNameByHandleW(file, nullptr, 0, FILE_NAME_NORMALIZED), L'\0');
  path.resize(GetFinalPathNameByHandleW(file, path.data(), static_cast<DWORD>(path.size()),
                                        FILE_NAME_NORMALIZED));
  return ToUtf8(path);
}

DWORD ReplaceOrWrite(const std::string& path, Pieces pieces, Durability durability) {
  const std::wstring name = ToWindowsPath(path);
  WindowsHandle old(CreateFileW(name.c_str(), /*dwDesiredAccess=*/0, kShareAll, nullptr,
                                OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, nullptr));
  if (!old) return Replace(path, pieces, durability);
  if (GetFileType(old.get()) != FILE_TYPE_DISK) {
    old = WindowsHandle();
    return WriteInPlace(path, pieces);
  }
  const DWORD attributes = GetFileAttributesW(name.c_str());
  if ((attributes & FILE_ATTRIBUTE_DIRECTORY) != 0) return kIsDirectory;
  const bool is_link = (attributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0;
  const std::string target = is_link ? FinalPath(old.get()) : path;
  old = WindowsHandle();  // an open file cannot be replaced
  return Replace(target, pieces, durability);
}

// Deletes the file, unless its writer has it open.
void RemoveIfOrphaned(const std::wstring& path) {
  const WindowsHandle file(CreateFileW(path.c_str(), DELETE, /*dwShareMode=*/0, nullptr,
                                       OPEN_EXISTING, FILE_FLAG_OPEN_REPARSE_POINT, nullptr));
  if (file) DeleteOnClose(file.get());
}

// A search of FindFirstFileW().
class FileSearch {
 public:
  explicit FileSearch(const std::wstring& pattern)
      : handle_(FindFirstFileW(pattern.c_str(), &found_)) {}
  FileSearch(const FileSearch&) = delete;
  FileSearch& operator=(const FileSearch&) = delete;
  ~FileSearch() {
    if (ok()) FindClose(handle_);
  }

  bool ok() const { return handle_ != INVALID_HANDLE_VALUE; }
  const wchar_t* name() const { return found_.cFileName; }
  bool Next() { return FindNextFileW(handle_, &found_) != 0; }

 private:
  WIN32_FIND_DATAW found_{};
  HANDLE handle_;
};

}  // namespace

Status ReplaceFile(const std::string& path, Pieces pieces, Durability durability) {
  const DWORD error = ReplaceOrWrite(path, pieces, durability);
  if (error == 0) return {};
  return Error(
      StatusCode::kInvalidArgument, "File '{}' cannot be written: {}.", path,
      error == kIsDirectory ? std::generic_category().message(EISDIR) : WindowsMessage(error));
}

void CreateDirectories(const std::string& directory) {
  for (size_t end = 0;
       (end = directory.find_first_of(kSeparators, end + 1)) != std::string::npos;) {
    CreateDirectoryW(ToWindowsPath(directory.substr(0, end)).c_str(), nullptr);
  }
}

void RemoveOrphans(const std::string& directory) {
  std::wstring prefix = ToWindowsPath(directory.empty() ? "." : directory);
  if (!prefix.ends_with(L'\\')) prefix += L'\\';
  FileSearch search(prefix + ToUtf16(Concat(kPrefix, "*", kSuffix)));
  if (!search.ok()) return;
  do {
    RemoveIfOrphaned(prefix + search.name());
  } while (search.Next());
}

}  // namespace spirloom
