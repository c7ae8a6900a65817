// Compile specs and runtime options of a delegate.
#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_OPTIONS_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_OPTIONS_H_

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/backend/options.h>

#include "integrations/executorch/backend/session.h"
#include "spirloom/model.h"
#include "spirloom/status.h"

namespace spirloom::delegate {

// Model options from compile specs. `storage_type_override` sets the storage of all tensors; the
// other options of ExecuTorch's partitioner affect only the export. Fails with kUnsupported for an
// unknown option.
Result<ModelOptions> ReadCompileSpecs(
    ::executorch::runtime::ArrayRef<::executorch::runtime::CompileSpec> specs);

// Checks the compile specs of a graph-file delegate, which all affect only the export. Fails with
// kUnsupported for an unknown option.
Status CheckGraphSpecs(::executorch::runtime::ArrayRef<::executorch::runtime::CompileSpec> specs);

// The options of the program that loads a delegate (docs/reference/executorch.md).
struct BackendOptions {
  SessionOptions session;
  bool autotune = false;

  // Sets ModelOptions::tune.
  void ApplyTo(ModelOptions& options) const;
};

// The process's defaults, changed by `specs`. Fails with kUnsupported for an unknown option and
// with kInvalidArgument for a value of another type.
Result<BackendOptions> ReadRuntimeSpecs(
    ::executorch::runtime::Span<const ::executorch::runtime::BackendOption> specs);

// Changes the process's defaults, for later loads. Fails as ReadRuntimeSpecs(). Thread-safe.
Status SetDefaultOptions(
    ::executorch::runtime::Span<const ::executorch::runtime::BackendOption> specs);

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_OPTIONS_H_
