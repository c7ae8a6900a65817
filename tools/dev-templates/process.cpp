#include "tools/dev-templates/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>

namespace spirloom::dev {
namespace {

// A null-terminated list of pointers for posix_spawn().
std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> EnvironmentWith(const std::string& variable) {
  std::vector<std::string> variables;
  const std::string name = variable.substr(0, variable.find('=') + 1);
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (name.empty() || !std::string_view(*entry).starts_with(name)) variables.emplace_back(*entry);
  }
  if (!variable.empty()) variables.push_back(variable);
  return variables;
}

// Redirects the output of a process to a file.
class Redirection {
 public:
  explicit Redirection(const std::filesystem::path& log) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, log.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0644);
    posix_spawn_file_actions_adddup2(&actions_, STDOUT_FILENO, STDERR_FILENO);
  }
  Redirection(const Redirection&) = delete;
  Redirection& operator=(const Redirection&) = delete;
  ~Redirection() { posix_spawn_file_actions_destroy(&actions_); }

  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

// The exit code; -1 if a signal ended the process.
int WaitFor(pid_t process) {
  int state = 0;
  while (waitpid(process, &state, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(state) ? WEXITSTATUS(state) : -1;
}

std::string TextOf(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace

Status Run(const Command& command, const std::filesystem::path& log) {
  std::vector<std::string> words = command.words;
  std::vector<std::string> environment = EnvironmentWith(command.variable);
  const Redirection redirection(log);
  pid_t process = 0;
  const int error = posix_spawn(&process, words[0].c_str(), redirection.get(), /*attrp=*/nullptr,
                                Pointers(words).data(), Pointers(environment).data());
  if (error != 0) {
    return {StatusCode::kNotFound, "'" + words[0] + "' cannot be started: " +
                                       std::generic_category().message(error) + "."};
  }
  const int exit_code = WaitFor(process);
  if (exit_code == 0) return {};
  std::string text = TextOf(log);
  if (text.empty())
    text = "'" + words[0] + "' failed with exit code " + std::to_string(exit_code) + ".";
  return {StatusCode::kInvalidArgument, std::move(text)};
}

}  // namespace spirloom::dev
