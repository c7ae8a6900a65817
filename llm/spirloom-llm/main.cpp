#include <cstdio>

#include "llm/spirloom-llm/options.h"
#include "llm/spirloom-llm/session.h"
#include "runtime/base/guarded.h"
#include "tools/common/process.h"

namespace {

// Invalid arguments and unusable files return kUsage, all other errors kFailure.
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

int Main(int argc, char** argv) {
  const spirloom::tools::ProgramArguments arguments(argc, argv);
  const spirloom::llm::ParseResult parsed =
      spirloom::llm::ParseCommandLine(arguments.argc(), arguments.argv());
  if (!parsed.options) return parsed.exit_code;
  const spirloom::Status status = spirloom::llm::Run(*parsed.options);
  if (!status.ok()) {
    std::fprintf(stderr, "spirloom-llm: %s\n", status.message().c_str());
    return ExitCodeOf(status.code());
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    std::perror("spirloom-llm: Cannot write to standard output");
    return spirloom::llm::kUsage;
  }
  return spirloom::llm::kSuccess;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Main(argc, argv);
  } catch (...) {  // out of memory, e.g. for a large input file
    const spirloom::Status status = spirloom::StatusOfException();
    std::fprintf(stderr, "spirloom-llm: %s\n", status.message().c_str());
    return ExitCodeOf(status.code());
  }
}
