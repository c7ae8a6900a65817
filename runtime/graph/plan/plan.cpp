#include "runtime/graph/plan/plan.h"

namespace spirloom::graph {

PlanTensor::PlanTensor() = default;
PlanTensor::PlanTensor(const PlanTensor&) = default;
PlanTensor::PlanTensor(PlanTensor&&) noexcept = default;
PlanTensor& PlanTensor::operator=(PlanTensor&&) noexcept = default;
PlanTensor::~PlanTensor() = default;

PlanNode::PlanNode() = default;
PlanNode::PlanNode(const PlanNode&) = default;
PlanNode::PlanNode(PlanNode&&) noexcept = default;
PlanNode& PlanNode::operator=(PlanNode&&) noexcept = default;
PlanNode::~PlanNode() = default;

Plan::Plan() = default;
Plan::Plan(const Plan&) = default;
Plan::Plan(Plan&&) = default;
Plan& Plan::operator=(Plan&&) noexcept = default;
Plan::~Plan() = default;

}  // namespace spirloom::graph
