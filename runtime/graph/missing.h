// Collects what libraries lack, so that one error can list all of it.
#ifndef SPIRLOOM_RUNTIME_GRAPH_MISSING_H_
#define SPIRLOOM_RUNTIME_GRAPH_MISSING_H_

#include <map>
#include <string>

#include "runtime/ops/op_index.h"
#include "spirloom/status.h"

namespace spirloom::graph {

class MissingList {
 public:
  void AddOp(const std::string& op, const std::string& node);
  // `detail` describes the variant, e.g. "softmax for dtype f16, storage buffer".
  void AddVariant(const std::string& op, const std::string& detail, const std::string& node);
  // `detail` names the variant and the capabilities, e.g. "add_f16_buffer needs int8".
  void AddCapability(const std::string& op, const std::string& detail, const std::string& node);

  // OK when nothing is missing. Otherwise one line for each op or variant, with the remedy:
  // kNotFound, or kUnsupported when only the device lacks something.
  Status ToStatus(const ops::OpIndex& index) const;

 private:
  struct Nodes {
    std::string first;
    size_t count = 0;
  };
  void Add(std::map<std::string, Nodes>& lines, const std::string& line, const std::string& node);

  std::map<std::string, Nodes> library_lines_;
  std::map<std::string, Nodes> device_lines_;
};

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_MISSING_H_
