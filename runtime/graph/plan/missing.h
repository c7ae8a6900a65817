// Collects what libraries lack, so that one error can list all of it.
#ifndef SPIRLOOM_RUNTIME_GRAPH_PLAN_MISSING_H_
#define SPIRLOOM_RUNTIME_GRAPH_PLAN_MISSING_H_

#include <map>
#include <set>
#include <string>

#include "runtime/ops/op_index.h"
#include "spirloom/status.h"

namespace spirloom::graph {

class MissingList {
 public:
  // An op that no library has, wanted to give such a tensor.
  void AddOp(const std::string& op, DType dtype, Storage storage, const std::string& node);
  // The variant of one of the op's kernels with this key.
  void AddVariant(const std::string& op, const ops::KernelInfo& kernel, uint64_t key,
                  const std::string& node);
  // `detail` names the variant and the capabilities, e.g. "add_f16_buffer needs int8".
  void AddCapability(const std::string& op, const std::string& detail, const std::string& node);

  bool empty() const { return library_lines_.empty() && device_lines_.empty(); }
  // OK when nothing is missing. Otherwise one line for each op or variant, with the remedy:
  // kNotFound, or kUnsupported when only the device lacks something.
  Status ToStatus(const ops::OpIndex& index) const;

 private:
  struct Nodes {
    std::string first;
    size_t count = 0;
  };
  void Add(std::map<std::string, Nodes>& lines, const std::string& line, const std::string& node);
  void AddSelector(const std::string& op, DType dtype, Storage storage);
  std::string Remedy() const;

  std::map<std::string, Nodes> library_lines_;
  // What a library must select, in the words of its selectors.
  std::set<std::string> ops_;
  std::set<std::string> dtypes_;
  std::set<std::string> storages_;
  std::map<std::string, Nodes> device_lines_;
};

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_PLAN_MISSING_H_
