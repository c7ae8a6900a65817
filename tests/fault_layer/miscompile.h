// Makes a shader module compute something else, as a driver's compiler with a bug does.
#ifndef SPIRLOOM_TESTS_FAULT_LAYER_MISCOMPILE_H_
#define SPIRLOOM_TESTS_FAULT_LAYER_MISCOMPILE_H_

#include <cstdint>
#include <vector>

namespace spirloom::fault_layer {

// Replaces instructions on floats by others of the same operands: sums by differences, maxima by
// minima. Indices remain as they are, so that all accesses are within
// bounds. Returns false if the module has no such instruction.
bool Miscompile(std::vector<uint32_t>& spirv);

}  // namespace spirloom::fault_layer

#endif  // SPIRLOOM_TESTS_FAULT_LAYER_MISCOMPILE_H_
