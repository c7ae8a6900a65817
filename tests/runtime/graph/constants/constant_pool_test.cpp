#include "runtime/graph/constants/constant_pool.h"

#include <gtest/gtest.h>

namespace spirloom::graph {
namespace {

// A plan with a single tensor, a constant of the file.
Plan PlanOf(int64_t size) {
  Plan plan;
  PlanTensor& tensor = plan.tensors.emplace_back();
  tensor.desc.shape = ops::Ints(std::vector<int64_t>{size});
  tensor.is_constant = true;
  tensor.constant = 0;
  return plan;
}

TEST(ConstantPool, IdsAreEqualInAllPlans) {
  ConstantPool pool;
  const uint32_t three = pool.Identify(PlanOf(3)).at(0);
  const uint32_t four = pool.Identify(PlanOf(4)).at(0);
  EXPECT_NE(three, four);
  EXPECT_EQ(pool.Identify(PlanOf(3)).at(0), three);
}

// Repeated sizes do not grow the pool. Ids that were unused for long are removed, except those of
// constants with a resource.
TEST(ConstantPool, RemovesUnusedIds) {
  ConstantPool pool;
  const uint32_t unused = pool.Identify(PlanOf(1)).at(0);
  const uint32_t resident = pool.Identify(PlanOf(2)).at(0);
  const auto resource = std::make_shared<TensorResource>();
  pool.Add(resident, resource);
  for (int i = 0; i < 100; ++i) pool.Identify(PlanOf(3));
  EXPECT_EQ(pool.Identify(PlanOf(2)).at(0), resident);
  EXPECT_EQ(pool.Find(resident), resource);
  EXPECT_NE(pool.Identify(PlanOf(1)).at(0), unused);
}

}  // namespace
}  // namespace spirloom::graph
