// Arguments, settings, libraries and memory use of the process, for command-line programs.
#ifndef SPIRLOOM_TOOLS_COMMON_PROCESS_H_
#define SPIRLOOM_TOOLS_COMMON_PROCESS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace spirloom::tools {

// Constructed first in main(): the arguments in UTF-8, and settings of the process. Writing beyond
// the file size limit (ulimit -f) is an error, not a signal. On Windows, the console reads and
// writes UTF-8, and the standard output has the same bytes as elsewhere, without carriage returns.
class ProgramArguments {
 public:
  ProgramArguments(int argc, char** argv);

  int argc() const { return static_cast<int>(pointers_.size()) - 1; }
  const char* const* argv() const { return pointers_.data(); }

 private:
  std::vector<std::string> texts_;
  std::vector<const char*> pointers_;  // into texts_, and null
};

// Whether the standard error stream is a terminal.
bool StderrIsTerminal();

// Sets an environment variable for this process and the libraries that it loads. Not thread-safe.
void SetVariable(const char* name, const char* value);

// Loads a shared library, which stays loaded, and returns the address of a function; null if there
// is no such library or function.
void* LoadFunction(const char* library, const char* function);

// Current and peak resident memory of this process, in bytes; nullopt if the system does not report
// them.
std::optional<uint64_t> ResidentBytes();
std::optional<uint64_t> PeakResidentBytes();

}  // namespace spirloom::tools

#endif  // SPIRLOOM_TOOLS_COMMON_PROCESS_H_
