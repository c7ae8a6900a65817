// ExecuTorch's values at the border of a delegate.
#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_BORDER_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_BORDER_H_

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

// The sizes of a tensor, of whose elements the border's type can be made; nothing of a number.
// Fails with kInvalidArgument for what the border does not take.
Result<Shape> ShapeOf(const EValue& value, const Border& border);

// Element `i` of a tensor of ints, or the number that the value is.
Result<int64_t> NumberAt(const EValue& value, int64_t i);

// The bytes that the model takes of a tensor: its own, or `scratch` with its numbers narrowed.
Result<std::span<const std::byte>> BytesIn(const EValue& value, const Border& border,
                                           std::vector<std::byte>& scratch);

// Gives a result its sizes, and says where the model shall put it: in the tensor, or in `scratch`,
// from which Finish() widens it.
Result<std::span<std::byte>> BytesOut(EValue& value, const Border& border, const Shape& shape,
                                      std::vector<std::byte>& scratch);
void Finish(EValue& value, std::span<const std::byte> scratch);

// Gives a result that is a number its value.
Status SetNumber(EValue& value, int64_t number);

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_BACKEND_BORDER_H_
