#include "spirloom/dev_templates.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string_view>
#include <system_error>
#include <vector>

#include "tools/dev-templates/process.h"
#include "tools/dev-templates/toolchain.h"

namespace spirloom {
namespace {

namespace fs = std::filesystem;

// Held by one run in a work folder at a time.
class FolderLock {
 public:
  explicit FolderLock(const fs::path& folder)
      : fd_(open((folder / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    if (fd_ >= 0) flock(fd_, LOCK_EX);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  ~FolderLock() {
    if (fd_ >= 0) close(fd_);
  }
  bool held() const { return fd_ >= 0; }

 private:
  int fd_;
};

// Empty when the environment names none: in a folder that everybody may write to, others could
// have put what is compiled.
fs::path CacheFolder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0') {
    return fs::path(cache) / "spirloom/dev-templates";
  }
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') return {};
  return fs::path(home) / ".cache/spirloom/dev-templates";
}

// A folder for these templates and this model, so that what is made of others stays.
fs::path WorkFolder(const DevTemplateOptions& options, const fs::path& templates,
                    const fs::path& model) {
  const size_t key = std::hash<std::string>()(templates.string() + '\n' + model.string());
  return (options.work_folder.empty() ? CacheFolder() : fs::path(options.work_folder)) /
         std::to_string(key);
}

Result<fs::path> Existing(const std::string& path, const char* what) {
  std::error_code error;
  fs::path absolute = fs::canonical(path, error);
  if (!error) return absolute;
  return Status(StatusCode::kNotFound, "The " + std::string(what) + " '" + path +
                                           "' cannot be found: " + error.message() + ".");
}

// A template has its defaults beside it; without them every spec that uses it would be wrong.
Status CheckDefaults(const fs::path& templates) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(templates, error)) {
    const std::string file = entry.path().filename();
    constexpr std::string_view kSuffix = ".glsl.j2";
    if (!file.ends_with(kSuffix)) continue;
    const std::string defaults = file.substr(0, file.size() - kSuffix.size()) + ".yaml";
    const fs::path built = fs::path(dev::kRoot) / "templates/glsl" / defaults;
    if (!fs::exists(built, error) || fs::exists(templates / defaults, error)) continue;
    return {StatusCode::kInvalidArgument, "'" + entry.path().string() +
                                              "' lacks the defaults beside it: copy '" +
                                              built.string() + "' there too."};
  }
  return {};
}

// The generator's command, for Spirloom's specs and the templates of both folders.
dev::Command Codegen(const char* subcommand, const fs::path& templates,
                     const std::vector<std::string>& more) {
  const fs::path root = dev::kRoot;
  std::error_code ignored;
  dev::Command command{
      {dev::kPython, "-m", "codegen", subcommand, "--spec-dir", root / "op_specs", "--template-dir",
       root / "templates/glsl", "--template-dir", templates, "--root", fs::current_path(ignored)},
      "PYTHONPATH=" + root.string()};
  command.words.insert(command.words.end(), more.begin(), more.end());
  return command;
}

std::vector<dev::Command> Commands(const fs::path& templates, const fs::path& model,
                                   const fs::path& work) {
  const std::string selection = work / "selection.json";
  const std::string manifest = work / "manifest.json";
  return {Codegen("select", templates, {"--models", model, "--out", selection}),
          Codegen("generate", templates,
                  {"--selection", selection, "--out", work, "--library", templates, "--override",
                   "--state", work / "codegen.state"}),
          {{dev::kShaderc, "--manifest", manifest, "--output", work / "shaders.slpack",
            "--cache-dir", dev::kShaderCache, "--quiet"}}};
}

}  // namespace

Result<ShaderLibrary> CompileDevTemplates(const DevTemplateOptions& options) {
  SPIRLOOM_TRY_ASSIGN(const fs::path templates, Existing(options.folder, "template folder"));
  SPIRLOOM_TRY_ASSIGN(const fs::path model, Existing(options.model, "graph file"));
  SPIRLOOM_TRY(CheckDefaults(templates));
  if (options.work_folder.empty() && CacheFolder().empty()) {
    return Status(StatusCode::kInvalidArgument,
                  "There is no folder to compile templates in: set XDG_CACHE_HOME or HOME, or name "
                  "one in DevTemplateOptions::work_folder.");
  }
  const fs::path work = WorkFolder(options, templates, model);
  std::error_code error;
  fs::create_directories(work, error);
  const FolderLock lock(work);
  if (!lock.held()) {
    return Status(StatusCode::kInvalidArgument,
                  "The folder '" + work.string() + "' cannot be written to.");
  }
  for (const dev::Command& command : Commands(templates, model, work)) {
    Status status = dev::Run(command, work / "log.txt");
    if (!status.ok())
      return std::move(status).While("compiling the templates of " + options.folder);
  }
  SPIRLOOM_TRY_ASSIGN(ShaderLibrary library, ShaderLibrary::Open(work / "shaders.slpack"));
  library.name = options.folder;
  return library;
}

}  // namespace spirloom
