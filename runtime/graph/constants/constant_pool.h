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

// Finds constants and states that are on the device already, made for another plan of the same
// graph file. Owns none: they live as long as some store holds them.
class ConstantPool {
 public:
  // By tensor: of each constant of `plan` that is a root a number that stands for its bytes and its
  // layout in every plan of the file, of each state one that stands for its name in a set of
  // states; else kNoNumber.
  std::vector<uint32_t> Identify(const Plan& plan, uint64_t state_set = 0);
  static constexpr uint32_t kNoNumber = UINT32_MAX;

  // The constant with this number; null if there is none.
  std::shared_ptr<TensorResource> Find(uint32_t number) const;
  void Add(uint32_t number, const std::shared_ptr<TensorResource>& resource) {
    resources_[number] = resource;
  }

 private:
  struct Number {
    uint32_t value;
    uint32_t plan;  // the last one that used it
  };

  uint32_t NumberOf(const std::string& key);
  // Drops what neither lives nor was of use for the last plans.
  void Forget();

  std::unordered_map<std::string, Number> numbers_;
  uint32_t next_ = 0;
  uint32_t plans_ = 0;
  std::unordered_map<uint32_t, std::weak_ptr<TensorResource>> resources_;
};

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_CONSTANTS_CONSTANT_POOL_H_
