// Finds loops whose trip count is not bounded by constants.
#ifndef SPIRLOOM_COMPILER_CHECKS_LOOPS_H_
#define SPIRLOOM_COMPILER_CHECKS_LOOPS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace spirloom::compiler {

// Returns the positions of the loops that have no exit whose condition depends only on constants,
// the workgroup size and the loop's own variables: "file:line" from line information, or empty
// without it. Conservative: a loop with a constant trip count in another form is included.
std::vector<std::string> FindUnboundedLoops(std::span<const uint32_t> module);

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_CHECKS_LOOPS_H_
