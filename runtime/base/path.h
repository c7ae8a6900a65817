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

}  // namespace spirloom

#endif  // SPIRLOOM_RUNTIME_BASE_PATH_H_
