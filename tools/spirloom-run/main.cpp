#include <cstdio>

#include "runtime/base/guarded.h"
#include "tools/common/process.h"
#include "tools/spirloom-run/options.h"
#include "tools/spirloom-run/session.h"

namespace {

// Invalid arguments and files exit with kUsage, all other errors with kFailure.
int ExitCodeOf(spirloom::StatusCode code) {
  switch (code) {
    case spirloom::StatusCode::kOk:
      return spirloom::run::kSuccess;
    case spirloom::StatusCode::kInvalidArgument:
    case spirloom::StatusCode::kInvalidFile:
    case spirloom::StatusCode::kNotFound:
    case spirloom::StatusCode::kPermission:
    case spirloom::StatusCode::kUnavailable:
      return spirloom::run::kUsage;
    default:
      return spirloom::run::kFailure;
  }
}

int Main(int argc, char** argv) {
  const spirloom::tools::ProgramArguments arguments(argc, argv);
  const spirloom::run::ParseResult parsed =
      spirloom::run::ParseCommandLine(arguments.argc(), arguments.argv());
  if (!parsed.options) return parsed.exit_code;
  const spirloom::Status status = spirloom::run::Execute(*parsed.options);
  if (!status.ok()) {
    std::fprintf(stderr, "spirloom-run: %s\n", status.message().c_str());
    return ExitCodeOf(status.code());
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    std::perror("spirloom-run: Standard output cannot be written");
    return spirloom::run::kUsage;
  }
  return spirloom::run::kSuccess;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Main(argc, argv);
  } catch (...) {  // out of memory, e.g. for a large input file
    const spirloom::Status status = spirloom::StatusOfException();
    std::fprintf(stderr, "spirloom-run: %s\n", status.message().c_str());
    return ExitCodeOf(status.code());
  }
}
