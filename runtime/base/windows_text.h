// Conversions between UTF-8, which all our text and paths are, and the UTF-16 of Windows'
// functions.
#ifndef SPIRLOOM_RUNTIME_BASE_WINDOWS_TEXT_H_
#define SPIRLOOM_RUNTIME_BASE_WINDOWS_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace spirloom {

// The text in UTF-16. Malformed sequences become U+FFFD.
std::wstring ToUtf16(std::string_view utf8);

// The text in UTF-8. Unpaired surrogates become U+FFFD.
std::string ToUtf8(std::wstring_view utf16);

// A path for Windows' functions, with backslashes. Paths near the limit of 260 characters become
// absolute paths with the prefix \\?\, which have no such limit.
std::wstring ToWindowsPath(std::string_view utf8);

// The absolute path of a path for Windows' functions.
std::wstring FullWindowsPath(const std::wstring& path);

// The text for an error of GetLastError(), without a final period: if POSIX has the same error, as
// on other platforms ("No such file or directory"), otherwise the system's text in its language.
std::string WindowsMessage(uint32_t error);

// The value of an environment variable; "" if it is not set.
std::string WindowsVariable(const wchar_t* name);

}  // namespace spirloom

#endif  // SPIRLOOM_RUNTIME_BASE_WINDOWS_TEXT_H_
