// Converts ExecuTorch's values to and from a delegate's inputs and outputs.
#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_DELEGATE_VALUES_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_DELEGATE_VALUES_H_

#include <executorch/runtime/core/evalue.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "integrations/executorch/lower/lowering.h"
#include "spirloom/status.h"
#include "spirloom/types.h"

namespace spirloom::delegate {

using ::executorch::runtime::EValue;

// The shape of a tensor input; empty for an int input. Fails with kInvalidArgument unless the
// tensor's dtype converts to `spec.type`.
Result<Shape> ShapeOf(const EValue& value, const IoSpec& spec);

// Whether the value is a tensor whose shape may change between runs.
bool CanResize(const EValue& value);

// Element `i` of an integer tensor, negative indices from the end; the value itself if it is an
// int.
Result<int64_t> IntAt(const EValue& value, int64_t i);

// The model's input data: the tensor's own bytes, or `scratch` with its elements in row-major order
// and 64-bit ones narrowed.
Result<std::span<const std::byte>> InputBytes(const EValue& value, const IoSpec& spec,
                                              std::vector<std::byte>& scratch);

// Resizes an output tensor and returns the memory for the model's output: the tensor's own, or
// `scratch`, whose elements FinishOutput() stores in the tensor's dtype and dim order afterwards.
Result<std::span<std::byte>> OutputBytes(EValue& value, const IoSpec& spec, const Shape& shape,
                                         std::vector<std::byte>& scratch);
void FinishOutput(EValue& value, std::span<std::byte> scratch);

// Stores an int output.
Status SetInt(EValue& target, int64_t value);

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_DELEGATE_VALUES_H_
