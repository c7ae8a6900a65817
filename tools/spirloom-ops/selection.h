#ifndef SPIRLOOM_TOOLS_SPIRLOOM_OPS_SELECTION_H_
#define SPIRLOOM_TOOLS_SPIRLOOM_OPS_SELECTION_H_

#include <string>
#include <vector>

#include "runtime/ops/op_index.h"
#include "spirloom/status.h"
#include "tools/spirloom-ops/device_file.h"

namespace spirloom::tools {

// The kernels that each device selects for the calls of graph files, as JSON: a list of devices
// with their properties and a list of graphs each. A graph has the considered kernels of each call
// (`calls`, with `considered` if `explain` is set) and its dispatches, or an `error`. Fails if a
// graph file cannot be read.
Result<std::string> SelectionToJson(const ops::OpIndex& index,
                                    const std::vector<DescribedDevice>& devices,
                                    const std::vector<std::string>& graph_files, bool explain);

}  // namespace spirloom::tools

#endif  // SPIRLOOM_TOOLS_SPIRLOOM_OPS_SELECTION_H_
