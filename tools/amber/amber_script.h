// Writes the dispatches of a run as a script for Amber (https://github.com/google/amber), which
// runs SPIR-V on any Vulkan driver without this project.
#ifndef SPIRLOOM_TOOLS_AMBER_AMBER_SCRIPT_H_
#define SPIRLOOM_TOOLS_AMBER_AMBER_SCRIPT_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/graph/model/execution_context.h"
#include "spirloom/status.h"
#include "tools/races/serial_run.h"

namespace spirloom::tools {

// The expected dense bytes of an output. The script allows |y - expected| <= atol + rtol * |y| in
// the root mean square; 0 and 0: equal bits.
struct AmberExpectation {
  std::vector<std::byte> bytes;
  double rtol = 0;
  double atol = 0;
};

// Returns the script: each distinct module with its specialization constants as SPIRV-HEX, the
// buffers with their contents before the run, push constants, the dispatches in order, and the
// comparisons. `expected` has an element per output; an absent one is not compared. The tensors of
// `context` must not share memory: load it with a PoisonedMemory of zeros. Fails with kUnsupported
// if a tensor is stored in an image or the run contains buffer copies, which Amber scripts cannot
// express for buffers that dispatches also access.
Result<std::string> AmberScript(internal::ExecutionContext& context, InputBytes inputs,
                                std::span<const std::optional<AmberExpectation>> expected);

}  // namespace spirloom::tools

#endif  // SPIRLOOM_TOOLS_AMBER_AMBER_SCRIPT_H_
