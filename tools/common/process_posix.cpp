#include <dlfcn.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>

#include "tools/common/process.h"

namespace spirloom::tools {
namespace {

// A field of /proc/self/status in KiB, converted to bytes.
std::optional<uint64_t> ProcessStatus(const std::string& field) {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    uint64_t kibibytes = 0;
    if (word == field && status >> kibibytes) return kibibytes * 1024;
  }
  return std::nullopt;
}

}  // namespace

ProgramArguments::ProgramArguments(int argc, char** argv) : pointers_(argv, argv + argc + 1) {
  std::signal(SIGXFSZ, SIG_IGN);  // report the file size limit (ulimit -f) as an error
}

bool StderrIsTerminal() { return isatty(STDERR_FILENO) != 0; }

void SetVariable(const char* name, const char* value) { setenv(name, value, /*overwrite=*/1); }

void* LoadFunction(const char* library, const char* function) {
  void* loaded = dlopen(library, RTLD_NOW);
  return loaded == nullptr ? nullptr : dlsym(loaded, function);
}

std::optional<uint64_t> ResidentBytes() { return ProcessStatus("VmRSS:"); }

std::optional<uint64_t> PeakResidentBytes() { return ProcessStatus("VmHWM:"); }

}  // namespace spirloom::tools
