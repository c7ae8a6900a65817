#include "runtime/base/windows_text.h"

#include <algorithm>
#include <system_error>

#include "runtime/base/windows_api.h"

namespace spirloom {
namespace {

// The limit of directories, which is lower than that of files by a name of 8.3 characters.
constexpr size_t kPathLimit = MAX_PATH - 12;

}  // namespace

std::wstring ToUtf16(std::string_view utf8) {
  const int bytes = static_cast<int>(utf8.size());
  std::wstring text(
      static_cast<size_t>(MultiByteToWideChar(CP_UTF8, 0, utf8.data(), bytes, nullptr, 0)), L'\0');
  MultiByteToWideChar(CP_UTF8, 0, utf8.data(), bytes, text.data(), static_cast<int>(text.size()));
  return text;
}

std::string ToUtf8(std::wstring_view utf16) {
  const int units = static_cast<int>(utf16.size());
  const int bytes =
      WideCharToMultiByte(CP_UTF8, 0, utf16.data(), units, nullptr, 0, nullptr, nullptr);
  std::string text(static_cast<size_t>(bytes), '\0');
  WideCharToMultiByte(CP_UTF8, 0, utf16.data(), units, text.data(), bytes, nullptr, nullptr);
  return text;
}

std::wstring FullWindowsPath(const std::wstring& path) {
  std::wstring full(GetFullPathNameW(path.c_str(), 0, nullptr, nullptr), L'\0');
  const DWORD size = static_cast<DWORD>(full.size());
  full.resize(GetFullPathNameW(path.c_str(), size, full.data(), nullptr));
  return full;
}

std::wstring ToWindowsPath(std::string_view utf8) {
  std::wstring path = ToUtf16(utf8);
  std::replace(path.begin(), path.end(), L'/', L'\\');
  if (path.size() < kPathLimit || path.starts_with(L"\\\\?\\")) return path;
  const std::wstring full = FullWindowsPath(path);
  return full.starts_with(L"\\\\") ? L"\\\\?\\UNC" + full.substr(1) : L"\\\\?\\" + full;
}

std::string WindowsMessage(uint32_t error) {
  const std::error_condition condition =
      std::system_category().default_error_condition(static_cast<int>(error));
  if (condition.category() == std::generic_category()) return condition.message();
  wchar_t buffer[512];
  const DWORD size = FormatMessageW(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS,
                                    nullptr, error, 0, buffer, 512, nullptr);
  std::string text = ToUtf8({buffer, size});
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == '.')) {
    text.pop_back();
  }
  return text.empty() ? "error " + std::to_string(error) : text;
}

std::string WindowsVariable(const wchar_t* name) {
  std::wstring value(GetEnvironmentVariableW(name, nullptr, 0), L'\0');
  const DWORD size = static_cast<DWORD>(value.size());
  if (size == 0) return {};
  value.resize(GetEnvironmentVariableW(name, value.data(), size));
  return ToUtf8(value);
}

}  // namespace spirloom
