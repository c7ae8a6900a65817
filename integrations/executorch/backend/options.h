// What a program's export and its loader ask of the delegate.
#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_OPTIONS_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_OPTIONS_H_

#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/backend/options.h>

#include "spirloom/model.h"
#include "spirloom/status.h"

namespace spirloom::delegate {

// What compile specs say. `storage_type_override` is the storage of all tensors; the others that
// ExecuTorch's partitioner knows have had their effect on the program, or mean nothing here. Fails
// with kUnsupported naming one that is not known.
Result<ModelOptions> ReadCompileSpecs(
    ::executorch::runtime::ArrayRef<::executorch::runtime::CompileSpec> specs);

// The same of a delegate whose payload is a graph file: all have had their effect on it.
Status CheckGraphSpecs(::executorch::runtime::ArrayRef<::executorch::runtime::CompileSpec> specs);

// There are no options of the loader's: fails with kUnsupported naming the first.
Status CheckRuntimeSpecs(
    ::executorch::runtime::Span<const ::executorch::runtime::BackendOption> options);

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_OPTIONS_H_
