#include <csignal>
#include <cstdio>

#include "llm/spirloom-llm/options.h"
#include "llm/spirloom-llm/session.h"

namespace {

// Wrong arguments and files are the user's to mend; the rest is ours or the device's.
int ExitCodeOf(spirloom::StatusCode code) {
  switch (code) {
    case spirloom::StatusCode::kOk:
      return spirloom::llm::kSuccess;
    case spirloom::StatusCode::kInvalidArgument:
    case spirloom::StatusCode::kInvalidFile:
    case spirloom::StatusCode::kNotFound:
    case spirloom::StatusCode::kPermission:
    case spirloom::StatusCode::kUnavailable:
      return spirloom::llm::kUsage;
    default:
      return spirloom::llm::kFailure;
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a limit on the size of files is an error like others
  const spirloom::llm::ParseResult parsed = spirloom::llm::ParseCommandLine(argc, argv);
  if (!parsed.options) return parsed.exit_code;
  const spirloom::Status status = spirloom::llm::Do(*parsed.options);
  if (!status.ok()) {
    std::fprintf(stderr, "spirloom-llm: %s\n", status.message().c_str());
    return ExitCodeOf(status.code());
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    std::perror("spirloom-llm: Standard output cannot be written");
    return spirloom::llm::kUsage;
  }
  return spirloom::llm::kSuccess;
}
