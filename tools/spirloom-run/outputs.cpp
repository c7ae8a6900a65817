#include "tools/spirloom-run/outputs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <set>
#include <system_error>

#include "runtime/base/elements.h"
#include "runtime/base/file_writer.h"
#include "runtime/base/path.h"
#include "runtime/base/text.h"
#include "tools/spirloom-run/npy.h"

namespace spirloom::run {
namespace {

std::string Sanitize(const std::string& name) {
  constexpr size_t kMaxLength = 200;
  std::string safe;
  for (char c : name.substr(0, kMaxLength)) {
    const auto byte = static_cast<unsigned char>(c);
    safe += byte < 0x20 || byte == 0x7f || c == '/' || c == '\\' || c == ':' ? '_' : c;
  }
  if (safe.empty() || safe[0] == '.') safe.insert(0, "_");
  return safe;
}

}  // namespace

std::vector<std::string> FileNames(std::span<const TensorInfo> outputs) {
  std::set<std::string> taken;
  std::vector<std::string> names;
  for (const TensorInfo& output : outputs) {
    const std::string safe = Sanitize(output.name);
    std::string name = safe;
    for (int suffix = 2; !taken.insert(name).second; ++suffix) {
      name = safe + "_" + std::to_string(suffix);
    }
    names.push_back(name);
  }
  return names;
}

Status CreateDirectory(const std::string& directory) {
  std::error_code error;
  const std::filesystem::path path = ToPath(directory);
  std::filesystem::create_directories(path, error);
  if (!error && !std::filesystem::is_directory(path, error) && !error) {
    error = std::make_error_code(std::errc::not_a_directory);
  }
  if (!error) return Status();
  return Status(StatusCode::kInvalidArgument,
                "Output directory '" + directory + "' cannot be created: " + error.message() + ".");
}

Status WriteOutputs(const std::string& directory, std::span<const TensorInfo> outputs,
                    std::span<const std::vector<std::byte>> bytes) {
  const std::vector<std::string> names = FileNames(outputs);
  RemoveOrphans(directory);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string path = PathText(ToPath(directory) / ToPath(names[i] + ".npy"));
    SPIRLOOM_TRY(WriteNpy(path, {outputs[i].dtype, outputs[i].shape, bytes[i]}));
  }
  return Status();
}

std::string OutputText(std::span<const TensorInfo> outputs,
                       std::span<const std::vector<std::byte>> bytes) {
  constexpr size_t kMaxValues = 8;
  std::string text;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const TensorInfo& output = outputs[i];
    text += Concat(Quote(output.name), ": ", LongName(output.dtype), " ", ToString(output.shape));
    const size_t size = ElementSize(output.dtype);
    const size_t count = bytes[i].size() / size;
    for (size_t k = 0; k < std::min(count, kMaxValues); ++k) {
      const double value = LoadElement(output.dtype, std::span(bytes[i]).subspan(k * size, size));
      std::array<char, 32> digits{};
      // Integers exactly, such as tokens.
      const bool is_integer = std::trunc(value) == value && std::fabs(value) < 1e18;
      std::snprintf(digits.data(), digits.size(), is_integer ? "%s%.0f" : "%s%.6g",
                    k == 0 ? " = " : ", ", value);
      text += digits.data();
    }
    text += count > kMaxValues ? ", \u2026\n" : "\n";
  }
  return text;
}

}  // namespace spirloom::run
