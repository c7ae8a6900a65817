#include "integrations/executorch/backend/report.h"

#include <executorch/runtime/platform/log.h>

#include <mutex>
#include <string>

#include "integrations/executorch/include/spirloom/executorch.h"

namespace spirloom::delegate {
namespace {

using EtError = ::executorch::runtime::Error;

EtError ErrorCodeOf(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return EtError::Ok;
    case StatusCode::kInvalidArgument:
      return EtError::InvalidArgument;
    case StatusCode::kInvalidFile:
      return EtError::InvalidProgram;
    case StatusCode::kNotFound:
    case StatusCode::kUnsupported:
      return EtError::NotSupported;
    case StatusCode::kOutOfMemory:
      return EtError::MemoryAllocationFailed;
    case StatusCode::kPermission:
      return EtError::AccessFailed;
    case StatusCode::kBusy:
      return EtError::InvalidState;
    case StatusCode::kUnavailable:
      return EtError::NotFound;
    case StatusCode::kDeviceLost:
    case StatusCode::kInternal:
      break;
  }
  return EtError::Internal;
}

// Thread-local, like errno.
thread_local std::string last_error;

// Replaces non-ASCII bytes by '?'. Names in a damaged program may be arbitrary bytes; ExecuTorch's
// Python log aborts the process on invalid UTF-8.
std::string Printable(std::string_view text) {
  std::string printable(text);
  for (char& c : printable) {
    if (c != '\n' && (c < ' ' || c > '~')) c = '?';
  }
  return printable;
}

// ExecuTorch truncates a log line, including its source location, to 255 bytes.
constexpr size_t kLogBytes = 200;

template <typename Write>
void EachLine(std::string_view text, const Write& write) {
  while (!text.empty()) {
    const size_t end = std::min({text.find('\n'), text.size(), kLogBytes});
    write(text.substr(0, end));
    text.remove_prefix(std::min(text.size(), end + (end < text.size() && text[end] == '\n')));
  }
}

}  // namespace

EtError Report(const Status& status) {
  last_error = Printable(status.message());
  EachLine(last_error, [](std::string_view line) {
    ET_LOG(Error, "Spirloom: %.*s", static_cast<int>(line.size()), line.data());
  });
  return ErrorCodeOf(status.code());
}

void ClearError() { last_error.clear(); }

void LogToExecuTorch(LogLevel level, std::string_view message) {
  EachLine(Printable(message), [&](std::string_view line) {
    const auto size = static_cast<int>(line.size());
    if (level == LogLevel::kInfo) {
      ET_LOG(Debug, "Spirloom: %.*s", size, line.data());
    } else {
      ET_LOG(Error, "Spirloom: %.*s", size, line.data());
    }
  });
}

}  // namespace spirloom::delegate

extern "C" const char* spirloom_executorch_last_error() {
  return spirloom::delegate::last_error.c_str();
}
