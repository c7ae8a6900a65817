// Converts 64-bit elements to the 32-bit elements of the device, and back.
#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_NARROW_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_NARROW_H_

#include <cstddef>
#include <span>

#include "integrations/executorch/blob/program.h"
#include "spirloom/status.h"
#include "spirloom/types.h"

namespace spirloom::delegate {

// Converts the elements of `from`, of the 64-bit type `type`, to DeviceType(type) in `to`, which
// has the same number of elements. Fails with kInvalidArgument for an int out of 32-bit range;
// floats are rounded.
Status Narrow(ElementType type, std::span<const std::byte> from, std::span<std::byte> to);

// The inverse of Narrow().
void Widen(ElementType type, std::span<const std::byte> from, std::span<std::byte> to);

// Writes one element. Fails with kInvalidArgument if an integer dtype cannot represent the value.
Status StoreScalar(double value, DType dtype, std::span<std::byte> to);

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_NARROW_H_
