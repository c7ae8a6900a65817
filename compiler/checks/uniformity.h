// Finds barriers that not all invocations of a workgroup reach.
#ifndef SPIRLOOM_COMPILER_CHECKS_UNIFORMITY_H_
#define SPIRLOOM_COMPILER_CHECKS_UNIFORMITY_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace spirloom::compiler {

// A control barrier in divergent control flow. Positions are "file:line" from line information, or
// empty without it.
struct DivergentBarrier {
  std::string where;
  std::string condition;  // position of the divergent branch
};

// Finds all of them. Conservative: only constants, push constants, read-only buffers at uniform
// indices, shared memory at uniform indices between two barriers without writes, gl_WorkGroupID,
// gl_NumWorkGroups and values computed from these in uniform control flow count as uniform. For a
// barrier of a subgroup, so do gl_SubgroupID and the results of votes, ballots and
// subgroupBroadcastFirst(), which all invocations of the subgroup share.
std::vector<DivergentBarrier> FindDivergentBarriers(std::span<const uint32_t> module);

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_CHECKS_UNIFORMITY_H_
