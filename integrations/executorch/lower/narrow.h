// Numbers of 64 bits as the 32 that the device computes with, and back.
#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_NARROW_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_NARROW_H_

#include <cstddef>
#include <span>

#include "integrations/executorch/blob/program.h"
#include "spirloom/status.h"
#include "spirloom/types.h"

namespace spirloom::delegate {

// Writes the elements of `from`, of a type of 64 bits, as DeviceType(type) to `to`, which is as
// long. Fails with kInvalidArgument for an int that 32 bits do not hold; floats are rounded.
Status Narrow(ElementType type, std::span<const std::byte> from, std::span<std::byte> to);

// The other way.
void Widen(ElementType type, std::span<const std::byte> from, std::span<std::byte> to);

// Writes one element. Fails with kInvalidArgument for what the dtype does not hold: a fraction or a
// great number as an int.
Status StoreNumber(double number, DType dtype, std::span<std::byte> to);

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_NARROW_H_
