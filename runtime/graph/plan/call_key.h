// Deduplication of calls.
#ifndef SPIRLOOM_RUNTIME_GRAPH_PLAN_CALL_KEY_H_
#define SPIRLOOM_RUNTIME_GRAPH_PLAN_CALL_KEY_H_

#include <string>
#include <vector>

#include "runtime/graph/file/graph.h"

namespace spirloom::graph {

// Returns a binary key: equal keys mean equal calls.
std::string CallKey(const std::string& op, const std::vector<Arg>& args, Storage storage);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_PLAN_CALL_KEY_H_
