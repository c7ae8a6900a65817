// Whether all invocations of a workgroup reach each barrier.
#ifndef SPIRLOOM_COMPILER_UNIFORMITY_H_
#define SPIRLOOM_COMPILER_UNIFORMITY_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace spirloom::compiler {

// A control barrier that stands behind a condition which may differ between the invocations of a
// workgroup. Positions are "file:line" from the module's line information, or empty without it.
struct DivergentBarrier {
  std::string where;
  std::string condition;
};

// Finds them all; none in a module without barriers. Errs on the safe side: only constants, push
// constants, gl_WorkGroupID, gl_NumWorkGroups and what is computed from them alone, in control flow
// that depends on nothing else, count as equal in all invocations.
std::vector<DivergentBarrier> FindDivergentBarriers(std::span<const uint32_t> module);

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_UNIFORMITY_H_
