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

// An exclusive lock of a work directory.
class DirectoryLock {
 public:
  explicit DirectoryLock(const fs::path& directory)
      : fd_(open((directory / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    if (fd_ >= 0) flock(fd_, LOCK_EX);
  }
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;
  ~DirectoryLock() {
    if (fd_ >= 0) close(fd_);
  }
  bool held() const { return fd_ >= 0; }

 private:
  int fd_;
};

// Empty without XDG_CACHE_HOME and HOME: in a world-writable directory such as /tmp, other users
// could replace the files.
fs::path CacheDirectory() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0') {
    return fs::path(cache) / "spirloom/dev-templates";
  }
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') return {};
  return fs::path(home) / ".cache/spirloom/dev-templates";
}

// A separate directory for each combination of templates and model.
fs::path WorkDirectory(const DevTemplateOptions& options, const fs::path& templates,
                       const fs::path& model) {
  const size_t key = std::hash<std::string>()(templates.string() + '\n' + model.string());
  return (options.work_directory.empty() ? CacheDirectory() : fs::path(options.work_directory)) /
         std::to_string(key);
}

Result<fs::path> ResolvePath(const std::string& path, const char* what) {
  std::error_code error;
  fs::path absolute = fs::canonical(path, error);
  if (!error) return absolute;
  return Status(StatusCode::kNotFound, "The " + std::string(what) + " '" + path +
                                           "' cannot be found: " + error.message() + ".");
}

// The entries of a directory; those that were found before an error.
std::vector<fs::path> EntriesOf(const fs::path& directory) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    entries.push_back(entry->path());
  }
  return entries;
}

// The YAML file `name` of a built-in template, which is in the directory of a family. Empty if
// there is none.
fs::path BuiltInDefaults(const std::string& name) {
  std::error_code error;
  const fs::path templates = fs::path(dev::kRoot) / "templates/glsl";
  for (const fs::path& family : EntriesOf(templates)) {
    const fs::path path = family / name;
    if (fs::exists(path, error)) return path;
  }
  return {};
}

// Each template requires the YAML file with its defaults in the same directory.
Status CheckDefaults(const fs::path& templates) {
  std::error_code error;
  for (const fs::path& entry : EntriesOf(templates)) {
    const std::string file = entry.filename();
    constexpr std::string_view kSuffix = ".glsl.j2";
    if (!file.ends_with(kSuffix)) continue;
    const std::string defaults = file.substr(0, file.size() - kSuffix.size()) + ".yaml";
    const fs::path built = BuiltInDefaults(defaults);
    if (built.empty() || fs::exists(templates / defaults, error)) continue;
    return {StatusCode::kInvalidArgument, "'" + entry.string() +
                                              "' has no YAML file with its defaults. Copy '" +
                                              built.string() + "' to the same directory."};
  }
  return {};
}

// A command of the code generator with Spirloom's specs and both template directories.
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
  SPIRLOOM_TRY_ASSIGN(const fs::path templates,
                      ResolvePath(options.directory, "template directory"));
  SPIRLOOM_TRY_ASSIGN(const fs::path model, ResolvePath(options.model, "graph file"));
  SPIRLOOM_TRY(CheckDefaults(templates));
  if (options.work_directory.empty() && CacheDirectory().empty()) {
    return Status(
        StatusCode::kInvalidArgument,
        "There is no work directory for compiling templates. Set XDG_CACHE_HOME or HOME, or "
        "DevTemplateOptions::work_directory.");
  }
  const fs::path work = WorkDirectory(options, templates, model);
  std::error_code error;
  fs::create_directories(work, error);
  const DirectoryLock lock(work);
  if (!lock.held()) {
    return Status(StatusCode::kInvalidArgument,
                  "The directory '" + work.string() + "' is not writable.");
  }
  for (const dev::Command& command : Commands(templates, model, work)) {
    Status status = dev::Run(command, work / "log.txt");
    if (!status.ok())
      return std::move(status).While("compiling the templates of " + options.directory);
  }
  SPIRLOOM_TRY_ASSIGN(ShaderLibrary library, ShaderLibrary::Open(work / "shaders.slpack"));
  library.name = options.directory;
  return library;
}

}  // namespace spirloom
