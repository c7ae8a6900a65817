#include "tools/spirloom-run/outputs.h"

#include <filesystem>
#include <set>
#include <system_error>

#include "runtime/base/file_writer.h"
#include "runtime/base/path.h"
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

}  // namespace spirloom::run
