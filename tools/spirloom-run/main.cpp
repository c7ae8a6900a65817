#include <cstdio>

#include "tools/spirloom-run/options.h"
#include "tools/spirloom-run/session.h"

namespace {

// Wrong arguments and files are the user's to mend; the rest is ours or the device's.
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

}  // namespace

int main(int argc, char** argv) {
  const spirloom::run::ParseResult parsed = spirloom::run::ParseCommandLine(argc, argv);
  if (!parsed.options) return parsed.exit_code;
  const spirloom::Status status = parsed.options->list_devices
                                      ? spirloom::run::PrintDevices()
                                      : spirloom::run::RunSession(*parsed.options);
  if (!status.ok()) std::fprintf(stderr, "spirloom-run: %s\n", status.message().c_str());
  return ExitCodeOf(status.code());
}
