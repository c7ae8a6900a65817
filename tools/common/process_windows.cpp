#include "runtime/base/windows_api.h"
// Require the former.
#include <fcntl.h>
#include <io.h>
#include <psapi.h>
#include <shellapi.h>

#include <cstdio>
#include <cstdlib>

#include "runtime/base/windows_text.h"
#include "tools/common/process.h"

namespace spirloom::tools {
namespace {

std::optional<PROCESS_MEMORY_COUNTERS> MemoryCounters() {
  PROCESS_MEMORY_COUNTERS counters{};
  counters.cb = sizeof(counters);
  if (GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof(counters)) == 0) {
    return std::nullopt;
  }
  return counters;
}

}  // namespace

// main()'s arguments are in the code page, which has only some of Unicode's characters.
ProgramArguments::ProgramArguments(int /*argc*/, char** /*argv*/) {
  SetConsoleCP(CP_UTF8);
  SetConsoleOutputCP(CP_UTF8);
  (void)_setmode(_fileno(stdout), _O_BINARY);
  int count = 0;
  wchar_t** arguments = CommandLineToArgvW(GetCommandLineW(), &count);
  for (int i = 0; i < count; ++i) texts_.push_back(ToUtf8(arguments[i]));
  LocalFree(static_cast<void*>(arguments));
  for (const std::string& text : texts_) pointers_.push_back(text.c_str());
  pointers_.push_back(nullptr);
}

bool StderrIsTerminal() { return _isatty(_fileno(stderr)) != 0; }

void SetVariable(const char* name, const char* value) { (void)_putenv_s(name, value); }

void* LoadFunction(const char* library, const char* function) {
  const HMODULE loaded = LoadLibraryA(library);
  if (loaded == nullptr) return nullptr;
  return reinterpret_cast<void*>(GetProcAddress(loaded, function));
}

std::optional<uint64_t> ResidentBytes() {
  const auto counters = MemoryCounters();
  if (!counters) return std::nullopt;
  return counters->WorkingSetSize;
}

std::optional<uint64_t> PeakResidentBytes() {
  const auto counters = MemoryCounters();
  if (!counters) return std::nullopt;
  return counters->PeakWorkingSetSize;
}

}  // namespace spirloom::tools
