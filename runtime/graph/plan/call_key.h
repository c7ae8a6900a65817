// Finds equal calls.
#ifndef SPIRLOOM_RUNTIME_GRAPH_PLAN_CALL_KEY_H_
#define SPIRLOOM_RUNTIME_GRAPH_PLAN_CALL_KEY_H_

#include <string>
#include <vector>

#include "runtime/graph/file/graph.h"

namespace spirloom::graph {

// Identifies a call for deduplication: equal keys are equal calls. Not for people.
std::string CallKey(const std::string& op, const std::vector<Arg>& args, Storage storage);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_PLAN_CALL_KEY_H_
