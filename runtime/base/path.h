// Our paths are UTF-8 on every platform; std::filesystem would read them in Windows' code page.
#ifndef SPIRLOOM_RUNTIME_BASE_PATH_H_
#define SPIRLOOM_RUNTIME_BASE_PATH_H_

#include <filesystem>
#include <string>
#include <string_view>

namespace spirloom {

inline std::filesystem::path ToPath(std::string_view utf8) {
  return std::u8string_view(reinterpret_cast<const char8_t*>(utf8.data()), utf8.size());
}

inline std::string PathText(const std::filesystem::path& path) {
  const std::u8string utf8 = path.u8string();
  return {reinterpret_cast<const char*>(utf8.data()), utf8.size()};
}

// Characters that separate the parts of a path.
inline constexpr std::string_view kSeparators =
    std::filesystem::path::preferred_separator == '/' ? "/" : "/\\:";

// The part of a path with the last separator: "dir/" of "dir/file", "" without a directory.
inline std::string DirectoryOf(const std::string& path) {
  return path.substr(0, path.find_last_of(kSeparators) + 1);
}

}  // namespace spirloom

#endif  // SPIRLOOM_RUNTIME_BASE_PATH_H_
