#include "tools/spirloom-run/outputs.h"

#include <filesystem>
#include <set>
#include <system_error>

#include "runtime/base/file_writer.h"
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
    for (int number = 2; !taken.insert(name).second; ++number) {
      name = safe + "_" + std::to_string(number);
    }
    names.push_back(name);
  }
  return names;
}

Status MakeFolder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error && !std::filesystem::is_directory(folder, error) && !error) {
    error = std::make_error_code(std::errc::not_a_directory);
  }
  if (!error) return Status();
  return Status(StatusCode::kInvalidArgument,
                "Output folder '" + folder + "' cannot be made: " + error.message() + ".");
}

Status WriteOutputs(const std::string& folder, std::span<const TensorInfo> outputs,
                    std::span<const std::vector<std::byte>> bytes) {
  const std::vector<std::string> names = FileNames(outputs);
  RemoveOrphans(folder);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::filesystem::path path = std::filesystem::path(folder) / (names[i] + ".npy");
    SPIRLOOM_TRY(WriteNpy(path.string(), {outputs[i].dtype, outputs[i].shape, bytes[i]}));
  }
  return Status();
}

}  // namespace spirloom::run
