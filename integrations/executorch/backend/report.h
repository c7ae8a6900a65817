// Reports errors through ExecuTorch: an error code and log lines.
#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_REPORT_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_REPORT_H_

#include <executorch/runtime/core/error.h>

#include <string_view>

#include "spirloom/log.h"
#include "spirloom/status.h"

namespace spirloom::delegate {

// Logs the error, line by line, and stores it for spirloom_executorch_last_error(). Returns the
// corresponding ExecuTorch error code.
::executorch::runtime::Error Report(const Status& status);

// Clears spirloom_executorch_last_error() after a successful call.
void ClearError();

void LogToExecuTorch(LogLevel level, std::string_view message);

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_REPORT_H_
