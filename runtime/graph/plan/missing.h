// Collects missing operators, variants and capabilities, so that one error lists all of them.
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
  // Adds an operator that no library contains, with the dtype and storage of its output.
  void AddOp(const std::string& op, DType dtype, Storage storage, const std::string& node);
  // Adds a variant of a kernel.
  void AddVariant(const std::string& op, const ops::KernelInfo& kernel, uint64_t key,
                  const std::string& node);
  // `detail` names the variant and the capabilities, e.g. "add_f16_buffer requires int8".
  void AddCapability(const std::string& op, const std::string& detail, const std::string& node);

  bool empty() const { return library_lines_.empty() && device_lines_.empty(); }
  // Returns OK if nothing is missing; otherwise one line per operator or variant and the remedy,
  // with kNotFound, or with kUnsupported if only capabilities are missing.
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
  // Selectors that add the missing operators to a library.
  std::set<std::string> ops_;
  std::set<std::string> dtypes_;
  std::set<std::string> storages_;
  std::map<std::string, Nodes> device_lines_;
};

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_PLAN_MISSING_H_
