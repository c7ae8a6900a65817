// Compile specs and runtime options of a delegate.
#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_OPTIONS_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_OPTIONS_H_

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/backend/options.h>

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

// Fails with kUnsupported if there is any option: the backends have no runtime options.
Status CheckRuntimeSpecs(
    ::executorch::runtime::Span<const ::executorch::runtime::BackendOption> options);

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_OPTIONS_H_
