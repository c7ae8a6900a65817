// Elements of tensors as numbers.
#ifndef SPIRLOOM_RUNTIME_BASE_ELEMENTS_H_
#define SPIRLOOM_RUNTIME_BASE_ELEMENTS_H_

#include <cstddef>
#include <span>

#include "spirloom/types.h"

namespace spirloom {

// The value of an element of InfoOf(dtype).size bytes; a double represents all values exactly.
double LoadElement(DType dtype, std::span<const std::byte> element);

// Stores a value. Floats are rounded to nearest, ties to even, and overflow to infinity, or to the
// largest finite value if the dtype has no infinity. An integer must be in the range of the dtype;
// fractions are truncated. Bools: 1 if the value is not zero.
void StoreElement(DType dtype, double value, std::span<std::byte> element);

}  // namespace spirloom

#endif  // SPIRLOOM_RUNTIME_BASE_ELEMENTS_H_
