// Errors as ExecuTorch has them: a number, and lines of its log.
#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_REPORT_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_REPORT_H_

#include <executorch/runtime/core/error.h>

#include <string_view>

#include "spirloom/log.h"
#include "spirloom/status.h"

namespace spirloom::delegate {

// Logs the error, line by line, and remembers it for spirloom_executorch_last_error(). Returns the
// number that says the same.
::executorch::runtime::Error Report(const Status& status);

// After a call that succeeds.
void ForgetError();

void LogToExecuTorch(LogLevel level, std::string_view message);

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_REPORT_H_
