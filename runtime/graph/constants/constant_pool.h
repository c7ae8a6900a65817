#ifndef SPIRLOOM_RUNTIME_GRAPH_CONSTANTS_CONSTANT_POOL_H_
#define SPIRLOOM_RUNTIME_GRAPH_CONSTANTS_CONSTANT_POOL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/graph/memory/tensor_store.h"
#include "runtime/graph/plan/plan.h"

namespace spirloom::graph {

// Finds constants on the device that another plan of the same graph file uploaded. Holds weak
// references: a constant is destroyed with the last store that owns it.
class ConstantPool {
 public:
  // Returns an id per tensor of `plan`. The id of a constant root identifies its bytes and layout
  // in every plan of the file. kNoId otherwise.
  std::vector<uint32_t> Identify(const Plan& plan);
  static constexpr uint32_t kNoId = UINT32_MAX;

  // Returns the resource with this id, or null.
  std::shared_ptr<TensorResource> Find(uint32_t id) const;
  void Add(uint32_t id, const std::shared_ptr<TensorResource>& resource) {
    resources_[id] = resource;
  }

 private:
  struct Id {
    uint32_t value;
    uint32_t plan;  // the last plan that used it
  };

  uint32_t IdOf(const std::string& key);
  // Removes expired resources, and ids that recent plans did not use.
  void RemoveExpired();

  std::unordered_map<std::string, Id> ids_;
  uint32_t next_ = 0;
  uint32_t plans_ = 0;
  std::unordered_map<uint32_t, std::weak_ptr<TensorResource>> resources_;
};

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_CONSTANTS_CONSTANT_POOL_H_
