#include "runtime/graph/constants/constant_pool.h"

#include <gtest/gtest.h>

namespace spirloom::graph {
namespace {

// A plan whose one tensor is a constant of the file.
Plan PlanOf(int64_t size) {
  Plan plan;
  PlanTensor& tensor = plan.tensors.emplace_back();
  tensor.desc.shape = ops::Ints(std::vector<int64_t>{size});
  tensor.is_constant = true;
  tensor.constant = 0;
  return plan;
}

TEST(ConstantPool, NumbersStandForTheSameInEveryPlan) {
  ConstantPool pool;
  const uint32_t three = pool.Identify(PlanOf(3)).at(0);
  const uint32_t four = pool.Identify(PlanOf(4)).at(0);
  EXPECT_NE(three, four);
  EXPECT_EQ(pool.Identify(PlanOf(3)).at(0), three);
}

// Sizes that come again and again cost nothing more; those that were of no use for long are
// forgotten, unless what they stand for is there.
TEST(ConstantPool, ForgetsWhatIsGone) {
  ConstantPool pool;
  const uint32_t gone = pool.Identify(PlanOf(1)).at(0);
  const uint32_t kept = pool.Identify(PlanOf(2)).at(0);
  const auto resource = std::make_shared<TensorResource>();
  pool.Add(kept, resource);
  for (int i = 0; i < 100; ++i) pool.Identify(PlanOf(3));
  EXPECT_EQ(pool.Identify(PlanOf(2)).at(0), kept);
  EXPECT_EQ(pool.Find(kept), resource);
  EXPECT_NE(pool.Identify(PlanOf(1)).at(0), gone);
}

}  // namespace
}  // namespace spirloom::graph
